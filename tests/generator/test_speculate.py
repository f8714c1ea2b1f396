"""Drafts: the same answers, in fewer passes, and hardly ever in more time."""

from pathlib import Path

import pytest
import torch

from generator import Generator, Sampling, checkpoint
from generator.decoding import decode_from
from generator.speculate import _ROW, Drafts
from generator.stepping import Stepper
from tests.generator.builders import generator, loaded, prompt, tokenizer
from transformer import compiled
from transformer.runtime import seeded

_SHAPE = {
    "vocab_size": 272,
    "d_model": 64,
    "d_ff": 96,
    "n_heads": 4,
    "head_width": 32,
    "max_tokens": 256,
}


class _Counting(Stepper):
    """Knows how many tokens each pass took."""

    def __init__(self, model: Generator) -> None:
        super().__init__(model)
        self.passes: list[int] = []

    def step(self, caches, tokens):  # type: ignore[no-untyped-def]
        self.passes.append(len(tokens))
        return super().step(caches, tokens)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    """In four bits; the kernels take it where there are any."""
    folder: Path = tmp_path_factory.mktemp("model") / "small"
    checkpoint.save(loaded(generator(seed=3, **_SHAPE), tokenizer()), folder)
    return checkpoint.load(folder, "int4").model


def _answer(
    model: Generator, start: list[int], sampling: Sampling, drafts: Drafts | None, end: int = -1
) -> tuple[list[int], str, list[int]]:
    stepper = _Counting(model)
    cache = model.new_cache(len(start) + sampling.max_tokens)
    logits = stepper.prefill(cache, start)
    tokens = decode_from(
        stepper, cache, logits, sampling, ends=(end,), rng=seeded(0), drafts=drafts
    )
    said = list[int]()
    while True:
        try:
            said.append(next(tokens))
        except StopIteration as ended:
            return said, ended.value, stepper.passes


@pytest.mark.parametrize("penalty", [1.0, 1.1])
def test_a_hundred_greedy_answers_are_the_same_with_drafts(
    small: Generator, penalty: float
) -> None:
    """Drafts come from the answer itself with every seventh token wrong."""
    several = 0
    for seed in range(100):
        start = prompt(20 + seed, seed=seed, vocabulary=30)
        sampling = Sampling(max_tokens=40, repetition_penalty=penalty)
        plain = _answer(small, start, sampling, None, end=seed + 3)
        told = [*start, *(token if i % 7 else 5 for i, token in enumerate(plain[0]))]
        drafted = _answer(small, start, sampling, Drafts(told), end=seed + 3)
        assert drafted[:2] == plain[:2]
        several += sum(passed > 1 for passed in drafted[2])
    assert several > 400


def test_a_text_that_repeats_takes_far_fewer_passes(small: Generator) -> None:
    start = prompt(60, seed=1)
    plain, _, passes = _answer(small, start, Sampling(max_tokens=60), None)
    told, _, fewer = _answer(small, [*plain, *start], Sampling(max_tokens=60), Drafts(plain))
    assert len(passes) == 59
    again = Drafts([*start, *plain])  # the answer stands in the text: every draft is right
    said, _, fewest = _answer(small, start, Sampling(max_tokens=60), again)
    assert said == plain
    assert len(fewest) < 25
    assert told
    assert fewer


def test_wrong_drafts_cost_a_twentieth_at_most() -> None:
    text = prompt(400, seed=2, vocabulary=9)
    drafts, steps, spent = Drafts(text), 0, 0.0
    for token in prompt(400, seed=3, vocabulary=9):
        k = len(drafts.propose(100))
        drafts.learn(k, 0)
        drafts.push(token)
        steps, spent = steps + 1, spent + 1 + _ROW * k
    assert steps < spent <= 1.05 * steps


def test_right_drafts_grow_and_end_where_the_room_does() -> None:
    text = prompt(200, seed=4)
    drafts, lengths = Drafts(text), list[int]()
    for token in text[:5]:
        drafts.push(token)
    at = 5
    while at < 150:
        draft = drafts.propose(100)
        assert draft == text[at : at + len(draft)]
        drafts.learn(len(draft), len(draft))
        for token in text[at : at + len(draft) + 1]:
            drafts.push(token)
        at += len(draft) + 1
        lengths.append(len(draft))
    assert max(lengths) == lengths[-1] == 7
    assert drafts.propose(3) == text[at : at + 3]
    assert drafts.propose(0) == []


def test_nothing_is_proposed_where_nothing_repeats() -> None:
    drafts = Drafts(range(50))
    drafts.push(70)
    assert drafts.propose(10) == []


@pytest.mark.skipif(compiled.library() is None, reason="the install built no kernels")
def test_rows_of_a_step_are_those_of_one_by_one(small: Generator) -> None:
    stepper, start, rest = Stepper(small), prompt(40, seed=5), prompt(20, seed=6)
    assert stepper.rows > 1
    cache = small.new_cache(60)
    stepper.prefill(cache, start)
    alone = torch.cat([stepper.step([cache], [token]) for token in rest])
    keys = cache.keys.clone()
    for n in (1, 2, 5, 20):
        cache.truncate(40)
        assert torch.equal(stepper.step([cache] * n, rest[:n]), alone[:n])
        assert torch.equal(cache.keys[:, :, :, : 40 + n], keys[:, :, :, : 40 + n])
    cache.truncate(40)
    with torch.inference_mode():
        by_torch = torch.cat([small(torch.tensor([[token]]), cache)[0] for token in rest])
    alike = torch.cosine_similarity(alone, by_torch)
    assert alike.min() > 0.999


def test_answers_of_several_caches_step_together(small: Generator) -> None:
    stepper, starts = Stepper(small), [prompt(n, seed=n) for n in (9, 17, 30)]
    together, apart = ([small.new_cache(40) for _ in starts] for _ in range(2))
    for group in (together, apart):
        for cache, start in zip(group, starts, strict=True):
            stepper.prefill(cache, start)
    rows = stepper.step(together, [7, 8, 9])
    single = [stepper.step([cache], [7 + i])[0] for i, cache in enumerate(apart)]
    assert torch.equal(rows, torch.stack(single))
