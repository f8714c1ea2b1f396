"""Texts to rows: what is cut, by which rule, and that it is told."""

import pytest

from encoder.units import Reading, Unit
from tests.builders import bert_tokenizer

CLS, SEP = 2, 3


def _reading(max_tokens: int = 8, *, apart: bool = False, prefix: str = "") -> Reading:
    return Reading(bert_tokenizer(), prefix=prefix, max_tokens=max_tokens, apart=apart)


def _words(start: int, n: int) -> str:
    return " ".join(f"w{i}" for i in range(start, start + n))


def test_a_text_that_fits_is_whole() -> None:
    assert _reading().units([_words(0, 6)]) == [Unit(([CLS, *range(5, 11), SEP],), cut=False)]


def test_a_text_that_does_not_fit_loses_its_end_and_says_so() -> None:
    assert _reading().units([_words(0, 7)]) == [Unit(([CLS, *range(5, 11), SEP],), cut=True)]


def test_the_prefix_counts() -> None:
    (unit,) = _reading(prefix="w90 ").units([_words(0, 6)])
    assert unit.cut
    assert unit.rows[0][1] == 95


def test_a_pair_is_one_row_with_a_mark_between() -> None:
    (unit,) = _reading().units(["w0 w1"], ["w7"])
    assert unit == Unit(([CLS, 5, 6, SEP, 12, SEP],), cut=False)


@pytest.mark.parametrize(
    ("first", "second", "kept"), [(9, 1, (4, 1)), (1, 9, (1, 4)), (9, 9, (2, 3)), (3, 3, (2, 3))]
)
def test_the_longer_of_a_pair_gives_way(first: int, second: int, kept: tuple[int, int]) -> None:
    (unit,) = _reading().units([_words(0, first)], [_words(40, second)])
    (row,) = unit.rows
    assert unit.cut
    assert len(row) == 8
    assert (sum(5 <= i < 45 for i in row), sum(i >= 45 for i in row)) == kept


def test_a_pair_apart_is_two_rows() -> None:
    (unit,) = _reading(apart=True).units(["w0"], [_words(40, 9)])
    assert [len(row) for row in unit.rows] == [3, 8]
    assert unit.cut
    assert unit.length == 8
