"""Batches: every row once, similar lengths together, padding marked."""

from hypothesis import given
from hypothesis import strategies as st

from encoder.rows import by_length, padded, shuffled
from transformer.runtime import seeded

_LENGTHS = st.lists(st.integers(0, 60), max_size=80)


@given(_LENGTHS)
def test_by_length_has_every_row_within_the_budget(lengths: list[int]) -> None:
    batches = list(by_length(lengths, tokens=100))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 100 for batch in batches)


@given(_LENGTHS, st.integers(1, 9))
def test_shuffled_has_every_row_once(lengths: list[int], size: int) -> None:
    batches = shuffled(lengths, size, seeded(0))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= size for batch in batches)


def test_shuffled_pads_little_and_differs_from_epoch_to_epoch() -> None:
    lengths = [5 + 7 * i % 90 for i in range(900)]
    first, second = (shuffled(lengths, 10, seeded(seed)) for seed in (0, 1))
    read = sum(len(batch) * max(lengths[i] for i in batch) for batch in first)
    assert read < 1.1 * sum(lengths)
    assert first != second
    assert first == shuffled(lengths, 10, seeded(0))


def test_padded_marks_what_is_no_token() -> None:
    tokens, mask = padded([[4, 5, 6], [7]], 9)
    assert tokens.tolist() == [[4, 5, 6], [7, 9, 9]]
    assert mask is not None
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    assert padded([[1], [2]], 0)[1] is None
