"""A vocabulary out of texts: WordPiece, or unigram pieces; the same to the byte each time.

The `tokenizers` library learns both too, but takes words in the order of a hash that differs from
run to run, and with them ties and sums. Its byte-pair merges alone do not depend on that order, so
WordPiece is made of them (its own trainer does the same); unigram pieces are SentencePiece's.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from tokenizers.trainers import BpeTrainer

from transformer.errors import TrainingError
from transformer.tokenizer import Tokenizer

Kind = Literal["wordpiece", "unigram"]

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # ids 0 to 4

_BEGIN = "▁"  # of a word, while it is learned
_COVERED = 0.9995  # share of the text whose characters get a place in the vocabulary
_BYTES_A_LINE = 2000  # SentencePiece passes over lines of more than 4,192
_MOST_UNKNOWN = 0.1  # share of tokens
_MOST_A_CHARACTER = 1.2  # tokens; over it, text comes out in fragments of its letters


def train_tokenizer(texts: Iterable[str], *, kind: Kind, size: int, lowercase: bool) -> Tokenizer:
    """Learn a vocabulary of exactly `size` ids.

    Text is composed first (NFC), so that Hangul is syllables, and accents stay. `[CLS]` and `[SEP]`
    go around every text; where they are written in one, they are plain text.

    Raises:
        TrainingError: there is too little text for the size, or too many characters.
    """
    normalizer = _normalizer(lowercase)
    words = Counter(chain.from_iterable(normalizer.normalize_str(text).split() for text in texts))
    if not words:
        raise TrainingError("there is no text to learn a vocabulary from")
    match kind:
        case "wordpiece":
            backend = _wordpiece(words, size)
        case "unigram":
            backend = _unigram(words, size)
    backend.normalizer = normalizer
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    ids = {token: SPECIALS.index(token) for token in ("[CLS]", "[SEP]")}
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=list(ids.items())
    )
    return Tokenizer(backend)


def unknown_share(tokenizer: Tokenizer, text: str) -> float:
    """Share of a text's tokens that stand for what the vocabulary lacks."""
    ids = tokenizer.encode(text)
    unknown = {tokenizer.id_of(token) for token in ("[UNK]", "<unk>")}
    return sum(i in unknown for i in ids) / max(1, len(ids))


def require_coverage(tokenizer: Tokenizer, texts: Iterable[str]) -> None:
    """Refuse to train on what the vocabulary was not made for.

    Raises:
        TrainingError: too much of the texts is unknown to it, or comes out letter by letter.
    """
    text = "\n".join(texts)
    unknown = unknown_share(tokenizer, text)
    if unknown > _MOST_UNKNOWN:
        raise TrainingError(
            f"the model's vocabulary lacks {unknown:.0%} of this text (at most "
            f"{_MOST_UNKNOWN:.0%} can be learned around); take a model of the text's language"
        )
    characters = sum(map(len, text.split()))
    rate = len(tokenizer.encode(text)) / max(1, characters)
    if rate > _MOST_A_CHARACTER:
        raise TrainingError(
            f"the model's vocabulary takes this text apart into {rate:.1f} tokens a character (at "
            f"most {_MOST_A_CHARACTER}); take a model of the text's language"
        )


def _normalizer(lowercase: bool) -> normalizers.Normalizer:
    clean = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=lowercase
    )
    return normalizers.Sequence([normalizers.NFC(), clean])


def _wordpiece(words: Counter[str], size: int) -> Backend:
    cut = pre_tokenizers.BertPreTokenizer()
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part, _ in cut.pre_tokenize_str(word):
            parts[_BEGIN + part.replace(_BEGIN, "")] += count
    pieces = [*SPECIALS, *_pieces(parts, size)]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    backend = Backend(models.WordPiece(vocabulary, unk_token=SPECIALS[1]))
    backend.pre_tokenizer = cut
    backend.decoder = decoders.WordPiece()
    return backend


