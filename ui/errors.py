"""What a reader is told of an error."""

import logging

from index import StorageError
from index.errors import (
    BadArchive,
    CollectionBusy,
    CollectionExists,
    ModelMismatch,
    StorageBusy,
    UnknownCollection,
)
from rag.errors import (
    AttestError,
    EngineError,
    FetchError,
    ModelMissing,
    NotFound,
    TooLong,
    Unreadable,
    UsageError,
)
from ui.locale import Texts

_log = logging.getLogger(__name__)

# The words that a reader of another language than the messages' has beside them.
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (StorageBusy, "error.busy"),
    (CollectionBusy, "error.working"),
    (CollectionExists, "error.taken"),
    (ModelMismatch, "error.mismatch"),
    (BadArchive, "error.unreadable"),
    (StorageError, "error.storage"),
    (UsageError, "error.usage"),
    (NotFound, "error.missing"),
    (ModelMissing, "error.model"),
    (TooLong, "error.long"),
    (Unreadable, "error.unreadable"),
    (FetchError, "error.fetch"),
    (EngineError, "error.engine"),
    (AttestError, "error.general"),
)


def explained(error: Exception, words: Texts) -> str:
    """The error's own message where it was raised on purpose; anything else goes to the log.

    Messages are English, for they name commands and settings. A reader of another language is told
    first what it is about.
    """
    if isinstance(error, UnknownCollection):
        return words("error.empty")  # the one at hand, which the first file makes
    for kind, key in _KINDS:
        if isinstance(error, kind):
            return words(key, message=error)
    _log.error("the page could not do what was asked", exc_info=error)
    return words("error.unexpected")
