"""Texts and pairs of texts as rows of ids, cut to a limit by a rule that is told."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read for one answer: a row, or the two rows of a pair that is read apart."""

    rows: tuple[list[int], ...]
    cut: bool  # something was over the limit

    @property
    def length(self) -> int:
        return max(map(len, self.rows))


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are read.

    What is over the limit loses its end. Of two texts in one row, the longer one does so first.
    """

    tokenizer: Tokenizer
    prefix: str  # put before every text
    max_tokens: int  # of a row, special ones included
    apart: bool  # each text of a pair in a row of its own

    def units(self, texts: Sequence[str], seconds: Sequence[str] = ()) -> list[Unit]:
        """One unit a text, or a pair where `seconds` are given."""
        first = self._ids(texts)
        if not seconds:
            return [self._single(ids) for ids in first]
        unit = self._apart if self.apart else self._joined
        return [unit(a, b) for a, b in zip(first, self._ids(seconds), strict=True)]

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self.tokenizer.encode_with_offsets([self.prefix + text for text in texts])[0]

    def _single(self, ids: list[int]) -> Unit:
        before, behind = self.tokenizer.around
        room = self.max_tokens - len(before) - len(behind)
        return Unit(([*before, *ids[:room], *behind],), len(ids) > room)

    def _apart(self, a: list[int], b: list[int]) -> Unit:
        one, other = self._single(a), self._single(b)
        return Unit((*one.rows, *other.rows), one.cut or other.cut)

    def _joined(self, a: list[int], b: list[int]) -> Unit:
        (before, behind), between = self.tokenizer.around, self.tokenizer.between
        room = self.max_tokens - len(before) - len(between) - len(behind)
        cut = len(a) + len(b) > room
        if cut:
            n = max(room - len(b), min(len(a), room // 2))
            a, b = a[:n], b[: room - n]
        return Unit(([*before, *a, *between, *b, *behind],), cut)