def _pieces(words: Counter[str], size: int) -> list[str]:
    """Characters, at the beginning of a word and inside, then merges, most frequent first."""
    known = _alphabet(words)
    first = {word[1] for word in words if len(word) > 1} & known
    inside = set(chain.from_iterable(word[2:] for word in words)) & known
    letters = [*sorted(first), *(f"##{letter}" for letter in sorted(inside))]
    room = size - len(SPECIALS) - len(letters)
    _require_room(room, size)
    taken = set(letters)
    merges = [piece for piece in _merged(words, known, size) if piece not in taken][:room]
    if len(merges) < room:
        _refuse(size, size - room + len(merges))
    return [*letters, *merges]


def _merged(words: Counter[str], known: set[str], size: int) -> Iterator[str]:
    """Byte-pair merges in the order in which they were learned, as WordPiece writes them."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = BpeTrainer(
        vocab_size=2 * size,  # a merge of a mark with a letter alone is none of ours
        min_frequency=2,
        show_progress=False,
        initial_alphabet=sorted(known | {_BEGIN}),
        limit_alphabet=len(known) + 1,
    )
    backend.train_from_iterator(_lines(words), trainer)
    for piece, _ in sorted(backend.get_vocab().items(), key=lambda item: item[1]):
        if len(piece) > 1:
            yield piece[1:] if piece.startswith(_BEGIN) else f"##{piece}"


def _unigram(words: Counter[str], size: int) -> Backend:
    _require_room(size - len(SPECIALS) - len(_alphabet(words)), size)
    pieces = _sentencepiece(words, size - len(SPECIALS) + 1)
    vocabulary = [*((token, 0.0) for token in SPECIALS), *pieces]
    backend = Backend(models.Unigram(vocabulary, unk_id=SPECIALS.index("[UNK]")))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
        ]
    )
    backend.decoder = decoders.Metaspace()
    return backend


def _sentencepiece(words: Counter[str], size: int) -> Sequence[tuple[str, float]]:
    """Pieces with their log probabilities (Kudo 2018, §3.2), best first."""
    import sentencepiece

    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_lines(words),
            model_writer=written,
            model_type="unigram",
            vocab_size=size,
            character_coverage=_COVERED,
            normalization_rule_name="identity",
            num_threads=1,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            minloglevel=2,
        )
    except RuntimeError as error:
        most = re.search(r"value <= (\d+)", str(error))
        if most is None:
            raise TrainingError(f"no vocabulary of {size} can be learned: {error}") from error
        _refuse(size + len(SPECIALS) - 1, int(most[1]) + len(SPECIALS) - 1)
    model = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    return [(model.id_to_piece(i), model.get_score(i)) for i in range(1, model.get_piece_size())]


def _require_room(room: int, size: int) -> None:
    if room < 1:
        raise TrainingError(
            f"a vocabulary of {size} has no room for words: special tokens and the text's "
            f"characters alone take {size - room}; give a larger size"
        )


def _refuse(size: int, most: int) -> None:
    raise TrainingError(
        f"the text is too little for a vocabulary of {size}: it gives {most}; add text, or lower "
        "the size"
    )


def _alphabet(words: Counter[str]) -> set[str]:
    """The characters that nearly all of the text is written in."""
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            letters[letter] += count
    del letters[_BEGIN]
    known, seen, enough = set(), 0, _COVERED * letters.total()
    for letter, count in sorted(letters.items(), key=lambda item: (-item[1], item[0])):
        if seen >= enough:
            break
        known.add(letter)
        seen += count
    return known


def _lines(words: Counter[str]) -> Iterator[str]:
    """The words as often as they stood in the text, some hundred a line."""
    line: list[str] = []
    length = 0
    for word in words.elements():
        line.append(word)
        length += len(word.encode())
        if length > _BYTES_A_LINE:
            yield " ".join(line)
            line.clear()
            length = 0
    yield " ".join(line)
