"""Packing: nothing lost, nothing torn, hardly any padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder import data
from tests.builders import bert_tokenizer, sentence
from transformer.runtime import seeded

LENGTH = 16
ROWS = st.lists(st.lists(st.integers(1, 90), min_size=1, max_size=LENGTH), max_size=40)


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_every_text_is_in_its_place_whole_and_in_order(rows: list[list[int]]) -> None:
    packed = data.pack(rows, LENGTH, pad_id=0)
    assert packed.tokens.shape == packed.segments.shape
    assert packed.tokens.shape[1] == LENGTH
    assert len(packed.places) == len(rows)
    for row, (at, number) in zip(rows, packed.places.tolist(), strict=True):
        inside = packed.segments[at] == number
        assert packed.tokens[at][inside].tolist() == row
        first, last = inside.nonzero()[[0, -1], 0].tolist()
        assert last - first + 1 == len(row)  # without a gap
    assert int((packed.segments > 0).sum()) == sum(map(len, rows))
    assert (packed.tokens[packed.segments == 0] == 0).all()


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_segments_count_up_and_padding_is_last(rows: list[list[int]]) -> None:
    for numbers in data.pack(rows, LENGTH, pad_id=0).segments.tolist():
        real = [n for n in numbers if n]
        assert numbers == real + [0] * (LENGTH - len(real))
        assert real == sorted(real)
        assert set(real) == set(range(1, max(real) + 1))


def test_hardly_anything_is_padding() -> None:
    lengths = torch.randint(3, 100, (500,), generator=seeded(0)).tolist()
    packed = data.pack([[7] * n for n in lengths], 128, pad_id=0)
    assert (packed.segments == 0).float().mean() < 0.03
    assert torch.equal(packed.tokens, data.pack([[7] * n for n in lengths], 128, pad_id=0).tokens)


def test_no_rows_make_no_batch() -> None:
    packed = data.pack([], LENGTH, pad_id=0)
    assert packed.tokens.shape == (0, LENGTH)
    assert packed.places.shape == (0, 2)


def test_a_text_over_the_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a text of 17 tokens does not fit a row of 16; split it"):
        data.pack([[1] * 17], LENGTH, pad_id=0)


@given(st.lists(st.integers(5, 90), max_size=60), st.integers(3, 20))
@settings(max_examples=60, deadline=None)
def test_a_long_text_is_split_without_loss(inside: list[int], length: int) -> None:
    parts = list(data.split([2, *inside, 3], length))
    assert [i for part in parts for i in part[1:-1]] == inside
    assert all(len(part) <= length and (part[0], part[-1]) == (2, 3) for part in parts)
    assert len(parts) == max(1, -(-len(inside) // (length - 2)))


def test_texts_become_rows_and_empty_ones_none() -> None:
    tokenizer = bert_tokenizer()
    long = sentence(seeded(0), 30)
    rows = data.encode(tokenizer, ["w1 w2", "", " ", "도서관 휴관", long], 12)
    assert list(rows[0]) == tokenizer.encode_for_model(["w1 w2"])[0]
    assert [len(row) for row in rows] == [4, 12, 12, 12]
    assert [i for row in rows[1:] for i in row[1:-1]] == tokenizer.encode(long)


def test_a_length_without_room_for_text_is_refused() -> None:
    with pytest.raises(ValueError, match=r"length \(2\) must be over the 2 tokens around"):
        data.encode(bert_tokenizer(), ["w1"], 2)
