"""Named stretches of texts by tags of tokens, learned from examples (Devlin et al. 2018, §5.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from encoder import headed
from encoder.checkpoint import EncoderCheckpoint
from encoder.entities import Entity, Tagged, entities_of, entity_scores, tags_of
from encoder.examples import unseen
from encoder.head_config import HeadConfig
from encoder.headed import Headed, Restored
from encoder.heads import IGNORED, TokenHead, tag_loss
from encoder.rows import by_length, shuffled
from transformer import runtime
from transformer.errors import CheckpointError, TrainingError
from transformer.tokenizer import Tokenizer
from transformer.training import Pass, Watch, train

KIND = "tagger"


@dataclass(frozen=True, slots=True)
class TaggerConfig(HeadConfig):
    """What is learned, and how texts are read."""

    max_tokens: int = 128  # of a row; a longer text is read in several, and nothing is cut
    batch: int = 32  # rows
    held_out: float = 0.1  # share of the texts that metrics are taken on


class Tagger:
    """A trained tag head on its encoder, laid out to answer fast.

    Attributes:
        kinds: of entities, in the order of the head's tags
        note: all that was saved beside the weights
    """

    def __init__(self, restored: Restored, *, dtype: torch.dtype | None = None) -> None:
        note = self.note = restored.note
        try:
            self.kinds: tuple[str, ...] = tuple(note["kinds"])
            self._max_tokens = int(note["max_tokens"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the tagger's note cannot be read: {error!r}") from error
        self._tokenizer = restored.base.tokenizer
        head = TokenHead(restored.base.model.config.d_model, 1 + 2 * len(self.kinds))
        self._model = headed.for_inference(restored, head, dtype)

    @classmethod
    def load(
        cls,
        path: Path,
        base: Path | EncoderCheckpoint | None = None,
        *,
        dtype: torch.dtype | None = None,
    ) -> "Tagger":
        """Read a tagger; the arguments and errors are those of `Classifier.load`."""
        return cls(headed.restore(path, base, kind=KIND), dtype=dtype)

    def tag(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        """What is named in each text, in order."""
        rows = _rows(self._tokenizer, texts, self._max_tokens)
        tags = _tags(self._model, rows, len(texts))
        offsets = self._tokenizer.encode_with_offsets(texts)[1]
        pairs = zip(tags, offsets, strict=True)
        return [entities_of(told, places, self.kinds) for told, places in pairs]


def train_tagger(
    base: Path | EncoderCheckpoint,
    examples: Sequence[Tagged],
    config: TaggerConfig,
    folder: Path,
    *,
    base_name: str = "",
    watch: Watch = lambda _: None,
) -> Tagger:
    """Learn from examples; the arguments and errors are those of `train_classifier`."""
    headed.require_free(folder)
    kinds = tuple(sorted({each.kind for example in examples for each in example.entities}))
    if not kinds or len(examples) < 2:
        raise TrainingError(
            f"{len(examples)} texts with {len(kinds)} kinds of entities cannot teach a tagger: "
            "give at least 2 texts and 1 kind"
        )
    loaded = headed.opened(base)
    head = TokenHead(loaded.model.config.d_model, 1 + 2 * len(kinds))
    adapter = None if config.full else config.lora
    model = headed.begin(loaded, head, adapter, runtime.seeded(config.training.seed))
    limit = min(config.max_tokens, loaded.model.config.max_tokens)
    task = _Task(model, loaded.tokenizer, examples, kinds, limit, config)
    trained = train(task, config.training, folder / "training", watch=watch)
    note = {
        "kind": KIND,
        "base_name": base_name,
        "kinds": kinds,
        "max_tokens": limit,
        "metrics": dict(trained.metrics),
        "steps": trained.steps,
        "minutes": trained.minutes,
    }
    headed.save(model, folder, adapter, base=loaded, note=note)
    return Tagger.load(folder, base)


@dataclass(frozen=True, slots=True)
class _Row:
    """A stretch of a text's tokens as the encoder reads it."""

    text: int  # which
    first: int  # token of the text that stands first in it
    ids: list[int]  # with what the model expects around them
    inner: slice  # the text's own tokens


def _rows(tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int) -> list[_Row]:
    before, behind = tokenizer.around
    room = max_tokens - len(before) - len(behind)
    rows = []
    for text, ids in enumerate(tokenizer.encode_with_offsets(texts)[0]):
        for first in range(0, len(ids), room):
            part = ids[first : first + room]
            inner = slice(len(before), len(before) + len(part))
            rows.append(_Row(text, first, [*before, *part, *behind], inner))
    return rows


def _tags(model: Headed, rows: Sequence[_Row], texts: int) -> list[list[int]]:
    """The likeliest tag of every token of every text."""
    told: dict[int, list[int]] = {}
    for batch in by_length([len(row.ids) for row in rows]):
        with torch.inference_mode():
            best = model.read([rows[i].ids for i in batch]).argmax(-1).tolist()
        told |= {i: tags[rows[i].inner] for i, tags in zip(batch, best, strict=True)}
    whole: list[list[int]] = [[] for _ in range(texts)]
    for i, row in enumerate(rows):
        whole[row.text] += told[i]
    return whole


class _Task:
    """Tagging, as the training loop sees it."""

    def __init__(
        self,
        model: Headed,
        tokenizer: Tokenizer,
        examples: Sequence[Tagged],
        kinds: Sequence[str],
        max_tokens: int,
        config: TaggerConfig,
    ) -> None:
        self.model, self.examples, self.kinds = model, examples, kinds
        self.batch = config.batch
        texts = [each.text for each in examples]
        self.offsets = tokenizer.encode_with_offsets(texts)[1]
        self.tags = [
            tags_of(each.entities, places, kinds)
            for each, places in zip(examples, self.offsets, strict=True)
        ]
        rng = runtime.seeded(config.training.seed)
        order = torch.randperm(len(examples), generator=rng).tolist()
        n = min(len(order) - 1, max(1, round(config.held_out * len(order))))
        kept = set(order[n:])
        self.held = sorted(unseen(texts, order[n:], order[:n]))
        rows, held = _rows(tokenizer, texts, max_tokens), set(self.held)
        self.rows = [row for row in rows if row.text in kept]
        self.held_rows = [row for row in rows if row.text in held]

    def epoch(self, rng: torch.Generator) -> Sequence[list[int]]:
        return shuffled([len(row.ids) for row in self.rows], self.batch, rng)

    def backward(self, batch: list[int], rng: torch.Generator) -> Pass:
        rows = [self.rows[i] for i in batch]
        logits = self.model.read([row.ids for row in rows])
        targets = torch.full(logits.shape[:2], IGNORED)
        for i, row in enumerate(rows):
            n = row.inner.stop - row.inner.start
            tags = self.tags[row.text][row.first : row.first + n]
            targets[i, row.inner] = torch.tensor(tags)
        loss = tag_loss(logits, targets.to(logits.device))
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(loss.item(), sum(len(row.ids) for row in rows))

    def evaluate(self) -> Mapping[str, float]:
        tags = _tags(self.model, self.held_rows, len(self.examples))
        told = [entities_of(tags[i], self.offsets[i], self.kinds) for i in self.held]
        return entity_scores(told, [self.examples[i].entities for i in self.held])
