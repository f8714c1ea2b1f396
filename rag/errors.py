"""Everything that the product raises on purpose, as one tree.

    AttestError          exit 1   HTTP 500
    ├── UsageError       exit 2   HTTP 422   an argument or a setting that cannot be
    ├── NotFound         exit 1   HTTP 404   no such document, collection or model
    ├── ModelMissing     exit 1   HTTP 503   a known model that is not on this machine yet
    ├── TooLong          exit 1   HTTP 413   more than fits; the message names both numbers
    ├── Unreadable       exit 1   HTTP 422   a named file that cannot be read
    ├── FetchError       exit 1   HTTP 502   a model that no source would give
    └── EngineError      exit 1   HTTP 502   a generator, cluster or store that breaks off

The message is for the person at the keyboard: it names the numbers and the remedy. The command
line exits with `exit_code`, the HTTP service answers with `http_status`.
"""

from typing import ClassVar


class AttestError(Exception):
    """The root: what an edge catches to show a message instead of a traceback."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class UsageError(AttestError):
    exit_code = 2
    http_status = 422


class NotFound(AttestError):
    http_status = 404


class ModelMissing(AttestError):
    http_status = 503


class TooLong(AttestError):
    http_status = 413


class Unreadable(AttestError):
    http_status = 422


class FetchError(AttestError):
    http_status = 502


class EngineError(AttestError):
    http_status = 502
