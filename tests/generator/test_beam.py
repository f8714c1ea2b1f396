"""Beam search against all answers there are."""

import itertools
import math

import pytest
import torch

from generator import Generator, Sampling
from generator.beam import Hypothesis, beam_search
from generator.decoding import decode
from tests.generator.builders import generator, prompt
from transformer import LengthError, ModelError
from transformer.runtime import seeded

_V, _LENGTH = 5, 4
_PROMPT = [1, 3, 2]


def _log_probabilities(model: Generator, answer: tuple[int, ...]) -> list[float]:
    with torch.inference_mode():
        logits = model(torch.tensor([[*_PROMPT, *answer]]))[0].log_softmax(-1)
    return [float(logits[len(_PROMPT) - 1 + i, token]) for i, token in enumerate(answer)]


def _all_answers(model: Generator, end: int, penalty: float) -> list[Hypothesis]:
    """Every way to write up to the limit, scored by whole forward passes, best first."""
    found = []
    for n in range(1, _LENGTH + 1):
        for answer in itertools.product(range(_V), repeat=n):
            if end in answer[:-1] or (answer[-1] != end and n < _LENGTH):
                continue
            score = math.fsum(_log_probabilities(model, answer)) / n**penalty
            ended = answer[-1] == end
            tokens = answer[:-1] if ended else answer
            found.append(Hypothesis(tokens, score, "stop" if ended else "length"))
    return sorted(found, key=lambda one: -one.score)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_enough_beams_find_the_best_of_all_answers(penalty: float, seed: int) -> None:
    model = generator(seed=seed, vocab_size=_V)
    expected = _all_answers(model, 0, penalty)
    found = beam_search(
        model,
        _PROMPT,
        beams=_V**_LENGTH,
        max_tokens=_LENGTH,
        ends=(0,),
        length_penalty=penalty,
    )
    assert len(found) == len(expected)
    for ours, theirs in zip(found[:50], expected[:50], strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)
    assert (found[0].tokens, found[0].finish_reason) == (
        expected[0].tokens,
        expected[0].finish_reason,
    )


def test_one_beam_is_greedy() -> None:
    model = generator()
    greedy = list(decode(model, prompt(9), Sampling(max_tokens=12), ends=(), rng=seeded(0)))
    (best,) = beam_search(model, prompt(9), beams=1, max_tokens=12, ends=())
    assert (list(best.tokens), best.finish_reason) == (greedy, "length")


def test_more_beams_are_not_worse_and_come_ordered() -> None:
    model = generator(seed=4)
    scores = []
    for beams in (1, 4):
        found = beam_search(model, prompt(9), beams=beams, max_tokens=8, ends=(2,))
        assert len(found) == beams
        assert list(found) == sorted(found, key=lambda one: -one.score)
        assert len({one.tokens for one in found}) == beams
        scores.append(found[0].score)
    assert scores[1] >= scores[0]


def test_each_score_is_that_of_its_tokens() -> None:
    model = generator(vocab_size=_V)
    for one in beam_search(model, _PROMPT, beams=3, max_tokens=_LENGTH, ends=(0,)):
        answer = (*one.tokens, 0) if one.finish_reason == "stop" else one.tokens
        mean = math.fsum(_log_probabilities(model, answer)) / len(answer)
        assert one.score == pytest.approx(mean, abs=1e-4)


def test_bad_numbers_are_named() -> None:
    model = generator()
    with pytest.raises(ValueError, match=r"beams \(0\)"):
        beam_search(model, prompt(3), beams=0, max_tokens=3, ends=())
    with pytest.raises(LengthError, match="163 tokens are over the generator's limit of 160"):
        beam_search(model, prompt(3), beams=2, max_tokens=160, ends=())
    with torch.no_grad():
        model.get_parameter("norm.weight")[3] = float("nan")
    with pytest.raises(ModelError, match="largest logit is nan"):
        beam_search(model, prompt(3), beams=2, max_tokens=3, ends=())
