"""Beam search (Sutskever et al. 2014, §3.2), with a length penalty (Wu et al. 2016, §7)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from generator.decoding import FinishReason, advance, checked
from generator.model import Generator
from transformer.cache import Cache

_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One answer: its tokens without the end token, and what it scored."""

    tokens: tuple[int, ...]
    score: float  # sum of log probabilities, the end token's included, over length ** penalty
    finish_reason: FinishReason


@torch.inference_mode()
def beam_search(
    model: Generator,
    prompt: Sequence[int],
    *,
    beams: int,
    max_tokens: int,
    ends: Collection[int],
    length_penalty: float = 1.0,
) -> tuple[Hypothesis, ...]:
    """The likeliest answers found, best first, at most `beams`.

    Args:
        model: the generator
        prompt: ids to go on from
        beams: prefixes kept at each step
        max_tokens: of an answer, its end token included
        ends: ids that end an answer
        length_penalty: exponent of the length that a sum is divided by; 0 favours short answers

    Raises:
        LengthError: prompt and answer together are over the model's limit.
    """
    if beams < 1 or max_tokens < 1 or length_penalty < 0:
        raise ValueError(
            f"beams ({beams}) and max_tokens ({max_tokens}) must be at least 1, "
            f"length_penalty ({length_penalty}) at least 0"
        )
    logits, cache = _prefill(model, prompt, beams=beams, max_tokens=max_tokens)
    prefixes: list[tuple[int, ...]] = [()] * beams
    # All beams begin equal: only the first may branch at first, the others count as impossible.
    sums = torch.tensor([0.0] + [_NEVER] * (beams - 1))
    stops, found = sorted(ends), list[Hypothesis]()
    for length in range(1, max_tokens + 1):
        scores = sums[:, None] + logits.log_softmax(-1)  # (b, v)
        ended = zip(prefixes, (scores[:, stops] / length**length_penalty).tolist(), strict=True)
        found += [Hypothesis(p, score, "stop") for p, row in ended for score in row]
        found = _ranked(found, beams)
        scores[:, stops] = _NEVER
        sums, rows, tokens = _best(scores, beams)
        prefixes = [(*prefixes[r], t) for r, t in zip(rows.tolist(), tokens.tolist(), strict=True)]
        # Sums only fall, and no answer is longer: the most that a live prefix can still reach.
        attainable = float(sums[0]) / max_tokens**length_penalty
        if len(found) == beams and found[-1].score >= attainable:
            return tuple(found)
        if length < max_tokens:
            cache.reorder(rows)
            logits = checked(model(tokens[:, None], cache)[:, -1])
    cut = zip(prefixes, (sums / max_tokens**length_penalty).tolist(), strict=True)
    found += [Hypothesis(prefix, score, "length") for prefix, score in cut]
    return tuple(_ranked(found, beams))


def _ranked(found: list[Hypothesis], beams: int) -> list[Hypothesis]:
    possible = (one for one in found if one.score > _NEVER)
    return sorted(possible, key=lambda one: one.score, reverse=True)[:beams]


def _best(scores: Tensor, beams: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of scores (b, v) the b best: their sums, the rows they come from, their tokens."""
    sums, places = scores.flatten().topk(beams)
    return sums, places // scores.shape[1], places % scores.shape[1]


def _prefill(
    model: Generator, prompt: Sequence[int], *, beams: int, max_tokens: int
) -> tuple[Tensor, Cache]:
    """The prompt's logits (b, v) and its keys and values, computed once for all beams."""
    once = model.new_cache(len(prompt))
    logits = advance(model, once, prompt)
    cache = model.new_cache(len(prompt) + max_tokens, batch=beams)
    cache.keys[:, :, :, : once.length] = once.keys
    cache.values[:, :, :, : once.length] = once.values
    cache.advance(once.length)
    return logits.expand(beams, -1), cache
