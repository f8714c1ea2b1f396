"""Beam search (Sutskever et al. 2014, §3.2), with a length penalty (Wu et al. 2016, §7)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from generator.decoding import FinishReason, advance, checked
from generator.model import Generator
from transformer.cache import Cache

# The rows that go on and their new tokens, (b,) each, to the logits of what follows, (b, v).
Advance = Callable[[Tensor, Tensor], Tensor]

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
        beams, max_tokens, ends, length_penalty: as `search` takes them

    Raises:
        LengthError: prompt and answer together are over the model's limit.
    """
    _require(beams, max_tokens, length_penalty)
    first, cache = _prefill(model, prompt, beams=beams, max_tokens=max_tokens)

    def go_on(rows: Tensor, tokens: Tensor) -> Tensor:
        cache.reorder(rows)
        return checked(model(tokens[:, None], cache)[:, -1])

    return search(
        first,
        go_on,
        beams=beams,
        max_tokens=max_tokens,
        ends=ends,
        length_penalty=length_penalty,
    )


def search(
    first: Tensor,
    advance: Advance,
    *,
    beams: int,
    max_tokens: int,
    ends: Collection[int],
    length_penalty: float,
) -> tuple[Hypothesis, ...]:
    """The likeliest answers found, best first, at most `beams`, by whatever gives logits.

    Args:
        first: logits of the first token, (v,)
        advance: row i of its state goes on from what row rows[i] held
        beams: prefixes kept at each step
        max_tokens: of an answer, its end token included
        ends: ids that end an answer
        length_penalty: exponent of the length that a sum is divided by; 0 favours short answers
    """
    _require(beams, max_tokens, length_penalty)
    logits, stops = first.expand(beams, -1), sorted(ends)
    prefixes: list[tuple[int, ...]] = [()] * beams
    # All beams begin equal: only the first may branch at first, the others count as impossible.
    sums = torch.tensor([0.0] + [_NEVER] * (beams - 1))
    found: list[Hypothesis] = []
    for length in range(1, max_tokens + 1):
        scores = sums[:, None] + logits.log_softmax(-1)  # (b, v)
        ended = zip(prefixes, (scores[:, stops] / length**length_penalty).tolist(), strict=True)
        found = _best(found + [Hypothesis(p, s, "stop") for p, row in ended for s in row], beams)
        scores[:, stops] = _NEVER
        sums, places = scores.flatten().topk(beams)
        rows, tokens = places // scores.shape[1], places % scores.shape[1]
        prefixes = [(*prefixes[r], t) for r, t in zip(rows.tolist(), tokens.tolist(), strict=True)]
        # Sums only fall, and no answer is longer: the most that a live prefix can still reach.
        attainable = float(sums[0]) / max_tokens**length_penalty
        if len(found) == beams and found[-1].score >= attainable:
            return tuple(found)
        if length < max_tokens:
            logits = advance(rows, tokens)
    cut = zip(prefixes, (sums / max_tokens**length_penalty).tolist(), strict=True)
    return tuple(_best(found + [Hypothesis(p, score, "length") for p, score in cut], beams))


def _best(found: list[Hypothesis], beams: int) -> list[Hypothesis]:
    possible = (one for one in found if one.score > _NEVER)
    return sorted(possible, key=lambda one: one.score, reverse=True)[:beams]


def _require(beams: int, max_tokens: int, length_penalty: float) -> None:
    if beams < 1 or max_tokens < 1 or length_penalty < 0:
        raise ValueError(
            f"beams ({beams}) and max_tokens ({max_tokens}) must be at least 1, "
            f"length_penalty ({length_penalty}) at least 0"
        )


def _prefill(
    model: Generator, prompt: Sequence[int], *, beams: int, max_tokens: int
) -> tuple[Tensor, Cache]:
    """The prompt's logits (v,) and its keys and values, computed once for all beams."""
    once = model.new_cache(len(prompt))
    logits = advance(model, once, prompt)
    cache = model.new_cache(len(prompt) + max_tokens, batch=beams)
    cache.keys[:, :, :, : once.length] = once.keys
    cache.values[:, :, :, : once.length] = once.values
    cache.advance(once.length)
    return logits, cache
