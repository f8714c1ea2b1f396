"""Decoding: when it ends, what it costs, and that it can be stopped."""

import pytest
import torch

from generator import Generator, Sampling
from generator.decoding import advance, decode
from tests.generator.builders import VOCABULARY, generator, prompt, scripted
from transformer import LengthError, ModelError
from transformer.runtime import seeded

_SCRIPT = [50, 51, 52, 53, 54, 55]


def _said(model: Generator, sampling: Sampling, *ends: int, length: int = 4) -> list[int]:
    return list(decode(model, prompt(length), sampling, ends=ends, rng=seeded(0)))


@pytest.fixture
def actor() -> Generator:
    return scripted(_SCRIPT, start=4, max_tokens=16, vocabulary=VOCABULARY)


def test_it_ends_before_an_end_token_or_after_the_last_that_was_asked_for(actor: Generator) -> None:
    assert _said(actor, Sampling(max_tokens=6)) == _SCRIPT
    assert _said(actor, Sampling(max_tokens=3)) == [50, 51, 52]
    assert _said(actor, Sampling(max_tokens=6), 53) == [50, 51, 52]
    assert _said(actor, Sampling(max_tokens=6), 55, 52) == [50, 51]
    assert _said(actor, Sampling(max_tokens=6), 50) == []


def test_prefill_and_steps_choose_the_same_ids() -> None:
    model, sampling = generator(), Sampling(max_tokens=64)
    start = prompt(30)
    expected = list(decode(model, start, sampling, ends=(), rng=seeded(0)))
    cache = model.new_cache(94)
    for token in start:
        logits = advance(model, cache, [token])
    chosen: list[int] = []
    for _ in range(64):
        chosen.append(int(logits.argmax()))
        logits = advance(model, cache, chosen[-1:])
    assert chosen == expected


def test_equal_seeds_write_equal_answers() -> None:
    model, sampling = generator(), Sampling(max_tokens=20, temperature=1.0)

    def drawn(seed: int) -> list[int]:
        return list(decode(model, prompt(5), sampling, ends=(), rng=seeded(seed)))

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_penalties_count_what_was_written_and_not_the_prompt() -> None:
    """A script that repeats itself: the penalty turns the second 50 away, the prompt's do not."""
    model = scripted([50, 50, 50], start=4, max_tokens=16, vocabulary=VOCABULARY)
    assert model.head is not None
    with torch.no_grad():
        model.head.weight[60] = 0.8 * model.head.weight[50]  # type: ignore[operator, index]
    sampling = Sampling(max_tokens=3, repetition_penalty=2.0)
    said = list(decode(model, [50, 60, 50, 60], sampling, ends=(), rng=seeded(0)))
    assert said[:2] == [50, 60]


def test_nothing_is_computed_after_closing(actor: Generator) -> None:
    passes: list[int] = []
    actor.register_forward_hook(lambda *_: passes.append(1))
    tokens = decode(actor, prompt(4), Sampling(max_tokens=6), ends=(), rng=seeded(0))
    assert passes == []
    assert [next(tokens), next(tokens)] == [50, 51]
    assert len(passes) == 2  # the prefill and one step: none ahead of what was asked for
    tokens.close()  # type: ignore[attr-defined]
    assert list(tokens) == []
    assert len(passes) == 2


def test_the_cache_is_as_long_as_the_answer_may_get() -> None:
    model, capacities = generator(), set[int]()
    model.register_forward_pre_hook(lambda _, inputs: capacities.add(inputs[1].capacity))
    _said(model, Sampling(max_tokens=7), length=5)
    assert capacities == {12}


def test_a_prompt_that_leaves_no_room_names_the_numbers(actor: Generator) -> None:
    with pytest.raises(LengthError, match=r"17 tokens are over the .* limit of 16") as caught:
        _said(actor, Sampling(max_tokens=13))
    assert (caught.value.tokens, caught.value.limit) == (17, 16)
    with pytest.raises(ValueError, match="at least one token"):
        _said(actor, Sampling(), length=0)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_an_error_and_not_an_answer(broken: float) -> None:
    model = generator()
    with torch.no_grad():
        model.get_parameter("norm.weight")[3] = broken
    with pytest.raises(ModelError, match=r"largest logit is (nan|inf).*try fp32"):
        _said(model, Sampling(max_tokens=3))
