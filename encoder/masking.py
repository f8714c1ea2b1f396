"""Which tokens are hidden for masked language modelling, and behind what. Pure functions."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Scheme = Literal["all", "mixed"]

_KEPT, _REPLACED = 0.1, 0.1  # shares of the chosen in "mixed" (Devlin et al. 2018, §3.1)


@dataclass(frozen=True, slots=True)
class Masked:
    """A batch with a part of it hidden; m places are to be guessed."""

    tokens: Tensor  # (b, s), what the model reads
    chosen: Tensor  # bool (b, s), the m places
    labels: Tensor  # (m,), what stood there, in the order of `chosen`

    def to(self, device: torch.device) -> "Masked":
        return Masked(self.tokens.to(device), self.chosen.to(device), self.labels.to(device))


def ordinary(size: int, specials: Tensor) -> Tensor:
    """The ids of a vocabulary of `size` that stand for text, in order."""
    return torch.tensor(sorted(set(range(size)) - set(specials.tolist())))


def mask(
    tokens: Tensor,
    words: Tensor,
    *,
    mask_id: int,
    rate: float,
    scheme: Scheme,
    rng: torch.Generator,
) -> Masked:
    """Hide a share of the text.

    Args:
        tokens: ids, (b, s)
        words: ids that stand for text, ascending: only these are ever chosen, and put in by chance
        mask_id: what hides a token
        rate: share of the text that is chosen, on average; of any text at all at least one token
        scheme: "all" hides what is chosen; "mixed" leaves a tenth of it as it stands and puts a
            word by chance in the place of another tenth, so that no place is safe to copy

    Returns:
        labels are empty only where there is no text at all.
    """
    at = torch.searchsorted(words, tokens).clamp(max=len(words) - 1)
    draw = torch.rand(tokens.shape, generator=rng).masked_fill(words[at] != tokens, 1.0)
    chosen = (draw <= max(rate, float(draw.min()))) & (draw < 1)
    hidden = torch.full_like(tokens, mask_id)
    if scheme == "mixed":
        fate = torch.rand(tokens.shape, generator=rng)
        chance = words[torch.randint(len(words), tokens.shape, generator=rng)]
        hidden = torch.where(fate < _KEPT + _REPLACED, chance, hidden)
        hidden = torch.where(fate < _KEPT, tokens, hidden)
    return Masked(torch.where(chosen, hidden, tokens), chosen, tokens[chosen])
