"""Beam search over whatever gives logits (Sutskever et al. 2014, §3.2; Wu et al. 2016, §7)."""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from generator.beam import Hypothesis

# The rows that go on and their new tokens, (b,) each, to the logits of what follows, (b, v).
Advance = Callable[[Tensor, Tensor], Tensor]

_NEVER = float("-inf")


def search(
    first: Tensor,
    advance: Advance,
    *,
    beams: int,
    max_tokens: int,
    ends: Collection[int],
    length_penalty: float,
) -> tuple[Hypothesis, ...]:
    """The likeliest answers found, best first, at most `beams`.

    Args:
        first: logits of the first token, (v,)
        advance: row i of its state goes on from what row rows[i] held
        beams: prefixes kept at each step
        max_tokens: of an answer, its end token included
        ends: ids that end an answer
        length_penalty: exponent of the length that a sum is divided by; 0 favours short answers
    """
    if beams < 1 or max_tokens < 1 or length_penalty < 0:
        raise ValueError(
            f"beams ({beams}) and max_tokens ({max_tokens}) must be at least 1, "
            f"length_penalty ({length_penalty}) at least 0"
        )
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
