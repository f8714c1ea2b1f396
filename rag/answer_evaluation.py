"""How well a library answers: questions put to it, each answer marked, two settings compared."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from rag.answer_asking import Setting, Sitting
from rag.answer_evaluation_file import EARLIER, read_outcomes, row
from rag.answer_figures import Comparison, Group, compare, grouped
from rag.answer_marks import Outcome
from rag.answer_questions import Question, read_questions
from rag.errors import UsageError
from rag.evaluate import Watch, unwatched
from rag.judged import OwnQuestion
from rag.models import lasting, locate
from rag.own_questions import homes
from rag.records import AnswerMode

if TYPE_CHECKING:
    from rag.assistant import Assistant


@dataclass(frozen=True, slots=True)
class AnswerEvaluation:
    """What was asked, how, and what came of it."""

    data: str
    collection: str
    encoder: str
    setting: Setting
    outcomes: tuple[Outcome, ...]  # in the order of the questions
    groups: tuple[Group, ...]
    comparison: Comparison | None
    notes: tuple[str, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Questions that could not be answered at all."""
        return tuple(one for one in self.outcomes if one.error is not None)


def evaluate_answers(
    assistant: "Assistant",
    path: Path,
    *,
    mode: AnswerMode = "auto",
    against: str | None = None,
    out: Path | None = None,
    watch: Watch = unwatched,
) -> AnswerEvaluation:
    """Put questions to a library, and mark its answers.

    Args:
        assistant: who is asked
        path: the questions, a JSON object a line
        mode: how they are answered
        against: another mode, another generator by name or path, or what an earlier run wrote to
            `out`
        out: takes what became of each question as it comes, a JSON object a line
        watch: told how far it is

    Raises:
        UsageError: something about the questions, or about what is compared, cannot be.
        NotFound, ModelMissing, Unreadable: a model is not there, or cannot be read.
        AttestError: not one question could be answered.
    """
    questions = read_questions(path)
    places, notes = _places(assistant, questions)
    setting = _setting(assistant, mode)
    earlier = _earlier(assistant, setting, against)
    with _rows(out) as keep:
        sitting = Sitting(questions, places, keep, watch)
        outcomes = sitting.outcomes(assistant, setting)
        if against is not None and earlier is None:
            earlier = _otherwise(assistant, sitting, setting, against)
    return AnswerEvaluation(
        str(path),
        assistant.settings.collection,
        assistant.encoders.name(assistant.settings.collection),
        setting,
        tuple(outcomes),
        grouped(outcomes),
        None if against is None else compare(earlier or (), outcomes, against=against),
        notes,
    )


def _places(
    assistant: "Assistant", questions: Sequence[Question]
) -> tuple[Mapping[str, frozenset[str]], tuple[str, ...]]:
    """Of each question the paths of its document; a name that is not there stays."""
    naming = [one for one in questions if one.document is not None] or questions
    own = [OwnQuestion(one.id, one.question, one.document, one.answers) for one in naming]
    found = homes(own, assistant.documents(), assistant.settings.collection)
    return {key: frozenset(paths) for key, paths in found.judged.items()}, found.notes


def _setting(assistant: "Assistant", mode: AnswerMode) -> Setting:
    if mode == "extract":
        return Setting(mode, None)
    remote = assistant.models.remote
    return Setting(mode, assistant.settings.generator if remote is None else remote.model)


def _earlier(
    assistant: "Assistant", setting: Setting, against: str | None
) -> Sequence[Outcome] | None:
    """What an earlier run wrote; None where there is none to be read.

    Raises:
        UsageError, NotFound, ModelMissing, Unreadable: it cannot be compared with, before anything
            is asked.
    """
    if against is None:
        return None
    if against.endswith(EARLIER):
        return read_outcomes(Path(against))
    if against in (setting.mode, setting.generator):
        raise UsageError(f"{against} is what is measured ({setting}): compare with another")
    if against not in get_args(AnswerMode):
        if setting.mode == "extract":
            raise UsageError(
                f"mode extract asks no generator, {against} would change nothing: measure --mode "
                "auto or generate"
            )
        locate(against, assistant.settings.models_dir)
    return None


def _otherwise(
    assistant: "Assistant", sitting: Sitting, setting: Setting, against: str
) -> Sequence[Outcome]:
    """The same questions in another mode, or to another generator."""
    for mode in get_args(AnswerMode):
        if mode == against:
            return sitting.outcomes(assistant, _setting(assistant, mode))
    changes = {"generator": lasting(against), "generator_url": None}
    with type(assistant).open(assistant.settings.model_copy(update=changes)) as other:
        return sitting.outcomes(other, Setting(setting.mode, against))


@contextmanager
def _rows(out: Path | None) -> Iterator[Callable[[Setting, Outcome], None]]:
    """Writes each outcome at once: what was asked so far outlives a run that is stopped."""
    if out is None:
        yield lambda _setting, _outcome: None
        return
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out.absolute().parent} is not there, to write {out.name} into: make it")
    with out.open("w", encoding="utf-8") as file:

        def keep(setting: Setting, outcome: Outcome) -> None:
            file.write(json.dumps(row(setting, outcome), ensure_ascii=False) + "\n")
            file.flush()

        yield keep
