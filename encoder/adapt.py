"""Teaching questions to find what a better ranking found, while every passage stays as it is.

Query-side tuning (Karpukhin et al. 2020, §6; Sung et al. 2023, "Optimizing Test-Time Query
Representations"): what is learned is one matrix behind the encoder, on the vectors of questions
alone. Stored vectors remain valid, so nothing is encoded again; taking it back is leaving it out.
A low-rank adapter inside the encoder, taught by the same lists, ranked no better and took fifty
times as long.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from encoder import losses
from encoder.embedder import Embedder
from transformer import checkpoint, runtime
from transformer.errors import CheckpointError
from transformer.training import Pass, Trained, TrainingConfig, Watch, train

KIND = "query"  # of what is stored
_TENSOR = "change"


@dataclass(frozen=True, slots=True)
class QueryTuning:
    """How questions are taught. The defaults were chosen on scifact's train claims."""

    steps: int = 100
    minutes: float | None = None  # of wall clock, where that is spent first
    learning_rate: float = 1e-3
    batch: int = 256
    temperature: float = 0.05  # of the cosines, before they are compared with the teacher
    drift: float = 1.0  # weight of 1 - cosine to the vector that the base gives a question
    held_out: float = 0.1  # share of the questions that decide when it was best
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "learning_rate", "batch", "temperature"):
            if (value := getattr(self, name)) <= 0:
                raise ValueError(f"{name} ({value}) must be over 0")
        if self.drift < 0:
            raise ValueError(f"drift ({self.drift}) must be at least 0")
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out ({self.held_out}) must lie between 0 and 1")


@dataclass(frozen=True, slots=True)
class TunedQueries:
    """What the questions of one encoder learned, and how it went."""

    data: bytes  # a safetensors file
    fingerprint: str  # of what is in it
    trained: Trained


