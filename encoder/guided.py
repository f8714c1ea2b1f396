"""Teaching questions and passages together: every vector changes, so a library is encoded anew.

Plain in-batch negatives hurt small libraries, where the next document answers the question as well.
So the encoder as it was is the guide that says which negatives are none (Solatorio 2024), a penalty
holds vectors near to where they were, and of what was learned only a share is kept, which is the
mean of old and new weights (Wortsman et al. 2022, WiSE-FT).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from encoder import losses, pooling
from encoder.checkpoint import EncoderCheckpoint
from transformer import lora, masks, runtime
from transformer.lora import LoraConfig, LoraLinear
from transformer.training import Pass, Trained, TrainingConfig, Watch, train


@dataclass(frozen=True, slots=True)
class GuidedTuning:
    """How both sides are taught."""

    epochs: int = 1
    minutes: float | None = None  # of wall clock, where that is spent first
    learning_rate: float = 1e-4
    batch: int = 24  # pairs, each with its negatives
    rank: int = 16
    temperature: float = 0.05
    drift: float = 0.1  # weight of 1 - cosine to the vectors that the base gives
    kept: float = 0.5  # share of what was learned
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "learning_rate", "batch", "rank", "temperature"):
            if (value := getattr(self, name)) <= 0:
                raise ValueError(f"{name} ({value}) must be over 0")
        if not 0 < self.kept <= 1:
            raise ValueError(f"kept ({self.kept}) must be over 0 and at most 1")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions with a passage that answers each, and passages that do not.

    The guide's vectors are those of the encoder before it learns.
    """

    questions: Sequence[str]  # n of them
    passages: Sequence[str]
    negatives: Sequence[Sequence[str]]  # m for each question, m may be 0
    guide_questions: NDArray[np.float32]  # (n, d)
    guide_passages: NDArray[np.float32]  # (n, d)
    guide_negatives: NDArray[np.float32]  # (n, m, d)

    def __post_init__(self) -> None:
        n, counts = len(self.questions), {len(each) for each in self.negatives}
        if n < 2 or len(self.passages) != n or len(self.negatives) != n or len(counts) != 1:
            raise ValueError(
                f"{n} questions, {len(self.passages)} passages and negatives of {sorted(counts)} "
                "each make no pairs: give at least two, all with as many negatives"
            )


def tune_both(
    base: EncoderCheckpoint,
    pairs: Pairs,
    config: GuidedTuning,
    folder: Path,
    *,
    watch: Watch = lambda _: None,
) -> Trained:
    """Train `base.model` in place; save it as a model of its own.

    Raises:
        TrainingError: the loss is no number, or `folder` cannot be written.
    """
    rng = runtime.seeded(config.seed)
    lora.attach(base.model, LoraConfig(rank=config.rank, alpha=2.0 * config.rank), rng=rng)
    task = _Guided(base, pairs, config)
    training = TrainingConfig(
        steps=config.epochs * -(-len(pairs.questions) // config.batch),
        minutes=config.minutes,
        learning_rate=config.learning_rate,
        warmup=0.1,
        weight_decay=0.0,
        seed=config.seed,
    )
    trained = train(task, training, folder, watch=watch)
    for module in base.model.modules():
        if isinstance(module, LoraLinear):
            module.scale *= config.kept
    lora.merge(base.model)
    return trained


class _Guided:
    def __init__(self, base: EncoderCheckpoint, pairs: Pairs, config: GuidedTuning) -> None:
        self.model = base.model
        self._base, self._pairs, self._config = base, pairs, config

    def epoch(self, rng: torch.Generator) -> Sequence[list[int]]:
        order = torch.randperm(len(self._pairs.questions), generator=rng).tolist()
        size = self._config.batch
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        return [part for part in parts if len(part) > 1]  # one pair has nothing to be told from

    def backward(self, batch: list[int], rng: torch.Generator) -> Pass:
        pairs, embedding = self._pairs, self._base.embedding
        texts = [
            *(embedding.query_prefix + pairs.questions[i] for i in batch),
            *(embedding.document_prefix + pairs.passages[i] for i in batch),
            *(embedding.document_prefix + text for i in batch for text in pairs.negatives[i]),
        ]
        rows = self._base.tokenizer.encode_for_model(texts)
        vectors = self._embed(rows)
        n = len(batch)
        guides = [
            torch.from_numpy(each[batch]).to(vectors.device)
            for each in (pairs.guide_questions, pairs.guide_passages, pairs.guide_negatives)
        ]
        negatives = vectors[2 * n :].view(n, -1, vectors.shape[1])
        loss: Tensor = losses.guided_info_nce(
            vectors[:n],
            vectors[n : 2 * n],
            guide_queries=guides[0],
            guide_documents=guides[1],
            temperature=self._config.temperature,
            negatives=negatives if negatives.shape[1] else None,
            guide_negatives=guides[2] if negatives.shape[1] else None,
        )
        before = torch.cat([guides[0], guides[1], guides[2].flatten(0, 1)])
        loss = loss + self._config.drift * (1 - (vectors * before).sum(-1)).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(float(loss.detach()), sum(map(len, rows)))

    def evaluate(self) -> Mapping[str, float]:
        return {}  # whoever asked judges the finished model

    def _embed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        counts = torch.tensor([len(row) for row in rows])
        width, pad = int(counts.max()), self.model.config.pad_id
        tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
        mask = masks.lengths(counts, width).to(runtime.device())
        hidden = self.model(tokens.to(runtime.device()), mask)
        embedding = self._base.embedding
        pooled = pooling.pool(self.model, hidden, embedding.pooling, mask=mask)
        return F.normalize(pooled[:, : embedding.dimensions], dim=-1)
