"""What a reader is told of an error."""

import logging

from index import StorageError
from index.errors import UnknownCollection
from rag.errors import AttestError
from ui.locale import Texts

_log = logging.getLogger(__name__)


def explained(error: Exception, words: Texts) -> str:
    """The error's own message where it was raised on purpose; anything else goes to the log."""
    if isinstance(error, UnknownCollection):
        return words("error.empty")  # the one at hand, which the first file makes
    if isinstance(error, AttestError | StorageError):
        return str(error)
    _log.error("the page could not do what was asked", exc_info=error)
    return words("error.unexpected")
