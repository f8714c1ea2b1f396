"""The questions that a library remembers on this machine, so that it can learn from its use."""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from index import StorageError
from index.records import Judgement
from rag.errors import TooLong, UsageError
from rag.loaders.cleaning import clean, is_blank
from rag.records import Answer

if TYPE_CHECKING:
    from rag.library import Library

LONGEST = 20_000  # characters of a question
_PATIENCE_S = 0.5  # that a question waits for a lock before it is let go

_log = logging.getLogger(__name__)


def remember(library: "Library", question: str, collection: str) -> None:
    """Count a question, unless that is switched off.

    Whoever asks gets an answer all the same: that a question could not be kept is only logged.
    """
    if not library.settings.remember_questions:
        return
    try:
        library.catalog.remember(collection, question, patience_s=_PATIENCE_S)
    except StorageError as error:
        _log.warning("a question was not remembered: %s", error)


def remembering(
    library: "Library", question: str, collection: str, pieces: Iterator[str | Answer]
) -> Iterator[str | Answer]:
    """The same pieces; the question is counted behind them, also where they were not all wanted."""
    try:
        yield from pieces
    finally:
        remember(library, question, collection)


def judge(
    library: "Library", question: str, chunk_id: int, kind: Judgement | None, collection: str
) -> bool:
    """Keep what was thought of a passage; False where remembering is switched off.

    Raises:
        UsageError, TooLong: this cannot have been a question.
        UnknownCollection, UnknownChunk: the passage is not there any more.
    """
    question, _ = clean(question)
    if is_blank(question):
        raise UsageError("the question is empty: send the one that the passage was shown for")
    if len(question) > LONGEST:
        raise TooLong(
            f"the question has {len(question)} characters, {LONGEST} are taken: shorten it"
        )
    if not library.settings.remember_questions:
        return False
    library.catalog.judge(collection, question, chunk_id, kind)
    return True
