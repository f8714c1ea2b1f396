"""Loops are told from lists and refrains."""

import random

import pytest

from generator import Sampling
from generator.decoding import decode
from generator.loops import Loop
from tests.generator.builders import VOCABULARY, prompt, scripted
from transformer.runtime import seeded


def _until_looped(tokens: list[int]) -> int | None:
    loop = Loop()
    return next((n for n, token in enumerate(tokens, start=1) if loop.push(token)), None)


@pytest.mark.parametrize("period", [1, 2, 7, 24, 32])
def test_a_stretch_over_and_over_is_a_loop(period: int) -> None:
    before = random.Random(1).choices(range(100, 900), k=50)
    found = _until_looped([*before, *list(range(period)) * 300])
    assert found is not None
    assert found - 50 == period + max(96, 4 * period)


def test_text_lists_and_short_refrains_are_none() -> None:
    text = random.Random(2).choices(range(40), k=2000)
    rule = [5] * 60
    numbered = [token for n in range(200) for token in (n, 1, 2, 3)]
    assert _until_looped([*text, *rule, *text]) is None
    assert _until_looped(numbered) is None


def test_a_model_that_loops_ends_by_length() -> None:
    model = scripted([50] * 150, start=4, max_tokens=160, vocabulary=VOCABULARY)
    tokens = decode(model, prompt(4), Sampling(max_tokens=150), ends=(), rng=seeded(0))
    assert [next(tokens) for _ in range(97)] == [50] * 97
    with pytest.raises(StopIteration) as ended:
        next(tokens)
    assert ended.value.value == "length"