class QueryMap(nn.Module):
    """q + q C at unit length: it begins with C = 0, where nothing changes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.change = nn.Parameter(torch.zeros(width, width))

    def forward(self, queries: Tensor) -> Tensor:
        """Unit vectors (n, d) to unit vectors (n, d)."""
        return F.normalize(queries + queries @ self.change, dim=-1)


class TaughtEmbedder(Embedder):
    """An embedder whose questions go through what they learned; all else is the base's own.

    Its fingerprint is the base's: the vectors that its questions are compared with are of that.
    """

    def __init__(self, base: Embedder, learned: QueryMap, *, taught: str) -> None:
        self.__dict__.update(base.__dict__)  # the same model and tokenizer, not copies
        self._learned = learned
        self.taught = taught  # fingerprint of what was learned

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the base's, then as they learned: (n, d)."""
        return self.learned(super().embed_queries(texts))

    @torch.inference_mode()
    def learned(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the base's vectors of questions become."""
        moved: NDArray[np.float32] = self._learned(torch.from_numpy(vectors)).numpy()
        return moved


def tune_queries(
    questions: NDArray[np.floating[Any]],
    candidates: NDArray[np.floating[Any]],
    teacher: NDArray[np.floating[Any]],
    config: QueryTuning,
    folder: Path,
    *,
    base: str,
    watch: Watch = lambda _: None,
) -> TunedQueries:
    """Learn a map by which the cosines of questions follow the teacher's distribution.

    Args:
        questions: the base's unit vectors, (n, d)
        candidates: unit vectors of the passages that each question chooses from, (n, k, d)
        teacher: how likely each is what the question looks for, (n, k), over 0; rows sum to 1
        config: how
        folder: for the state of the run
        base: fingerprint of the encoder that the vectors are of
        watch: told of every step

    Raises:
        ValueError: shapes that do not fit, rows that are no distributions, too few questions.
        TrainingError: the loss is no number, or `folder` cannot be written.
    """
    _check(questions, candidates, teacher)
    task = _FollowTeacher(questions, candidates, teacher, config)
    training = TrainingConfig(
        steps=config.steps,
        minutes=config.minutes,
        learning_rate=config.learning_rate,
        warmup=0.0,
        weight_decay=0.0,  # the drift penalty holds it back, and knows by how much
        precision="float32",
        seed=config.seed,
        evaluate_every=max(1, config.steps // 10),
        patience=3,
    )
    trained = train(task, training, folder, watch=watch)
    note = {"kind": KIND, "base": base}
    data = checkpoint.tensors_to_bytes({_TENSOR: task.model.change}, note=note)
    return TunedQueries(data, hashlib.sha256(data).hexdigest()[:16], trained)


def taught(base: Embedder, data: bytes) -> TaughtEmbedder:
    """The base with what its questions learned.

    Raises:
        CheckpointError: the data is damaged, or was learned behind another model.
    """
    where = "what was learned"
    tensors, note = checkpoint.tensors_from_bytes(data, where=where)
    change = tensors.get(_TENSOR)
    if note.get("kind") != KIND or change is None:
        raise CheckpointError(f"{where} is of kind {note.get('kind')!r}, not for questions")
    if note.get("base") != base.fingerprint:
        raise CheckpointError(
            f"{where} belongs behind the model {note.get('base')}, this one is "
            f"{base.fingerprint}: bring that model back, or adapt again"
        )
    width = base.dimensions
    if change.shape != (width, width) or not change.isfinite().all():
        raise CheckpointError(
            f"{where} has the shape {tuple(change.shape)}, the model asks for {(width, width)} of "
            "finite numbers: adapt again"
        )
    learned = QueryMap(width)
    with torch.no_grad():
        learned.change.copy_(change)
    return TaughtEmbedder(base, learned.eval(), taught=hashlib.sha256(data).hexdigest()[:16])


class _FollowTeacher:
    """Listwise distillation (Cao et al. 2007; Hofstätter et al. 2021) of a ranking into cosines."""

    def __init__(
        self,
        questions: NDArray[np.floating[Any]],
        candidates: NDArray[np.floating[Any]],
        teacher: NDArray[np.floating[Any]],
        config: QueryTuning,
    ) -> None:
        self.model = QueryMap(questions.shape[1])
        self._questions, self._candidates, self._teacher = questions, candidates, teacher
        self._config = config
        order = torch.randperm(len(questions), generator=runtime.seeded(config.seed)).tolist()
        held = max(1, round(config.held_out * len(questions)))
        self._held, self._learned = order[:held], order[held:]

    def epoch(self, rng: torch.Generator) -> Sequence[list[int]]:
        order = torch.randperm(len(self._learned), generator=rng).tolist()
        return _parts([self._learned[place] for place in order], self._config.batch)

    def backward(self, batch: list[int], rng: torch.Generator) -> Pass:
        loss = self._loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(float(loss.detach()), len(batch))

    def evaluate(self) -> Mapping[str, float]:
        parts = _parts(self._held, self._config.batch)
        apart = sum(len(part) * float(self._loss(part)) for part in parts)
        return {"agreement": -apart / len(self._held)}

    def _loss(self, batch: list[int]) -> Tensor:
        """KL(teacher ‖ cosines), and how far questions went from where they were."""
        given, passages, teacher = (
            torch.from_numpy(np.asarray(rows[batch], np.float32)).to(runtime.device())
            for rows in (self._questions, self._candidates, self._teacher)
        )
        moved: Tensor = self.model(given)
        cosines = torch.einsum("bd,bkd->bk", moved, passages)
        sharpened = cosines / self._config.temperature  # the teacher is as sharp as it came
        apart: Tensor = losses.listwise_kl(sharpened, teacher.log(), temperature=1.0)
        away = (1 - (moved * given).sum(-1)).mean()
        return apart + self._config.drift * away


def _check(
    questions: NDArray[np.floating[Any]],
    candidates: NDArray[np.floating[Any]],
    teacher: NDArray[np.floating[Any]],
) -> None:
    n, width = questions.shape
    if n < 2:
        raise ValueError(f"{n} questions are too few: one is to learn from, another to check by")
    if candidates.ndim != 3 or candidates.shape[::2] != (n, width):
        raise ValueError(
            f"candidates of shape {candidates.shape} do not fit {n} questions of width {width}"
        )
    if teacher.shape != candidates.shape[:2]:
        raise ValueError(
            f"the teacher's shape {teacher.shape} is not that of the candidates "
            f"{candidates.shape[:2]}"
        )
    distributions = (teacher > 0).all() and np.allclose(teacher.sum(axis=1), 1, atol=1e-3)
    if not (np.isfinite(teacher).all() and distributions):
        raise ValueError("the teacher's rows must be distributions: over 0, with a sum of 1")


def _parts(indices: Sequence[int], size: int) -> list[list[int]]:
    return [list(indices[start : start + size]) for start in range(0, len(indices), size)]
