"""Contrastive learning: texts that belong together come near, all others of the batch do not.

Started by several processes, each takes batches of its own, and the others of a text are those of
its own batch alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from encoder import cached, losses, metrics, negatives, pairs, pooling, rarity
from encoder.checkpoint import EncoderCheckpoint
from encoder.config import EncoderConfig, Pooling
from encoder.data import pack
from encoder.model import Encoder, set_dropout
from encoder.pairs import Graded, Kind, Making, Material, Pair, Shares, Sources
from transformer import runtime
from transformer.errors import TrainingError
from transformer.init import quieten
from transformer.training import Pass, Trained, TrainingConfig, Watch, train

Batch = tuple[Kind, tuple[int, ...]]  # places in the material of that kind
_Slice = tuple[Tensor, Tensor]  # tokens and segments, (b, s)

_ASKING: frozenset[Kind] = frozenset({"titles", "contexts", "given"})  # with a query on the left
_COUNTED = 20_000  # texts that words are counted in, for where attention pooling begins
_ROW = 64  # tokens that texts are packed to at least: two short ones share their padding


@dataclass(frozen=True, slots=True)
class ContrastConfig:
    """What is brought near what, and how hard."""

    training: TrainingConfig
    shares: Shares
    making: Making = field(default_factory=Making)
    pooling: Pooling = "mean"
    temperature: float = 0.05
    batch: int = 256  # pairs; all others in it count as wrong
    slice_tokens: int = 8192  # embedded at once: memory is for these, whatever the batch
    dropout: float = 0.1
    blocks: float = 1.0  # what they add weighs so much of before, beside the words: see `quieten`
    dimensions: tuple[int, ...] = ()  # to learn for as well, by cutting vectors (matryoshka)
    max_tokens: int = 128  # of a text; what is longer is cut
    held_out: float = 0.02  # share of the texts that is measured on, one batch of a kind at most

    def __post_init__(self) -> None:
        for name in ("batch", "max_tokens"):
            if (size := getattr(self, name)) < 2:
                raise ValueError(f"{name} ({size}) must be at least 2")
        if self.slice_tokens < self.max_tokens:
            raise ValueError(
                f"slice_tokens ({self.slice_tokens}) must be at least max_tokens "
                f"({self.max_tokens})"
            )
        if self.temperature <= 0:
            raise ValueError(f"temperature ({self.temperature}) must be over 0")
        if not 0 < self.blocks <= 1:
            raise ValueError(f"blocks ({self.blocks}) must be over 0 and at most 1")
        for name in ("dropout", "held_out"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({share}) must be at least 0 and below 1")


def contrast(
    checkpoint: EncoderCheckpoint,
    sources: Sources,
    config: ContrastConfig,
    folder: Path,
    *,
    watch: Watch = lambda _: None,
    judged: Sequence[Graded] = (),
) -> Trained:
    """Train an encoder in place; `equipped(checkpoint, config)` is then what it has become.

    Args:
        checkpoint: a model that was trained before, or a fresh one
        sources: what pairs are made of
        config: must be the same when a run is taken up again
        folder: for the state of the run
        watch: told of every step
        judged: graded pairs to measure on; without, those that are held out. Where there are none
            either, the best weights are those that find most held-out texts

    Raises:
        TrainingError: a kind of pair is asked for and there are not enough texts for it, or the
            config does not fit the model.
    """
    fresh = pooling.pooler(checkpoint.model) is None
    ready = equipped(checkpoint, config)
    quieten(ready.model, config.blocks)
    if fresh and config.pooling == "attention":
        rarity.begin(ready.model, _read(ready, sources, config))
    set_dropout(ready.model, config.dropout)
    try:
        task = Contrast(ready, sources, config, judged=judged)
        return train(task, config.training, folder, watch=watch)
    finally:
        set_dropout(ready.model, 0.0)


def equipped(checkpoint: EncoderCheckpoint, config: ContrastConfig) -> EncoderCheckpoint:
    """The same model, pooled as the config says and with what that pooling needs.

    Raises:
        TrainingError: the config asks for more than the model has.
    """
    require_fit(checkpoint.model.config, config)
    embedding = replace(checkpoint.embedding, pooling=config.pooling)
    pooling.fit(checkpoint.model, embedding)
    return replace(checkpoint, embedding=embedding)


def require_fit(shape: EncoderConfig, config: ContrastConfig) -> None:
    """Refuse a config that asks for more than a model of this shape has.

    Raises:
        TrainingError: it names the setting and the numbers.
    """
    if config.max_tokens > shape.max_tokens:
        raise TrainingError(
            f"max_tokens ({config.max_tokens}) is over the model's {shape.max_tokens} places; "
            "lower it"
        )
    if over := [width for width in config.dimensions if not 0 < width <= shape.d_model]:
        raise TrainingError(f"dimensions {over} must be between 1 and d_model ({shape.d_model})")
    if config.blocks < 1 and not shape.pre_norm:
        raise TrainingError(
            f"blocks ({config.blocks:g}) can weigh less only in a model with pre_norm: elsewhere "
            "what they add is normalised with the words; set contrast.blocks to 1"
        )


def _read(ready: EncoderCheckpoint, sources: Sources, config: ContrastConfig) -> list[list[int]]:
    """Ids of texts by chance, to count words in."""
    texts = [*sources.sentences, *(each.text for each in sources.documents)]
    texts += [text for pair in sources.pairs for text in (pair.query, pair.positive)]
    texts += [text for each in sources.graded for text in (each.left, each.right)]
    rng = runtime.seeded(config.training.seed)
    some = [texts[place] for place in torch.randperm(len(texts), generator=rng)[:_COUNTED].tolist()]
    rows = ready.tokenizer.encode_for_model(some)
    return [row[: config.max_tokens] for row in rows]


class Contrast:
    """The task for the loop: pairs are made anew each time that a batch is read."""

    def __init__(
        self,
        checkpoint: EncoderCheckpoint,
        sources: Sources,
        config: ContrastConfig,
        *,
        judged: Sequence[Graded] = (),
    ) -> None:
        self.checkpoint, self.config = checkpoint, config
        kept, held = _split(sources, config)
        self.material = pairs.sort(kept, config.making)
        self.held = pairs.sort(held, config.making)
        self.counts = _counted(self.material, config.shares)
        graded = self.held.graded if "graded" in self.counts and len(self.held.graded) > 1 else ()
        self.judged = judged or graded

    @property
    def model(self) -> Encoder:
        return self.checkpoint.model

    def epoch(self, rng: torch.Generator) -> list[Batch]:
        """Batches of pairs, each of one kind."""
        shares = {kind: getattr(self.config.shares, kind) for kind in self.counts}
        return pairs.epoch(self.counts, shares, self.config.batch, rng)

    def backward(self, batch: Batch, rng: torch.Generator) -> Pass:
        """The gradient of one batch, in slices where it is larger than `slice_tokens`."""
        kind, places = batch
        made = [self.material.pair(kind, place, rng) for place in places]
        rows = self._encoded(made, kind)
        slices, order = self._packed(rows)
        if kind == "graded":
            grades = torch.tensor([self.material.graded[place].grade for place in places])
            loss = self._graded_loss(grades)
        else:
            loss = self._pair_loss(made)
        told = cached.backward(slices, self._embed, lambda found: loss(found[order]), rng)
        return Pass(told, sum(map(len, rows)))

    def evaluate(self) -> Mapping[str, float]:
        """Of what was held out: correlation with the grades where there are, and pairs found."""
        told: dict[str, float] = {}
        if self.judged:
            vectors = self._vectors([Pair(each.left, each.right) for each in self.judged], "graded")
            left, right = vectors.chunk(2)
            cosines = F.cosine_similarity(left, right).cpu().numpy()
            told["spearman"] = metrics.spearman(cosines, [each.grade for each in self.judged])
        scores = [self._found(kind) for kind in self.counts if kind != "graded"]
        found = [each for each in scores if each is not None]
        if found:
            told["accuracy"] = sum(metrics.accuracy(each) for each in found) / len(found)
            told["mrr"] = sum(metrics.mean_reciprocal_rank(each) for each in found) / len(found)
        return told

    def _found(self, kind: Kind) -> NDArray[np.float32] | None:
        """Cosines of each held-out text with the partner of each: (n, n); None tells nothing."""
        n = min(self.config.batch, self.held.count(kind))
        itself = kind == "same" and not self.config.making.same_deletion  # which always finds it
        if n < 2 or itself:
            return None
        rng = runtime.seeded(self.config.training.seed)  # the same pairs each time
        vectors = self._vectors([self.held.pair(kind, place, rng) for place in range(n)], kind)
        left, right = F.normalize(vectors, dim=-1).chunk(2)
        scores: NDArray[np.float32] = (left @ right.T).cpu().numpy()
        return scores

    def _vectors(self, made: Sequence[Pair], kind: Kind) -> Tensor:
        """Of all left sides and then of all right ones, (2 n, d)."""
        sides = [Pair(pair.query, pair.positive) for pair in made]
        slices, order = self._packed(self._encoded(sides, kind))
        return torch.cat([self._embed(part) for part in slices])[order]

    def _encoded(self, made: Sequence[Pair], kind: Kind) -> list[list[int]]:
        """Ids of all left sides, all right ones, and all negatives, each cut to its limit."""
        embedding, limit = self.checkpoint.embedding, self.config.max_tokens
        asking = embedding.query_prefix if kind in _ASKING else embedding.document_prefix
        texts = [asking + pair.query for pair in made]
        texts += [embedding.document_prefix + pair.positive for pair in made]
        texts += [embedding.document_prefix + each for pair in made for each in pair.negatives]
        rows = self.checkpoint.tokenizer.encode_for_model(texts)
        return [row if len(row) <= limit else [*row[: limit - 1], row[-1]] for row in rows]

    def _packed(self, rows: list[list[int]]) -> tuple[list[_Slice], Tensor]:
        """Several texts a row, several rows a slice; and where each text's vector comes out."""
        shape = self.model.config
        length = max(min(_ROW, shape.max_tokens), *map(len, rows))
        packed = pack(rows, length, pad_id=shape.pad_id)
        texts = packed.segments.amax(dim=1)  # of each row
        row, number = packed.places.unbind(dim=1)
        order = (texts.cumsum(0) - texts)[row] + number - 1
        size = max(1, self.config.slice_tokens // length)
        cuts = [slice(start, start + size) for start in range(0, len(packed.tokens), size)]
        slices = [(packed.tokens[cut], packed.segments[cut]) for cut in cuts]
        return slices, order.to(runtime.device())

    def _embed(self, part: _Slice) -> Tensor:
        tokens, segments = (each.to(runtime.device()) for each in part)
        hidden = self.model(tokens, segments=segments)
        return pooling.pool(self.model, hidden, self.config.pooling, segments=segments)

    def _pair_loss(self, made: Sequence[Pair]) -> Callable[[Tensor], Tensor]:
        n, widest = len(made), max(len(pair.negatives) for pair in made)
        same = negatives.known_answers(made).to(runtime.device())

        def loss(queries: Tensor, documents: Tensor, hard: Tensor | None = None) -> Tensor:
            return losses.symmetric_info_nce(
                queries,
                documents,
                temperature=self.config.temperature,
                negatives=hard,
                same=same,
            )

        def of_all(vectors: Tensor) -> Tensor:
            sides = [vectors[:n], vectors[n : 2 * n]]
            if widest:
                sides.append(vectors[2 * n :][negatives.places(made, widest).to(vectors.device)])
            return self._nested(loss)(*sides)

        return of_all

    def _graded_loss(self, grades: Tensor) -> Callable[[Tensor], Tensor]:
        grades = grades.to(runtime.device())

        def loss(left: Tensor, right: Tensor) -> Tensor:
            return losses.cosent(left, right, grades, temperature=self.config.temperature)

        return lambda vectors: self._nested(loss)(*vectors.chunk(2))

    def _nested(self, loss: losses.Loss) -> losses.Loss:
        if not self.config.dimensions:
            return loss
        whole = self.model.config.d_model
        return losses.matryoshka(loss, sorted({whole, *self.config.dimensions}, reverse=True))


def _split(sources: Sources, config: ContrastConfig) -> tuple[Sources, Sources]:
    """What is learned from, and what is held out: of documents all kinds of pairs alike."""
    rng = runtime.seeded(config.training.seed)
    halves = {
        each.name: pairs.split(getattr(sources, each.name), config.held_out, rng)
        for each in fields(Sources)
    }
    return (
        Sources(**{name: kept for name, (kept, _) in halves.items()}),
        Sources(**{name: held for name, (_, held) in halves.items()}),
    )


def _counted(material: Material, shares: Shares) -> dict[Kind, int]:
    """How many texts there are of each kind that is asked for."""
    asked: list[Kind] = [kind for kind in get_args(Kind) if getattr(shares, kind) > 0]
    counts = {kind: material.count(kind) for kind in asked}
    for kind, count in counts.items():
        if count < 2:
            raise TrainingError(
                f"shares.{kind} is {getattr(shares, kind):g}, and {count} texts of those given "
                "can be used so: at least 2 are needed. Give more, or set the share to 0"
            )
    return counts
