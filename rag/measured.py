"""What a library was measured at, kept with it: figures of `attest eval`, no word of a question.

They are shown beside each other on the page, so that a change of models or weights can be seen.
"""

import logging
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from index import StorageError
from index.records import EvaluationKind
from rag import answer_evaluation_file, evaluation_file

if TYPE_CHECKING:
    from rag.answer_evaluation import AnswerEvaluation
    from rag.assistant import Assistant
    from rag.evaluate import Evaluation

_RETRIEVAL = ("encoder", "fingerprint", "documents", "queries", "fusion_weight", "sides")
_ANSWERS = ("encoder", "mode", "generator", "questions", "groups")

_log = logging.getLogger(__name__)


def keep_retrieval(assistant: "Assistant", made: "Evaluation") -> dict[str, Any] | None:
    """The figures that were kept; None where a library of its own was measured."""
    if made.collection is None:
        return None
    shape = evaluation_file.evaluation(made)
    return _keep(assistant, made.collection, "retrieval", made.data, shape, _RETRIEVAL)


def keep_answers(assistant: "Assistant", made: "AnswerEvaluation") -> dict[str, Any]:
    """The figures that were kept."""
    shape = answer_evaluation_file.evaluation(made)
    return _keep(assistant, made.collection, "answers", made.data, shape, _ANSWERS)


def _keep(
    assistant: "Assistant",
    collection: str,
    kind: EvaluationKind,
    data: str,
    shape: Mapping[str, Any],
    names: tuple[str, ...],
) -> dict[str, Any]:
    figures = {"data": PurePath(data).name} | {name: shape[name] for name in names}
    try:
        assistant.catalog.keep_evaluation(collection, kind, figures)
    except StorageError as error:  # what took minutes to measure is told all the same
        _log.warning("an evaluation was not kept: %s", error)
    return figures
