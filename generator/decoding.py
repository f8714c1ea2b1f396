"""Decoding: a prefill, then a step and a sample for each token, as an iterator of token ids."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from generator.model import Generator
from generator.sampling import Sampling, sample
from transformer.cache import Cache
from transformer.errors import ModelError

FinishReason = Literal["stop", "length"]


@torch.inference_mode()
def advance(model: Generator, cache: Cache, tokens: Sequence[int]) -> Tensor:
    """Take tokens into the cache: many are a prefill, one is a step.

    Returns:
        logits of the token that follows the last, (v,)

    Raises:
        ModelError: the logits are not numbers.
        LengthError: there is no room.
    """
    return checked(model(torch.tensor([tokens]), cache, last_only=True)[0, -1])


def checked(logits: Tensor) -> Tensor:
    """The logits, if the largest is a number: neither nan nor infinite.

    Raises:
        ModelError: it is none.
    """
    if not torch.isfinite(highest := logits.max()):
        raise ModelError(
            f"the generator's largest logit is {highest.item()}: its weights are damaged, or "
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
) -> Iterator[int]:
    """Tokens of the answer as they come; closing the iterator stops within a step.

    It ends before a token of `ends` ("stop": fewer than `sampling.max_tokens` came) or after
    that many ("length"). Stop texts are the business of whoever turns tokens to text.

    Raises:
        LengthError: prompt and answer together are over the model's limit.
        ModelError: the logits are not numbers.
    """
    if not prompt:
        raise ValueError("the prompt must hold at least one token")
    cache = model.new_cache(len(prompt) + sampling.max_tokens)
    answer = torch.empty(sampling.max_tokens, dtype=torch.long)
    tokens: Sequence[int] = prompt
    for n in range(sampling.max_tokens):
        logits = advance(model, cache, tokens)
        token = int(sample(logits, answer[:n], sampling, rng))
        if token in ends:
            return
        yield token
        answer[n] = token
        tokens = [token]
