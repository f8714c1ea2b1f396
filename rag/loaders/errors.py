"""Why a file could not become text. The message is the reason that a person reads.

LoadError
├── EmptyFile         there is nothing to read in it           status empty
├── UnsupportedFile   another format, or past a limit          status unsupported
└── BrokenFile        damaged, locked, or not what it says     status failed
"""

from typing import ClassVar, Literal


class LoadError(Exception):
    """The root; `status` is what the catalogue keeps for the file."""

    status: ClassVar[Literal["empty", "unsupported", "failed"]] = "failed"


class EmptyFile(LoadError):
    status = "empty"


class UnsupportedFile(LoadError):
    status = "unsupported"


class BrokenFile(LoadError):
    status = "failed"
