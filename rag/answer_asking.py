"""Questions put to a library one after the other, each answer marked as it comes."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rag.answer_marks import Outcome, marked
from rag.answer_questions import Question
from rag.errors import AttestError, ModelMissing, NotFound, Unreadable
from rag.records import AnswerMode

if TYPE_CHECKING:
    from rag.assistant import Assistant

_TEXTS = 8  # of documents that are read once for all citations of an answer


@dataclass(frozen=True, slots=True)
class Setting:
    """How questions are answered."""

    mode: AnswerMode
    generator: str | None  # None where nothing is written

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.mode, self.generator)))


@dataclass(frozen=True, slots=True)
class Sitting:
    """The same questions, for every setting that they are answered in."""

    questions: Sequence[Question]
    places: Mapping[str, frozenset[str]]  # by a question's id: paths of its document
    keep: Callable[[Setting, Outcome], None]  # told of each outcome as soon as it is there
    watch: Callable[[str, int, int], None]  # what is done, how much of it, of how much

    def outcomes(self, assistant: "Assistant", setting: Setting) -> list[Outcome]:
        """What becomes of each question, in order.

        Raises:
            NotFound, ModelMissing, Unreadable: a model is not there, or cannot be read.
            AttestError: not one question could be answered.
        """
        # What loads with the first question of a language must not count as its time.
        for last in {one.language: one for one in self.questions}.values():
            ask(assistant, last, setting.mode)
        outcomes = []
        for done, question in enumerate(self.questions, 1):
            places = self.places.get(question.id, frozenset())
            outcome = ask(assistant, question, setting.mode, places)
            self.keep(setting, outcome)
            outcomes.append(outcome)
            self.watch(f"asking, {setting}", done, len(self.questions))
        if all(one.error is not None for one in outcomes):
            raise AttestError(
                f"none of {len(outcomes)} questions could be answered ({setting}); the first, "
                f"line {outcomes[0].question.id}: {outcomes[0].error}"
            )
        return outcomes


def ask(
    assistant: "Assistant",
    question: Question,
    mode: AnswerMode,
    places: frozenset[str] = frozenset(),
) -> Outcome:
    """One answer, marked; a question that fails is an outcome too.

    Args:
        assistant: who is asked
        question: not kept among those that the library learns from
        mode: how it is answered
        places: paths of the document that holds the answer; empty where that is not known

    Raises:
        NotFound, ModelMissing, Unreadable: a model is not there, as for every other question.
    """
    began = time.perf_counter()
    try:
        given = assistant.ask(question.question, mode=mode, remember=False)
    except (NotFound, ModelMissing, Unreadable):
        raise
    except AttestError as error:
        return Outcome.failed(question, str(error))
    except Exception as error:  # one question must not cost a run of hours
        return Outcome.failed(question, f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - began
    text_of = lru_cache(maxsize=_TEXTS)(assistant.text)
    return marked(question, given, places, text_of, seconds=seconds)
