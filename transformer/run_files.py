"""The folder that a run works in: one process at a time, and nothing half written in it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from transformer.errors import TrainingError
from transformer.journal import unwritable


@contextmanager
def alone(work: Path) -> Iterator[None]:
    """Keep a second run away from the same files, and remove what a killed one had half written.

    Raises:
        TrainingError: another process works there, or it cannot be written.
    """
    lock = FileLock(work / "run.lock", timeout=0)
    try:
        held = lock.acquire()
    except Timeout as error:
        raise TrainingError(
            f"{work} is being worked on by another process: wait for its end, or give another "
            "folder"
        ) from error
    except OSError as error:
        raise unwritable(work, error) from error
    with held:
        _clear(work)
        yield


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """What cannot be written, as an error that names it."""
    try:
        yield
    except OSError as error:
        raise unwritable(file, error) from error


def beside(file: Path, origin: Path) -> Path:
    """A path of a config file: from the config's folder, or else from the working folder."""
    found = origin / file
    return found if found.exists() else file


def _clear(work: Path) -> None:
    for left in list(work.rglob(".*.tmp")):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
