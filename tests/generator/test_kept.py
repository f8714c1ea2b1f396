"""A budget in bytes, and prompts that go on from what was read of others, token for token."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from torch.testing import assert_close

from generator import Generator, Sampling
from generator.decoding import advance, decode, decode_from
from generator.kept import Kept, KeptPrompts
from generator.stepping import Stepper
from tests.generator.builders import generator, prompt
from transformer import LengthError
from transformer.runtime import seeded


@dataclass(frozen=True)
class _Weight:
    nbytes: int


def test_what_was_not_used_for_the_longest_time_leaves_first() -> None:
    kept: Kept[_Weight] = Kept(10)
    for key in "abc":
        kept.put(key, _Weight(3))
    assert kept.get("a") == _Weight(3)
    kept.put("d", _Weight(4))  # 13 bytes: b goes, a was asked for
    assert [key for key in "abcd" if kept.get(key)] == ["a", "c", "d"]
    assert (kept.nbytes, len(kept)) == (10, 3)


def test_a_value_in_place_of_another_is_counted_once_and_a_huge_one_not_kept() -> None:
    kept: Kept[_Weight] = Kept(10)
    kept.put("a", _Weight(4))
    kept.put("a", _Weight(6))
    assert kept.nbytes == 6
    kept.put("a", _Weight(11))
    assert (kept.nbytes, kept.get("a")) == (0, None)
    kept.drop("never there")
    with pytest.raises(ValueError, match=r"budget \(-1\) must be at least 0"):
        Kept(-1)


def test_the_budget_holds_when_many_threads_ask() -> None:
    kept: Kept[_Weight] = Kept(1000)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(500):
            key = rng.randrange(60)
            if kept.get(key) is None:
                kept.put(key, _Weight(20 + key))
            assert kept.nbytes <= 1000

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert kept.nbytes == sum(value.nbytes for value in kept.values()) > 900


def _decode(
    model: Generator, kept: KeptPrompts, asked: list[int], sampling: Sampling, *, seed: int = 0
) -> Iterator[int]:
    cache = kept.begin(asked, sampling.max_tokens)
    logits = advance(model, cache, asked[cache.length :])
    kept.keep(asked, cache)
    yield from decode_from(Stepper(model), cache, logits, sampling, ends=[2], rng=seeded(seed))


def test_prompts_that_share_a_beginning_decode_to_the_same_tokens() -> None:
    model, sampling = generator(), Sampling(max_tokens=12, repetition_penalty=1.1)
    kept = KeptPrompts(model)
    system, rng = prompt(40), random.Random(7)
    for turn in range(30):
        asked = system + prompt(rng.randrange(1, 60), seed=turn % 11)
        expected = list(decode(model, asked, sampling, ends=[2], rng=seeded(0)))
        found = list(_decode(model, kept, asked, sampling))
        assert found == expected


def test_sampled_answers_are_the_same_too() -> None:
    model, sampling = generator(), Sampling(max_tokens=12, temperature=1.0, top_p=0.9)
    kept = KeptPrompts(model)
    for turn in range(5):
        asked = prompt(50) + prompt(20, seed=turn)
        expected = list(decode(model, asked, sampling, ends=[2], rng=seeded(turn)))
        assert list(_decode(model, kept, asked, sampling, seed=turn)) == expected


def test_only_what_is_new_is_read_and_the_end_always() -> None:
    model = generator()
    kept, first = KeptPrompts(model), prompt(60)
    assert kept.begin(first, 5).length == 0
    cache = kept.begin(first, 5)
    with torch.inference_mode():
        whole = advance(model, cache, first)
    kept.keep(first, cache)

    assert kept.begin(first[:50] + prompt(30, seed=5), 5).length == 50
    assert kept.begin(prompt(30, seed=9), 5).length == 0
    again = kept.begin(first, 5)
    assert (again.length, again.capacity) == (44, 65)  # the last 16 anew
    assert_close(advance(model, again, first[44:]), whole, atol=1e-5, rtol=0)


def test_a_conversation_is_kept_once() -> None:
    model = generator()
    kept, ids = KeptPrompts(model), prompt(120)
    sizes = []
    for length in (40, 80, 120):
        cache = kept.begin(ids[:length], 0)
        with torch.inference_mode():
            advance(model, cache, ids[cache.length : length])
        kept.keep(ids[:length], cache)
        sizes.append(kept.nbytes / length)
    assert sizes == [sizes[0]] * 3


def test_no_budget_keeps_nothing_and_changes_nothing() -> None:
    model, sampling = generator(), Sampling(max_tokens=5)
    kept, asked = KeptPrompts(model, budget=0), prompt(40)
    expected = list(decode(model, asked, sampling, ends=[2], rng=seeded(0)))
    for _ in range(2):
        assert list(_decode(model, kept, asked, sampling)) == expected
    assert kept.nbytes == 0


def test_a_prompt_over_the_models_limit_is_said() -> None:
    kept = KeptPrompts(generator(max_tokens=64))
    with pytest.raises(LengthError, match="70 tokens are over the generator's limit of 64"):
        kept.begin(prompt(60), 10)
