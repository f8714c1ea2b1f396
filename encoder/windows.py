"""A question beside stretches of a passage, as rows that an encoder has room for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Text:
    """A text as ids, and where in it each of them stands."""

    ids: list[int]
    offsets: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens first:last of a passage."""

    first: int
    last: int

    def covers(self, first: int, last: int) -> bool:
        """Whether all tokens from `first` to `last` itself stand in it."""
        return self.first <= first and last < self.last

    def touches(self, first: int, last: int) -> bool:
        """Whether any token from `first` to `last` itself stands in it."""
        return first < self.last and self.first <= last


def texts(tokenizer: Tokenizer, given: Sequence[str]) -> list[Text]:
    """Each text as ids with their places, nothing put around them."""
    ids, offsets = tokenizer.encode_with_offsets(given)
    return [Text(*pair) for pair in zip(ids, offsets, strict=True)]


def tokens_of(passage: Text, start: int, end: int) -> tuple[int, int]:
    """First and last token that share a character with start:end.

    Raises:
        ValueError: none does.
    """
    inside = [
        i for i, (first, last) in enumerate(passage.offsets) if max(first, start) < min(last, end)
    ]
    if not inside:
        raise ValueError(f"no token of the passage stands at {start}:{end}")
    return inside[0], inside[-1]


@dataclass(frozen=True, slots=True)
class Framing:
    """How a question and a stretch of its passage share a row."""

    tokenizer: Tokenizer
    prefix: str  # put before the question
    max_tokens: int  # of a row, special ones included
    question_tokens: int  # of a question at most: a longer one loses its end
    overlap: int  # tokens that neighbouring stretches share

    def __post_init__(self) -> None:
        before, behind = self.tokenizer.around
        marks = len(before) + len(self.tokenizer.between) + len(behind)
        if self.max_tokens - self.question_tokens - marks < 1:
            raise ValueError(
                f"a question of {self.question_tokens} tokens and {marks} marks leave no room for "
                f"a passage in a row of {self.max_tokens}: lower question_tokens"
            )

    def head(self, question: Sequence[int]) -> list[int]:
        """All that stands before the passage."""
        before, _ = self.tokenizer.around
        return [*before, *question[: self.question_tokens], *self.tokenizer.between]

    def windows(self, head: int, passage: int) -> list[Window]:
        """The stretches of a passage of so many tokens, beside a head of so many."""
        _, behind = self.tokenizer.around
        room = self.max_tokens - head - len(behind)
        return list(_stretches(passage, room, min(self.overlap, room // 2)))

    def row(self, question: Sequence[int], passage: Text, window: Window) -> "Row":
        head, (_, behind) = self.head(question), self.tokenizer.around
        ids = [*head, *passage.ids[window.first : window.last], *behind]
        return Row(ids, len(head), window)


@dataclass(frozen=True, slots=True)
class Row:
    """What the encoder reads of a question and a stretch of its passage."""

    ids: list[int]
    head: int  # tokens before the passage
    window: Window

    def place(self, token: int) -> int:
        """Where in the row a token of the passage stands."""
        return self.head + token - self.window.first

    def token(self, place: int) -> int:
        """Which token of the passage stands at a place of the row."""
        return place - self.head + self.window.first


def allowed(rows: Sequence[Row], width: int) -> Tensor:
    """Where an answer may begin and end, (b, s): in the passage, and at place 0 for none."""
    places = torch.zeros(len(rows), width, dtype=torch.bool)
    places[:, 0] = True
    for i, row in enumerate(rows):
        places[i, row.head : row.place(row.window.last)] = True
    return places


def _stretches(length: int, room: int, overlap: int) -> Iterator[Window]:
    first = 0
    while True:
        last = min(length, first + room)
        yield Window(first, last)
        if last >= length:
            return
        first = last - overlap
