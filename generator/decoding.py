"""Decoding: a prefill, then a step and a sample for each token, as an iterator of token ids."""

from collections import abc
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import isfinite
from typing import Literal

import torch
from torch import Tensor

from generator.loops import Loop
from generator.model import Generator
from generator.sampling import Sampling, sample
from generator.speculate import Drafts
from generator.stepping import Stepper
from transformer.cache import Cache
from transformer.errors import ModelError

FinishReason = Literal["stop", "length"]
Tokens = abc.Generator[int, None, FinishReason]  # its return value says how the answer ended
_ANYTIME = nullcontext()


def advance(model: Generator, cache: Cache, tokens: Sequence[int]) -> Tensor:
    """Take tokens into the cache: many are a prefill, one is a step.

    Returns:
        logits of the token that follows the last, (v,)

    Raises:
        ModelError: the logits are not numbers.
        LengthError: there is no room.
    """
    return checked(Stepper(model).prefill(cache, tokens))


def checked(logits: Tensor) -> Tensor:
    """The logits, if the largest is a number: neither nan nor infinite.

    Raises:
        ModelError: it is none.
    """
    # Unlike max, argmax wakes no threads, which would get in the way of those of the next step.
    highest = logits.flatten()[logits.argmax()].item()
    if not isfinite(highest):
        raise ModelError(
            f"the generator's largest logit is {highest}: its weights are damaged, or "
            "overflow in this precision; try fp32"
        )
    return logits


def decode(
    model: Generator,
    prompt: Sequence[int],
    sampling: Sampling,
    *,
    ends: Collection[int],
    rng: torch.Generator,
) -> Tokens:
    """Tokens of the answer as they come; closing the iterator stops within a step.

    It ends before a token of `ends` ("stop"), after `sampling.max_tokens` ("length"), or where
    the model only repeats itself ("length"). Stop texts are the business of whoever turns tokens
    to text.

    Raises:
        LengthError: prompt and answer together are over the model's limit.
        ModelError: the logits are not numbers.
    """
    if not prompt:
        raise ValueError("the prompt must hold at least one token")
    stepper = Stepper(model)
    cache = model.new_cache(len(prompt) + sampling.max_tokens)
    logits = stepper.prefill(cache, prompt)
    return (yield from decode_from(stepper, cache, logits, sampling, ends=ends, rng=rng))


def decode_from(
    stepper: Stepper,
    cache: Cache,
    logits: Tensor,
    sampling: Sampling,
    *,
    ends: Collection[int],
    rng: torch.Generator,
    drafts: Drafts | None = None,
    turn: AbstractContextManager[None] = _ANYTIME,
) -> Tokens:
    """As `decode`, behind a prompt that a cache has read to its end.

    Args:
        stepper: of the model
        cache: of one row, with room for the answer
        logits: of what follows the prompt, (v,)
        sampling: `max_tokens` of an answer, and how each is chosen
        ends: ids that end an answer
        rng: source of chance
        drafts: of what may follow; they change how fast an answer comes, and nothing in it
        turn: held during each step, so that other answers can take theirs between
    """
    answer = torch.empty(sampling.max_tokens, dtype=torch.long)
    begun, written, loop = cache.length, 0, Loop()
    rows, draft = logits[None], list[int]()
    while True:
        accepted = 0
        for row in rows:
            token = int(sample(checked(row), answer[:written], sampling, rng))
            if token in ends:
                return "stop"
            yield token
            answer[written] = token
            written += 1
            if loop.push(token) or written == sampling.max_tokens:
                return "length"
            if drafts is not None:
                drafts.push(token)
            # A row behind a wrong draft says what would follow that.
            if accepted == len(draft) or draft[accepted] != token:
                break
            accepted += 1
        if drafts is not None:
            drafts.learn(len(draft), accepted)
        cache.truncate(begun + written - 1)
        draft = [] if drafts is None else drafts.propose(sampling.max_tokens - written - 1)
        with turn:
            rows = stepper.step([cache] * (1 + len(draft)), [token, *draft])
