"""Teaches a reader, from questions with passages and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import torch

from encoder import headed
from encoder.answer_scores import By, exact_match, f1
from encoder.checkpoint import EncoderCheckpoint
from encoder.head_config import HeadConfig, budget
from encoder.headed import Headed
from encoder.heads import TokenHead, span_loss
from encoder.questions import Question
from encoder.reader import KIND, Reader, Span, spans
from encoder.rows import shuffled
from encoder.windows import Framing, Window, allowed, texts, tokens_of
from transformer import runtime
from transformer.errors import TrainingError
from transformer.training import Pass, TrainingConfig, Watch, train


@dataclass(frozen=True, slots=True)
class ReaderConfig(HeadConfig):
    """What is learned, and how passages are read."""

    max_tokens: int = 384  # of a row: the question and a window of the passage
    batch: int = 12  # rows
    held_out: float = 0.05  # share of the passages that metrics are taken on
    training: TrainingConfig = field(default_factory=lambda: budget(30, evaluate_every=200))
    question_tokens: int = 64  # of a question at most
    overlap: int = 96  # tokens that neighbouring windows share
    longest: int = 48  # tokens of an answer at most
    empty: float = 0.5  # windows without an answer, for each one with it
    by: By = "words"  # what F1 compares; Korean by characters
    evaluate_on: int = 200  # held-out questions at most

    def __post_init__(self) -> None:
        HeadConfig.__post_init__(self)  # slots make a new class, which a bare super() does not find
        for name in ("question_tokens", "overlap", "longest", "evaluate_on"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({value}) must be at least 1")
        if self.max_tokens < 2 * self.question_tokens:
            raise ValueError(
                f"max_tokens ({self.max_tokens}) must be at least twice question_tokens "
                f"({self.question_tokens}), so that half of a row is passage"
            )
        if self.empty < 0:
            raise ValueError(f"empty ({self.empty}) must be at least 0")


def train_reader(
    base: Path | EncoderCheckpoint,
    questions: Sequence[Question],
    config: ReaderConfig,
    folder: Path,
    *,
    base_name: str = "",
    watch: Watch = lambda _: None,
) -> Reader:
    """Learn from questions; the arguments and errors are those of `train_classifier`."""
    headed.require_free(folder)
    passages = len({each.passage for each in questions})
    answered = sum(bool(each.answers) for each in questions)
    if passages < 2 or not answered:
        raise TrainingError(
            f"{answered} answered questions about {passages} passages cannot teach a reader: "
            "give at least 1 question and 2 passages"
        )
    loaded = headed.opened(base)
    framing = _framing(loaded, config)
    adapter = None if config.full else config.lora
    head = TokenHead(loaded.model.config.d_model, 2)
    model = headed.begin(loaded, head, adapter, runtime.seeded(config.training.seed))
    task = _Task(model, framing, questions, config)
    trained = train(task, config.training, folder / "training", watch=watch)
    kept = {name: getattr(framing, name) for name in _FRAMING}
    note = {
        "kind": KIND,
        "base_name": base_name,
        "framing": kept,
        "longest": config.longest,
        "metrics": dict(trained.metrics),
        "steps": trained.steps,
        "minutes": trained.minutes,
    }
    headed.save(model, folder, adapter, base=loaded, note=note)
    return Reader.load(folder, base)


_FRAMING = ("prefix", "max_tokens", "question_tokens", "overlap")


def _framing(loaded: EncoderCheckpoint, config: ReaderConfig) -> Framing:
    try:
        return Framing(
            loaded.tokenizer,
            prefix=loaded.embedding.query_prefix,
            max_tokens=min(config.max_tokens, loaded.model.config.max_tokens),
            question_tokens=config.question_tokens,
            overlap=config.overlap,
        )
    except ValueError as error:  # the model has fewer places than the config allows
        raise TrainingError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Item:
    """A row to learn from: tokens first to last of the passage answer it, or none do."""

    question: int
    passage: str
    window: Window
    answer: tuple[int, int] | None


class _Task:
    """Reading, as the training loop sees it."""

    def __init__(
        self, model: Headed, framing: Framing, questions: Sequence[Question], config: ReaderConfig
    ) -> None:
        self.model, self.framing, self.config = model, framing, config
        self.questions = questions
        passages = list(dict.fromkeys(each.passage for each in questions))
        self.read = dict(zip(passages, texts(framing.tokenizer, passages), strict=True))
        asked = [framing.prefix + each.question for each in questions]
        self.asked = [text.ids for text in texts(framing.tokenizer, asked)]
        order = torch.randperm(len(passages), generator=runtime.seeded(config.training.seed))
        n = min(len(passages) - 1, max(1, round(config.held_out * len(passages))))
        held = {passages[i] for i in order[:n].tolist()}
        self.held = [each for each in questions if each.passage in held][: config.evaluate_on]
        self.several = len(passages) - n > 1  # passages to learn from
        self.answered: list[_Item] = []
        self.empty: dict[int, list[_Item]] = {}  # of each question that is learned from
        for i, each in enumerate(questions):
            if each.passage not in held:
                self._prepare(i, each)

    def _prepare(self, i: int, each: Question) -> None:
        """The windows of a question that hold its answer, and those that hold none of it."""
        text = self.read[each.passage]
        windows = self.framing.windows(len(self.framing.head(self.asked[i])), len(text.ids))
        places = [tokens_of(text, start, start + len(told)) for told, start in each.answers]
        for window in windows:
            whole = [place for place in places if window.covers(*place)]
            if whole:
                self.answered.append(_Item(i, each.passage, window, whole[0]))
        self.empty[i] = [
            _Item(i, each.passage, window, None)
            for window in windows
            if not any(window.touches(*place) for place in places)
        ]

    def epoch(self, rng: torch.Generator) -> Sequence[list[_Item]]:
        wanted = round(self.config.empty * len(self.answered))
        drawn = (self._nothing(rng) for _ in range(wanted))
        items = [*self.answered, *(item for item in drawn if item is not None)]
        lengths = [item.window.last - item.window.first for item in items]
        return [[items[i] for i in batch] for batch in shuffled(lengths, self.config.batch, rng)]

    def _nothing(self, rng: torch.Generator) -> _Item | None:
        """A window without the answer: of the question's own passage, else of another one's."""
        asked = list(self.empty)
        i = asked[_drawn(len(asked), rng)]
        if self.empty[i]:
            return self.empty[i][_drawn(len(self.empty[i]), rng)]
        if not self.several:
            return None
        passage = self.questions[i].passage
        while passage == self.questions[i].passage:
            passage = self.questions[asked[_drawn(len(asked), rng)]].passage
        head = len(self.framing.head(self.asked[i]))
        windows = self.framing.windows(head, len(self.read[passage].ids))
        return _Item(i, passage, windows[_drawn(len(windows), rng)], None)

    def backward(self, batch: list[_Item], rng: torch.Generator) -> Pass:
        rows = [
            self.framing.row(self.asked[item.question], self.read[item.passage], item.window)
            for item in batch
        ]
        logits = self.model.read([row.ids for row in rows])
        ends = [
            (0, 0)
            if item.answer is None
            else (row.place(item.answer[0]), row.place(item.answer[1]))
            for row, item in zip(rows, batch, strict=True)
        ]
        first, last = torch.tensor(ends, device=logits.device).unbind(1)
        places = allowed(rows, logits.shape[1]).to(logits.device)
        loss = span_loss(logits, first, last, places)
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(loss.item(), sum(len(row.ids) for row in rows))

    def evaluate(self) -> Mapping[str, float]:
        pairs = [(each.question, each.passage) for each in self.held]
        told = spans(self.model, self.framing, pairs, longest=self.config.longest)
        return answer_scores(told, self.held, by=self.config.by)


def answer_scores(
    told: Sequence[Span], questions: Sequence[Question], *, by: By
) -> dict[str, float]:
    """Means of F1 and exact match, and the share of questions that were answered as they should.

    "No answer" is taken where it is likelier; `forced_f1` is that of the best span all the same,
    over the questions that have an answer.
    """
    scored = list(zip(told, questions, strict=True))
    right = [[text for text, _ in each.answers] for each in questions]
    said = [span.text if span.answered else "" for span in told]
    pairs = list(zip(said, right, strict=True))
    forced = [f1(s.text, [t for t, _ in q.answers], by=by) for s, q in scored if q.answers]
    return {
        "f1": fmean(f1(text, answers, by=by) for text, answers in pairs),
        "exact_match": fmean(exact_match(text, answers) for text, answers in pairs),
        "forced_f1": fmean(forced) if forced else 0.0,
        "told_apart": fmean(bool(text) == bool(answers) for text, answers in pairs),
    }


def _drawn(n: int, rng: torch.Generator) -> int:
    return int(torch.randint(n, (1,), generator=rng))
