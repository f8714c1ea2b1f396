"""Beam search over any logits, against all answers that there are."""

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from generator.beam import search
from tests.builders import normal

_V, _END, _LENGTH = 4, 0, 4
_LAST = _V - 1
_TABLE = 2 * normal(_V, _V, _V, seed=3)  # logits by the last two tokens


def _logits(answer: tuple[int, ...]) -> Tensor:
    before, last = (0, 0, *answer)[-2:]
    return _TABLE[before, last]


class _Rows:
    """What has been written in each beam: goes on with the rows that it is told to."""

    def __init__(self, beams: int) -> None:
        self.written: list[tuple[int, ...]] = [()] * beams

    def __call__(self, rows: Tensor, tokens: Tensor) -> Tensor:
        pairs = zip(rows.tolist(), tokens.tolist(), strict=True)
        self.written = [(*self.written[row], token) for row, token in pairs]
        return torch.stack([_logits(answer) for answer in self.written])


def _every(penalty: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Each answer that ends, or is cut at the length, with its score."""
    words = range(1, _V)
    for n in range(_LENGTH + 1):
        for answer in itertools.product(words, repeat=n):
            said = answer if n == _LENGTH else (*answer, _END)
            total = sum(
                float(_logits(said[:i]).log_softmax(-1)[token]) for i, token in enumerate(said)
            )
            yield total / len(said) ** penalty, answer


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0])
def test_enough_beams_find_the_best_of_all_answers_in_order(penalty: float) -> None:
    beams = 100
    found = search(
        _logits(()),
        _Rows(beams),
        beams=beams,
        max_tokens=_LENGTH,
        ends=(_END,),
        length_penalty=penalty,
    )
    best = sorted(_every(penalty), reverse=True)[:20]
    assert [one.tokens for one in found[:20]] == [answer for _, answer in best]
    assert [one.score for one in found[:20]] == pytest.approx(
        [score for score, _ in best], abs=1e-4
    )
    assert {one.finish_reason for one in found} == {"stop", "length"}


def test_one_beam_follows_the_likeliest_word() -> None:
    (found,) = search(
        _logits(()), _Rows(1), beams=1, max_tokens=_LENGTH, ends=(_LAST,), length_penalty=1.0
    )
    answer: tuple[int, ...] = ()
    while len(answer) < len(found.tokens):
        likely = _logits(answer).clone()
        likely[_LAST] = float("-inf")
        answer = (*answer, int(likely.argmax()))
    assert found.tokens == answer


@pytest.mark.parametrize(("beams", "length"), [(0, 3), (2, 0)])
def test_nothing_to_search_with_is_refused(beams: int, length: int) -> None:
    with pytest.raises(ValueError, match=rf"beams \({beams}\) and max_tokens \({length}\)"):
        search(_logits(()), _Rows(2), beams=beams, max_tokens=length, ends=(0,), length_penalty=1.0)
