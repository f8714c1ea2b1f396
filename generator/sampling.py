"""From logits to the next token. Pure functions on logits (v,) or (b, v)."""

from dataclasses import dataclass

import torch
from torch import Tensor

_LIKELY = 1024  # tokens that top_p orders first


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn and when it ends. The default is greedy: no chance in it."""

    max_tokens: int = 256  # of the answer
    temperature: float = 0.0  # 0: always the likeliest token
    top_k: int = 0  # only the k likeliest; 0: all
    top_p: float = 1.0  # only the likeliest that make up this share; 1: all
    repetition_penalty: float = (
        1.0  # on what the answer already holds, never on the prompt: 1: none
    )
    stop: tuple[str, ...] = ()  # texts that end the answer and are not shown

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens ({self.max_tokens}) must be at least 1")
        if not self.temperature >= 0:
            raise ValueError(f"temperature ({self.temperature}) must not be negative")
        if self.top_k < 0:
            raise ValueError(f"top_k ({self.top_k}) must not be negative")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p ({self.top_p}) must lie in (0, 1]")
        if not self.repetition_penalty > 0:
            raise ValueError(f"repetition_penalty ({self.repetition_penalty}) must be positive")
        if "" in self.stop:
            raise ValueError("a stop text must not be empty: every answer holds the empty text")


def sample(logits: Tensor, seen: Tensor, sampling: Sampling, rng: torch.Generator) -> Tensor:
    """The next token of each row.

    Args:
        logits: (v,) or (b, v)
        seen: ids that the answer already holds, (n,) or (b, n)
        sampling: which filters apply
        rng: source of chance; not touched at temperature 0

    Returns:
        () or (b,)
    """
    if sampling.repetition_penalty != 1:
        logits = penalize(logits, seen, sampling.repetition_penalty)
    if sampling.temperature == 0:
        return logits.argmax(-1)
    logits = logits / sampling.temperature
    if sampling.top_k:
        logits = top_k(logits, sampling.top_k)
    if sampling.top_p < 1:
        logits = top_p(logits, sampling.top_p)
    return draw(logits, rng)


def penalize(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Make ids in `seen` less likely (Keskar et al. 2019, §4.1): positive logits are divided."""
    chosen = logits.gather(-1, seen)
    chosen = torch.where(chosen > 0, chosen / penalty, chosen * penalty)
    if logits.dtype != torch.float32:
        return logits.scatter(-1, seen, chosen)
    # A copy by torch wakes its threads, which then get in the way of those of the next step.
    return torch.from_numpy(logits.numpy().copy()).scatter_(-1, seen, chosen)


def top_k(logits: Tensor, k: int) -> Tensor:
    """All but the k largest become -inf; what ties with the last of them stays."""
    least = logits.topk(min(k, logits.shape[-1])).values[..., -1:]
    return logits.masked_fill(logits < least, float("-inf"))


def top_p(logits: Tensor, p: float) -> Tensor:
    """All become -inf but the fewest, likeliest first, that reach probability p.

    Nucleus sampling (Holtzman et al. 2019, §3.1).
    """
    total = logits.logsumexp(-1, keepdim=True)
    for n in (_LIKELY, logits.shape[-1]):  # ordering a whole vocabulary is slow, and seldom needed
        ordered, ids = logits.topk(min(n, logits.shape[-1]))
        probabilities = (ordered - total).exp()
        before = probabilities.cumsum(-1) - probabilities  # what the likelier ones make up
        if (before[..., -1] >= p).all():
            break
    kept = ordered.masked_fill(before >= p, float("-inf"))
    return torch.full_like(logits, float("-inf")).scatter(-1, ids, kept)


def draw(logits: Tensor, rng: torch.Generator) -> Tensor:
    """One id of each row by its probability: () or (b,). Several times faster than multinomial."""
    below = logits.softmax(-1, dtype=torch.float64).cumsum(-1)
    shape = (*below.shape[:-1], 1)
    at = torch.rand(shape, generator=rng, dtype=torch.float64) * below[..., -1:]
    return torch.searchsorted(below, at, right=True).squeeze(-1)
