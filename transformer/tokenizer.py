"""Text to token ids and back, by a tokenizer that a model brings along.

The `tokenizers` library does the work; this class fixes what the product relies on: text is never
cut or padded behind one's back, a special token written in a document is plain text, and Hangul
reaches a vocabulary of syllables as syllables.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from transformer.errors import CheckpointError

# Pre-tokenisers by the name that GGUF gives them: a pattern that cuts text before byte-level BPE.
_CUTS = {
    "llama-bpe": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "qwen2": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}


class Tokenizer:
    """A frozen vocabulary with its rules."""

    def __init__(self, backend: Backend) -> None:
        backend.no_truncation()
        backend.no_padding()
        _keep_hangul(backend)
        self._backend = backend
        self._json = backend.to_str().encode()
        backend.encode_special_tokens = True
        self._break_specials()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a tokenizer.json.

        Raises:
            CheckpointError: there is none, or it cannot be read.
        """
        if not path.is_file():
            raise CheckpointError(f"{path} is missing: the model has no tokenizer")
        try:
            return cls(Backend.from_file(str(path)))
        except Exception as error:  # the library raises bare Exception
            raise CheckpointError(f"{path} is not a tokenizer: {error}") from error

    @classmethod
    def from_byte_level_bpe(
        cls, tokens: Sequence[str], merges: Sequence[str], specials: Iterable[int], cut: str
    ) -> "Tokenizer":
        """Rebuild a byte-level BPE from the parts that GGUF metadata holds.

        Args:
            tokens: the vocabulary, in id order
            merges: "left right" pairs, in order of rank
            specials: ids that only a chat template may produce
            cut: name of the pre-tokeniser

        Raises:
            CheckpointError: the pre-tokeniser is not one of the known.
        """
        vocabulary = {token: i for i, token in enumerate(tokens)}
        pairs = [cast("tuple[str, str]", tuple(merge.split(" ", 1))) for merge in merges]
        # Llama 3 takes a word that the vocabulary holds whole; the others only what merges reach.
        whole = cut == "llama-bpe"
        backend = Backend(models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=whole))
        if cut == "qwen2":
            backend.normalizer = normalizers.NFC()
        backend.pre_tokenizer = _pre_tokenizer(cut)
        backend.decoder = decoders.ByteLevel()
        added = [AddedToken(tokens[i], special=True, normalized=False) for i in specials]
        backend.add_special_tokens(added)
        return cls(backend)

    @property
    def size(self) -> int:
        """Number of ids, special ones included."""
        return int(self._backend.get_vocab_size())

    def encode(self, text: str, *, specials: bool = False) -> list[int]:
        """Ids of text as it stands, nothing put around it.

        Args:
            text: any text
            specials: read special tokens that are written out; only for text that we wrote
        """
        backend = self._trusting if specials else self._backend
        return list(backend.encode(text, add_special_tokens=False).ids)

    def encode_for_model(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text with what the model expects around it ([CLS] … [SEP])."""
        return [list(row.ids) for row in self._backend.encode_batch_fast(list(texts))]

    def encode_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[list[list[int]], list[list[tuple[int, int]]]]:
        """Ids of each text, nothing put around them, and where in it each token stands.

        Returns:
            ids, and for each id start and end in code points of the text, without the white space
            that a token may begin with; tokens that are nothing else have start == end
        """
        encoded = self._backend.encode_batch(list(texts), add_special_tokens=False)
        ids = [list(row.ids) for row in encoded]
        pairs = zip(encoded, texts, strict=True)
        return ids, [[_trimmed(text, *place) for place in row.offsets] for row, text in pairs]

    @cached_property
    def around(self) -> tuple[list[int], list[int]]:
        """The ids that the model expects before a text and behind it: [CLS] and [SEP], as a rule.

        Empty where the tokenizer puts nothing around a text.
        """
        whole = self._backend.encode("0")
        specials = whole.special_tokens_mask
        if 0 not in specials:
            return list(whole.ids), []
        first, last = specials.index(0), len(specials) - specials[::-1].index(0)
        return list(whole.ids[:first]), list(whole.ids[last:])

    @cached_property
    def between(self) -> list[int]:
        """The ids between two texts of one row: [SEP], and </s></s> where rows begin with <s>.

        As in BERT (Devlin et al. 2018, §3) and RoBERTa (Liu et al. 2019, §4.1), whatever the
        file's own rule for pairs is: exports of XLM-R have rules without any.
        """
        before, behind = self.around
        return behind * 2 if before == [self.id_of("<s>")] else list(behind)

    def count(self, text: str) -> int:
        """Length of `encode_for_model` of one text."""
        return len(self._backend.encode_batch_fast([text])[0].ids)

    def decode(self, ids: Sequence[int], *, specials: bool = False) -> str:
        """Text of ids; bytes that form no character yet come out as U+FFFD."""
        return str(self._backend.decode(list(ids), skip_special_tokens=not specials))

    def id_of(self, token: str) -> int | None:
        """The id of one token, None where the vocabulary lacks it."""
        found = self._backend.token_to_id(token)
        return None if found is None else int(found)

    def special_tokens(self) -> dict[str, int]:
        """Every special token with its id."""
        added = self._backend.get_added_tokens_decoder()
        return {token.content: int(i) for i, token in added.items() if token.special}

    def to_json(self) -> str:
        """The tokenizer.json; equal for equal tokenizers, as a fingerprint needs it."""
        return self._json.decode()

    @cached_property
    def _trusting(self) -> Backend:
        """Made when first needed: a quarter million of pieces take a second and 280 MB."""
        return Backend.from_str(self._json.decode())

    def _break_specials(self) -> None:
        """Cut special tokens that the model finds in plain text by itself, behind their first sign.

        Unigram models hold them as pieces like any other, and `<s>` is also a tag of HTML.
        """
        found = [
            token
            for token, i in self.special_tokens().items()
            if len(token) > 1 and i in self.encode(token)
        ]
        if not found:
            return
        pattern = "|".join(f"{re.escape(token[0])}(?={re.escape(token[1:])})" for token in found)
        cut = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
        before = self._backend.pre_tokenizer
        self._backend.pre_tokenizer = pre_tokenizers.Sequence([before, cut] if before else [cut])


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    return start, end


def _keep_hangul(backend: Backend) -> None:
    """Compose Hangul again behind accent stripping where the vocabulary holds syllables.

    Stripping goes by NFD, which leaves jamo: a Korean vocabulary would know none of its words.
    English BERT's was learned from such jamo and holds no syllable; it gets what it learned.
    """
    normalizer = backend.normalizer
    if not isinstance(backend.model, models.WordPiece) or _composes(normalizer):
        return
    vocabulary = backend.get_vocab(with_added_tokens=False)
    syllables = sum(re.search("[가-힣]", token) is not None for token in vocabulary)
    jamo = sum(re.search("[\u1100-\u11ff]", token) is not None for token in vocabulary)
    if syllables > jamo:
        composed = normalizers.NFC()
        backend.normalizer = (
            composed if normalizer is None else normalizers.Sequence([normalizer, composed])
        )


def _composes(normalizer: normalizers.Normalizer | None) -> bool:
    jamo = unicodedata.normalize("NFD", "글")
    return normalizer is not None and normalizer.normalize_str(jamo) == "글"


def _pre_tokenizer(cut: str) -> pre_tokenizers.PreTokenizer:
    match cut:
        case "smollm":
            digits = pre_tokenizers.Digits(individual_digits=True)
            parts = [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
        case "gpt-2" | "gpt2" | "default":
            parts = [pre_tokenizers.ByteLevel(add_prefix_space=False)]
        case "llama-bpe" | "qwen2":
            split = pre_tokenizers.Split(Regex(_CUTS[cut]), behavior="isolated")
            parts = [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        case _:
            known = "default, gpt-2, llama-bpe, qwen2, smollm"
            raise CheckpointError(f"unknown pre-tokenizer {cut!r}; known are {known}")
    return pre_tokenizers.Sequence(parts)
