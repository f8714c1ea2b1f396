"""What a generator learns, whatever from: to foretell the next token, by cross-entropy."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from generator import data
from generator.data import Rows
from generator.model import Generator
from transformer import runtime
from transformer.position import Rotation
from transformer.training import Pass

_HEAD = 1024  # rows of the head at once: logits of a vocabulary of 50,000 make them 200 MB


@dataclass(frozen=True, slots=True)
class Foretold:
    """What the tokens to be learned cost."""

    loss: Tensor  # summed, each times its weight
    weight: float  # of all of them
    plain: float  # the loss, each counted once
    right: int  # that came first
    begun: int  # answers of which the first token came first
    tokens: int
    answers: int


class NextToken:
    """The task for the loop.

    Args:
        model: learns, all of it or what requires a gradient
        train: to learn from
        held_out: measured on, and never trained on
        rows: of a batch
        blocks: share of the batches in which passages see themselves alone
    """

    def __init__(
        self, model: Generator, train: Rows, held_out: Rows, *, rows: int, blocks: float = 0.0
    ) -> None:
        self._model = model
        self.train, self.held_out = train, held_out
        self.rows, self.blocks = rows, blocks
        # One measure for all rows: each token weighs the same in a short answer and in a long one.
        self._usual = float(train.weights.sum()) / len(train)

    @property
    def model(self) -> Generator:
        return self._model

    def epoch(self, rng: torch.Generator) -> Sequence[Tensor]:
        order = torch.randperm(len(self.train), generator=rng)
        return torch.split(order, self.rows)

    def backward(self, batch: Tensor, rng: torch.Generator) -> Pass:
        rows = self.train.at(batch)
        blocks = bool(torch.rand((), generator=rng) < self.blocks)
        told = foretell(self.model, rows, blocks=blocks)
        loss = told.loss / (self._usual * len(rows))
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(told.plain / max(1, told.tokens), int((rows.segments > 0).sum()))

    def evaluate(self) -> Mapping[str, float]:
        """Of the held-out rows; every other one in blocks, where they are learned."""
        sums = dict.fromkeys(
            ("loss", "weight", "plain", "right", "begun", "tokens", "answers"), 0.0
        )
        for number, places in enumerate(_batches(len(self.held_out), self.rows)):
            blocks = self.blocks > 0 and number % 2 == 1
            told = foretell(self.model, self.held_out.at(places), blocks=blocks)
            for name in sums:
                sums[name] += float(getattr(told, name))
        return {
            "log_likelihood": -sums["loss"] / sums["weight"],
            "accuracy": sums["right"] / sums["tokens"],
            "begun_right": sums["begun"] / sums["answers"],
            "perplexity": math.exp(sums["plain"] / sums["tokens"]),
        }


def foretell(model: Generator, rows: Rows, *, blocks: bool) -> Foretold:
    """How well a model foretells what is to be learned of some rows, each token behind the one
    before it as the rows have it (teacher forcing)."""
    rows = rows.to(model.embedding.weight.device)
    x = hidden(model, rows, blocks=blocks)
    learned = rows.weights > 0
    vectors, targets, weights = (
        x[:, :-1][learned[:, 1:]],
        rows.tokens[learned],
        rows.weights[learned],
    )
    loss, found = torch.zeros((), device=x.device), []
    for some, wanted, counted in zip(
        *(torch.split(each, _HEAD) for each in (vectors, targets, weights)), strict=True
    ):
        logits = model.logits(some)
        lost = F.cross_entropy(logits, wanted, reduction="none")
        loss = loss + (lost * counted).sum()
        found.append(torch.stack([lost.detach(), (logits.detach().argmax(-1) == wanted).float()]))
    plain, right = torch.cat(found, dim=1)
    begins = (learned[:, 1:] & ~learned[:, :-1])[learned[:, 1:]]
    return Foretold(
        loss,
        float(weights.sum()),
        float(plain.sum()),
        int(right.sum()),
        int(right[begins].sum()),
        len(targets),
        int(begins.sum()),
    )


def hidden(model: Generator, rows: Rows, *, blocks: bool) -> Tensor:
    """What the head reads, (n, s, d), of rows whose examples do not see each other."""
    x = model.embedding(rows.tokens)
    if model.positions is not None:
        x = x + model.positions.weight[rows.positions + model.positions.offset]
    rotation = None if model.rotary is None else _rotation(model, rows.positions)
    seen = data.mask(rows, blocks=blocks)
    for block in model.blocks:
        x = block(x, mask=seen, causal=seen is None, rotation=rotation)
    return model.norm(x)  # type: ignore[no-any-return]


def _rotation(model: Generator, positions: Tensor) -> Rotation:
    assert model.rotary is not None, "only a model with rotary positions is asked"
    return model.rotary.cosines[positions][:, None], model.rotary.sines[positions][:, None]


def _batches(count: int, rows: int) -> Iterator[Tensor]:
    yield from torch.split(torch.arange(count), rows)


def split_held_out(count: int, share: float, seed: int, most: int) -> tuple[list[int], list[int]]:
    """Places of what is trained on and of what is held out, at least one, drawn by the seed."""
    order = torch.randperm(count, generator=runtime.seeded(seed)).tolist()
    held = min(most, max(1, round(share * count)))
    return order[held:], order[:held]
