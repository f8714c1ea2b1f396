"""Several answers at once: what evaluation needs, where nobody waits for the first of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch

from generator.decoding import FinishReason, checked
from generator.loops import Loop
from generator.model import Generator
from generator.sampling import Sampling, sample
from generator.stepping import Stepper
from transformer.cache import Cache


@dataclass(frozen=True, slots=True)
class Decoded:
    """One answer: its tokens without the end token."""

    tokens: tuple[int, ...]
    finish_reason: FinishReason


def decode_together(
    model: Generator,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    *,
    ends: Collection[int],
    rngs: Sequence[torch.Generator],
    at_once: int = 8,
) -> list[Decoded]:
    """The answers that `decode` gives to each prompt alone, token for token.

    Each pass takes one token of every answer that is still being written, so that the matrices
    are read once for all of them; where one ends, the next prompt takes its place.

    Args:
        model: the generator
        prompts: none of them empty
        sampling: of every answer
        ends: ids that end an answer
        rngs: one for each prompt
        at_once: answers in the making, each with a cache of its own

    Raises:
        LengthError: a prompt and its answer together are over the model's limit.
        ModelError: the logits are not numbers.
    """
    if len(rngs) != len(prompts) or not all(prompts) or at_once < 1:
        raise ValueError(
            f"{len(prompts)} prompts, none of them empty, need as many rngs ({len(rngs)}), and "
            f"at_once ({at_once}) must be at least 1"
        )
    stepper, found = Stepper(model), dict[int, Decoded]()
    waiting, live = list(range(len(prompts)))[::-1], list[_Answer]()
    while waiting or live:
        while waiting and len(live) < at_once:
            place = waiting.pop()
            cache = model.new_cache(len(prompts[place]) + sampling.max_tokens)
            answer = _Answer(place, cache, rngs[place])
            _take(answer, stepper.prefill(cache, prompts[place]), sampling, ends, found, live)
        going, live = live, []
        if going:
            last = [answer.tokens[-1] for answer in going]
            rows = stepper.step([answer.cache for answer in going], last)
            for answer, row in zip(going, rows, strict=True):
                _take(answer, row, sampling, ends, found, live)
    return [found[place] for place in range(len(prompts))]


@dataclass(slots=True)
class _Answer:
    place: int
    cache: Cache
    rng: torch.Generator
    tokens: list[int] = field(default_factory=list)
    loop: Loop = field(default_factory=Loop)


def _take(
    answer: _Answer,
    logits: torch.Tensor,
    sampling: Sampling,
    ends: Collection[int],
    found: dict[int, Decoded],
    live: list[_Answer],
) -> None:
    """Choose a token; the answer is found with it, or lives on."""
    seen = torch.tensor(answer.tokens, dtype=torch.long)
    token = int(sample(checked(logits), seen, sampling, answer.rng))
    if token in ends:
        found[answer.place] = Decoded(tuple(answer.tokens), "stop")
        return
    answer.tokens.append(token)
    if answer.loop.push(token) or len(answer.tokens) == sampling.max_tokens:
        found[answer.place] = Decoded(tuple(answer.tokens), "length")
    else:
        live.append(answer)
