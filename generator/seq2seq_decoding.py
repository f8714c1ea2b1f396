"""From a source to its target, token by token: the likeliest, by chance, or by beams.

The target's keys and values grow with every step; the source's were computed once.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from generator.beam import Hypothesis, search
from generator.decoding import checked
from generator.sampling import Sampling, sample
from generator.seq2seq import Seq2Seq

Step = Callable[[Tensor], Tensor]  # the last tokens (b, 1) to logits of the next, (b, v)


@torch.inference_mode()
def translate(
    model: Seq2Seq,
    source: Tensor,
    mask: Tensor | None,
    sampling: Sampling,
    *,
    begin: int,
    end: int,
    rng: torch.Generator,
) -> list[list[int]]:
    """The target of every source, its end token not included.

    Args:
        model: in eval mode
        source: ids, (b, t), padded on the right
        mask: bool, (b, t), False at padding; None where no row is padded
        sampling: how each token is drawn; a row ends at `end` or after its max_tokens, texts to
            stop at are not looked for
        begin: id that every target goes on from
        end: id that ends a target
        rng: source of chance

    Raises:
        LengthError: a source, or max_tokens, is over the model's limit.
        ModelError: the logits are not numbers.
    """
    read = model.read(source, mask)
    cache = model.new_cache(sampling.max_tokens, batch=len(source))

    def step(tokens: Tensor) -> Tensor:
        return model.following(tokens, read, cache, last_only=True)[:, -1]

    return written(step, len(source), sampling, begin=begin, end=end, rng=rng)


def written(
    step: Step, rows: int, sampling: Sampling, *, begin: int, end: int, rng: torch.Generator
) -> list[list[int]]:
    """What comes out of calling `step` with its own last tokens, until every row has ended."""
    tokens = torch.full((rows, sampling.max_tokens + 1), begin)
    ended = torch.zeros(rows, dtype=torch.bool)
    for n in range(sampling.max_tokens):
        logits = checked(step(tokens[:, n : n + 1]))
        tokens[:, n + 1] = sample(logits, tokens[:, 1 : n + 1], sampling, rng)
        ended |= tokens[:, n + 1] == end
        if ended.all():
            break
    return [_until(row, end) for row in tokens[:, 1 : n + 2].tolist()]


def _until(row: list[int], end: int) -> list[int]:
    return row[: row.index(end)] if end in row else row


@torch.inference_mode()
def translate_by_beams(
    model: Seq2Seq,
    source: Tensor,
    *,
    begin: int,
    end: int,
    beams: int,
    max_tokens: int,
    length_penalty: float = 1.0,
) -> tuple[Hypothesis, ...]:
    """The likeliest targets of one source (1, t), best first, as `beam.search` finds them.

    Raises:
        LengthError: the source, or max_tokens, is over the model's limit.
        ModelError: the logits are not numbers.
    """
    read = model.read(source)
    cache = model.new_cache(max_tokens, batch=max(beams, 1))

    def advance(rows: Tensor, tokens: Tensor) -> Tensor:
        cache.reorder(rows)
        return checked(model.following(tokens[:, None], read, cache)[:, -1])

    rows = cache.keys.shape[1]  # all begin alike
    first = advance(torch.arange(rows), torch.full((rows,), begin))
    return search(
        first[0],
        advance,
        beams=beams,
        max_tokens=max_tokens,
        ends=(end,),
        length_penalty=length_penalty,
    )
