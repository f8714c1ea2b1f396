"""Labels and numbers for texts, learned from examples (Devlin et al. 2018, §4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import torch
from torch import Tensor, nn

from encoder import headed
from encoder.checkpoint import EncoderCheckpoint
from encoder.examples import Example, Goal, check, labels_of, split, unseen
from encoder.head_config import HeadConfig
from encoder.headed import Headed, Restored
from encoder.heads import ComparedHead, HeadPooling, SequenceHead, class_loss, number_loss
from encoder.label_scores import accuracy, macro_f1
from encoder.metrics import pearson, spearman
from encoder.rows import by_length, shuffled
from encoder.units import Reading, Unit
from transformer import runtime
from transformer.errors import CheckpointError
from transformer.training import Pass, Trained, Watch, train

KIND = "classifier"


@dataclass(frozen=True, slots=True)
class ClassifierConfig(HeadConfig):
    """What is learned, and how texts are read."""

    max_tokens: int = 256  # of a row; what is longer loses its end, and is marked so
    batch: int = 32  # examples
    held_out: float = 0.1  # share of the examples that metrics are taken on
    task: Goal = "classes"
    pooling: HeadPooling = "mean"
    apart: bool = False  # a pair's texts are read each by itself and compared; else in one row


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a classifier says of a text."""

    label: str | None  # None from a regression
    score: float  # probability of the label; from a regression the number itself
    scores: Mapping[str, float]  # probability of every label; empty from a regression
    cut: bool  # the text was over the limit, and only its beginning was read


