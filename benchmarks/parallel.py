"""Sentences in two languages: read, cut into pieces of one vocabulary, and translated again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from generator.seq2seq_training import Marks, Pair, padded
from transformer.tokenizer import Tokenizer
from transformer.tokenizer_training import train_tokenizer

HELD_OUT = "jhe-koen-eval"
TRAINED = ("jhe-koen-dev", "korean-english-park.dev", "korean-english-park.test")
LONGEST = 80  # pieces of one side; what is longer is left out

Decoder = Callable[[Tensor, Tensor | None], list[list[int]]]  # ids (b, t) and mask to targets


@dataclass(frozen=True, slots=True)
class Sentence:
    source: str
    target: str


def read(folder: Path, name: str) -> list[Sentence]:
    """Korean and English of a file each, a sentence a line; those with an empty side left out."""
    korean, english = (
        (folder / f"{name}.{language}").read_text(encoding="utf-8").splitlines()
        for language in ("ko", "en")
    )
    pairs = zip(korean, english, strict=True)
    return [Sentence(k.strip(), e.strip()) for k, e in pairs if k.strip() and e.strip()]


class Corpus:
    """Sentences as ids of one vocabulary, which was made of those that are learned from."""

    def __init__(
        self, trained: Sequence[Sentence], held_out: Sequence[Sentence], vocabulary: int
    ) -> None:
        texts = [text for each in trained for text in (each.source, each.target)]
        self.tokenizer = train_tokenizer(texts, kind="wordpiece", size=vocabulary, lowercase=True)
        self.marks = Marks(*(_id(self.tokenizer, name) for name in ("[CLS]", "[SEP]", "[PAD]")))
        self.trained, self.pairs = self._fitting(trained)
        known = {each.source for each in trained} | {each.target for each in trained}
        unseen = [s for s in held_out if s.source not in known and s.target not in known]
        self.held_out, self.held_out_pairs = self._fitting(unseen)

    def _fitting(self, sentences: Sequence[Sentence]) -> tuple[list[Sentence], list[Pair]]:
        encoded = [
            Pair(*(tuple(self.tokenizer.encode(side)) for side in (each.source, each.target)))
            for each in sentences
        ]
        fit = [i for i, pair in enumerate(encoded) if 0 < max(map(len, pair)) < LONGEST]
        return [sentences[i] for i in fit], [encoded[i] for i in fit]

    def translations(
        self, decode: Decoder, sentences: Sequence[Sentence], *, rows: int = 64
    ) -> list[str]:
        """What a model says for each source, in their order."""
        said = [""] * len(sentences)
        pieces = [self.tokenizer.encode(each.source) for each in sentences]
        order = sorted(range(len(pieces)), key=lambda i: len(pieces[i]))
        for start in range(0, len(order), rows):
            some = order[start : start + rows]
            source, mask = padded([pieces[i] for i in some], self.marks.pad)
            for i, target in zip(some, decode(source, mask), strict=True):
                said[i] = self.tokenizer.decode(target)
        return said


def _id(tokenizer: Tokenizer, token: str) -> int:
    found = tokenizer.id_of(token)
    assert found is not None, f"the vocabulary was made with {token}"
    return found
