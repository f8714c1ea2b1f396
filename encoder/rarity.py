"""Where attention pooling begins: rare words count for more than common ones.

A mean over words that is weighted by their rarity is hard to beat without labels (Arora et al.
2017, "A Simple but Tough-to-Beat Baseline"). A query that is fitted to rarity starts there, and
contrast goes on from it; one that starts at zero spends its whole budget on the way.
"""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from encoder import pooling
from encoder.data import pack
from encoder.model import Encoder
from transformer import runtime

_READ = 2_000  # texts that the model reads for the fit: some 50,000 words for a width of hundreds
_ROWS = 16
_FLOOR = 0.05  # of a rarity: a word of every text has none, and its logarithm no end
_RIDGE = 1.0


def inverse_document_frequencies(rows: Sequence[Sequence[int]], vocab_size: int) -> Tensor:
    """log((n + 1) / (1 + texts with the token)) of n texts (Spärck Jones 1972): (v,)."""
    found = Counter(token for row in rows for token in set(row))
    held = torch.tensor([found.get(token, 0) for token in range(vocab_size)])
    return torch.log((len(rows) + 1) / (1 + held))


@torch.no_grad()
def begin(model: Encoder, rows: Sequence[list[int]]) -> None:
    """Fit the pooler's query so that a token weighs as much as it is rare in these texts.

    Args:
        model: with a pooler
        rows: ids of texts, special tokens with them: those are in every text and so weigh little
    """
    own, shape = pooling.pooler(model), model.config
    assert own is not None, "only attention pooling has a query to fit"
    rarity = inverse_document_frequencies(rows, shape.vocab_size).clamp(min=_FLOOR).log()
    read = [row[: shape.max_tokens] for row in rows[:_READ]]
    packed = pack(read, max(map(len, read)), pad_id=shape.pad_id)
    width = shape.d_model + 1  # and a constant, which a softmax does not see
    squares, products = torch.zeros(width, width), torch.zeros(width)
    for start in range(0, len(packed.tokens), _ROWS):
        part = slice(start, start + _ROWS)
        tokens, segments = packed.tokens[part], packed.segments[part]
        hidden = model(tokens.to(runtime.device()), segments=segments.to(runtime.device()))
        x = hidden.float().cpu()[segments > 0]
        x = torch.cat([x, torch.ones(len(x), 1)], dim=1)
        squares += x.T @ x
        products += x.T @ rarity[tokens[segments > 0]]
    solution = torch.linalg.solve(squares + _RIDGE * torch.eye(width), products)
    own.query.copy_(solution[:-1])