class Classifier:
    """A trained head on its encoder, laid out to answer fast.

    Attributes:
        labels: in the order of the head's outputs; empty for a regression
        note: all that was saved beside the weights
    """

    def __init__(self, restored: Restored, *, dtype: torch.dtype | None = None) -> None:
        note = self.note = restored.note
        try:
            self.labels: tuple[str, ...] = tuple(note["labels"])
            self.pairs = bool(note["pairs"])
            self._mean, self._spread = float(note["mean"]), float(note["spread"])
            self._reading = Reading(restored.base.tokenizer, **note["reading"])
            head = _head(restored.base, len(self.labels), self._reading, note["pooling"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the classifier's note cannot be read: {error!r}") from error
        self._model = headed.for_inference(restored, head, dtype)

    @classmethod
    def load(
        cls,
        path: Path,
        base: Path | EncoderCheckpoint | None = None,
        *,
        dtype: torch.dtype | None = None,
    ) -> "Classifier":
        """Read a classifier.

        Args:
            path: its folder, or an adapter's file
            base: the encoder that an adapter was trained on; one that was trained whole needs none
            dtype: to compute in; None takes bfloat16 where that is faster here

        Raises:
            CheckpointError: it is missing, damaged, no classifier, or made for another encoder.
        """
        return cls(headed.restore(path, base, kind=KIND), dtype=dtype)

    @property
    def metrics(self) -> dict[str, float]:
        """What was measured on held-out examples when it was trained."""
        return dict(self.note.get("metrics", {}))

    def classify(self, texts: Sequence[str], seconds: Sequence[str] = ()) -> list[Labelled]:
        """What each text is, in the order given.

        Args:
            texts: what is longer than the classifier reads loses its end, and is marked so
            seconds: the other text of each, for a classifier of pairs

        Raises:
            ValueError: single texts where pairs were learned, or the other way round.
        """
        if texts and bool(seconds) != self.pairs:
            wanted = "pairs of texts" if self.pairs else "single texts"
            raise ValueError(f"this classifier was trained on {wanted}")
        units = self._reading.units(texts, seconds)
        outputs = _outputs(self._model, units)
        if not self.labels:
            numbers = outputs.squeeze(-1) * self._spread + self._mean
            return [
                Labelled(None, float(n), {}, u.cut) for n, u in zip(numbers, units, strict=True)
            ]
        rows = outputs.softmax(-1).tolist()
        return [self._labelled(row, unit.cut) for row, unit in zip(rows, units, strict=True)]

    def _labelled(self, probabilities: list[float], cut: bool) -> Labelled:
        scores = dict(zip(self.labels, probabilities, strict=True))
        best = max(scores, key=scores.__getitem__)
        return Labelled(best, scores[best], scores, cut)


def train_classifier(
    base: Path | EncoderCheckpoint,
    examples: Sequence[Example],
    config: ClassifierConfig,
    folder: Path,
    *,
    base_name: str = "",
    watch: Watch = lambda _: None,
) -> Classifier:
    """Learn from examples, or go on with what a killed run left in the folder.

    Args:
        base: the encoder to begin from; one that is handed over stays as it is
        examples: some are held out, the same ones each time
        config: what is learned
        folder: for the result, and the run itself in `training/`
        base_name: kept in the note, so that the encoder can be found again
        watch: told of every step

    Raises:
        TrainingError: the examples cannot teach anything, or the folder holds a finished model.
    """
    headed.require_free(folder)
    check(examples, config.task)
    loaded = headed.opened(base)
    pairs = examples[0].second is not None
    labels = labels_of(examples) if config.task == "classes" else ()
    reading = Reading(
        loaded.tokenizer,
        prefix=loaded.embedding.query_prefix,
        max_tokens=min(config.max_tokens, loaded.model.config.max_tokens),
        apart=pairs and config.apart,
    )
    head = _head(loaded, len(labels), reading, config.pooling)
    adapter = None if config.full else config.lora
    model = headed.begin(loaded, head, adapter, runtime.seeded(config.training.seed))
    task = _Task(model, reading, examples, labels, config)
    trained = train(task, config.training, folder / "training", watch=watch)
    note = {
        "kind": KIND,
        "base_name": base_name,
        "pairs": pairs,
        "pooling": config.pooling,
        "reading": {name: getattr(reading, name) for name in ("prefix", "max_tokens", "apart")},
        **task.note(trained),
    }
    headed.save(model, folder, adapter, base=loaded, note=note)
    return Classifier.load(folder, base)


class _Task:
    """Classification or regression, as the training loop sees it."""

    def __init__(
        self,
        model: Headed,
        reading: Reading,
        examples: Sequence[Example],
        labels: Sequence[str],
        config: ClassifierConfig,
    ) -> None:
        self.model, self.labels, self.batch = model, labels, config.batch
        seconds = [each.second for each in examples if each.second is not None]
        self.units = reading.units([each.text for each in examples], seconds)
        rng = runtime.seeded(config.training.seed)
        self.kept, held = split(examples, config.held_out, config.task, rng)
        self.held = unseen([(each.text, each.second) for each in examples], self.kept, held)
        self.mean, self.spread = 0.0, 1.0
        if labels:
            place = {label: i for i, label in enumerate(labels)}
            self.targets = torch.tensor([place[str(each.label)] for each in examples])
            return
        numbers = [float(each.label) for each in examples]
        self.mean, self.spread = fmean(numbers), pstdev(numbers)
        self.targets = (torch.tensor(numbers) - self.mean) / self.spread

    def note(self, trained: Trained) -> dict[str, Any]:
        """What the classifier needs to know of it, and what people want to."""
        return {
            "labels": self.labels,
            "mean": self.mean,
            "spread": self.spread,
            "metrics": dict(trained.metrics),
            "learned_from": len(self.kept),
            "held_out": len(self.held),
            "cut": sum(unit.cut for unit in self.units),
            "steps": trained.steps,
            "minutes": trained.minutes,
        }

    def epoch(self, rng: torch.Generator) -> Sequence[list[int]]:
        batches = shuffled([self.units[i].length for i in self.kept], self.batch, rng)
        return [[self.kept[i] for i in batch] for batch in batches]

    def backward(self, batch: list[int], rng: torch.Generator) -> Pass:
        units = [self.units[i] for i in batch]
        outputs = self.model.read(_rows(units))
        targets = self.targets[batch].to(outputs.device)
        loss = (class_loss if self.labels else number_loss)(outputs, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(loss.item(), sum(len(row) for unit in units for row in unit.rows))

    def evaluate(self) -> Mapping[str, float]:
        outputs = _outputs(self.model, [self.units[i] for i in self.held])
        targets = self.targets[self.held]
        if self.labels:
            told, true = ([self.labels[i] for i in t] for t in (outputs.argmax(-1), targets))
            return {"accuracy": accuracy(told, true), "macro_f1": macro_f1(told, true)}
        numbers = outputs.squeeze(-1)
        return {
            "spearman": spearman(numbers, targets),
            "pearson": pearson(numbers, targets),
            "absolute_error": (numbers - targets).abs().mean().item() * self.spread,
        }


def _head(
    base: EncoderCheckpoint, labels: int, reading: Reading, pooling: HeadPooling
) -> nn.Module:
    kind = ComparedHead if reading.apart else SequenceHead
    return kind(base.model.config.d_model, labels or 1, pooling=pooling)


def _rows(units: Sequence[Unit]) -> list[list[int]]:
    """The rows of units; of pairs that are read apart, every first text before every second."""
    return [row for place in zip(*(unit.rows for unit in units), strict=True) for row in place]


def _outputs(model: Headed, units: Sequence[Unit]) -> Tensor:
    """What the model makes of units, (n, outputs), in the order given."""
    made: dict[int, Tensor] = {}
    for batch in by_length([unit.length for unit in units]):
        with torch.inference_mode():
            output = model.read(_rows([units[i] for i in batch])).cpu()
        made |= zip(batch, output, strict=True)
    return torch.stack([made[i] for i in range(len(units))]) if units else torch.empty(0, 1)
