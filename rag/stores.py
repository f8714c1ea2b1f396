"""Documents in object stores: listed with size and time, fetched only where they may have changed.

A store is looked into only where a person at the command line names its URL. fsspec speaks to it,
with the credentials that its own configuration and environment give.
"""

import os
import re
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self

from rag.errors import EngineError, NotFound, UsageError
from rag.loaders import LARGEST, UnsupportedFile, shown_name
from rag.loaders.formats import supported
from rag.loaders.names import is_junk
from rag.loaders.zip_names import safe_file_name
from rag.loaders.zips import MOST_UNPACKED
from rag.sources import Source, members, moment

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # one letter would be a disk of Windows
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")  # as stores name it
_AT_ONCE = 16  # objects that are fetched ahead: it is the wait for each that takes long
_SETTLED_S = 5.0  # an object that is younger may change within the second, and is fetched again


@dataclass(frozen=True, slots=True)
class StoredObject:
    """What a store says of a document."""

    key: str  # as the store has it
    url: str  # under which it is catalogued
    size: int  # bytes
    modified: float | None  # seconds since 1970; None where the store does not tell


def is_url(path: str) -> bool:
    return bool(_URL.match(path))


class Store:
    """What lies below a URL."""

    def __init__(
        self, files: "AbstractFileSystem", url: str, objects: tuple[StoredObject, ...]
    ) -> None:
        self.url = url
        self.objects = objects
        self._files = files
        self._listed = time.time()

    @classmethod
    def open(cls, url: str, *, ocr: bool = False) -> Self:
        """List what can be read below a URL, hidden objects and other formats left out.

        Raises:
            UsageError: fsspec knows no such kind of URL.
            NotFound: nothing is there.
            EngineError: the store cannot be asked.
        """
        from fsspec.core import url_to_fs

        with _reached(url):
            files, root = url_to_fs(url)
            files.invalidate_cache()
            found: dict[str, dict[str, Any]] = files.find(root, detail=True)
        if not found:
            raise NotFound(f"{url}: no such bucket or folder, or nothing is in it")
        top = shown_name(files.unstrip_protocol(root)).rstrip("/")
        suffixes = supported(ocr=ocr)
        objects = [
            StoredObject(key, shown_name(files.unstrip_protocol(key)), int(info["size"]), _of(info))
            for key, info in found.items()
        ]
        kept = [each for each in objects if each.url == top or _counts(each.url, top, suffixes)]
        return cls(files, top, tuple(sorted(kept, key=lambda each: each.url)))

    def sources(
        self, scratch: Path, same: Callable[[StoredObject, str], bool], *, ocr: bool = False
    ) -> Iterator[Source]:
        """The documents, in order; archives give their members.

        Args:
            scratch: a folder for what is fetched
            same: whether an object of this size and moment is in the library already
        """
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fetching") as threads:
            ahead: deque[Source | tuple[StoredObject, Future[Source]]] = deque()
            try:
                for number, each in enumerate(self.objects):
                    into = scratch / "fetched" / f"{number:07}"
                    ahead.append(
                        self._refused(each, same)
                        or (each, threads.submit(self._fetched, each, into))
                    )
                    while len(ahead) > _AT_ONCE or (ahead and isinstance(ahead[0], Source)):
                        yield from _given(ahead.popleft(), scratch, ocr=ocr)
                while ahead:
                    yield from _given(ahead.popleft(), scratch, ocr=ocr)
            finally:
                threads.shutdown(wait=False, cancel_futures=True)

    def holds(self, path: str) -> bool:
        """Whether a catalogued path is one of the objects, or a member of one."""
        urls = {each.url for each in self.objects}
        parts = path.split("/")
        return any("/".join(parts[:n]) in urls for n in range(len(parts), 3, -1))

    def _refused(
        self, each: StoredObject, same: Callable[[StoredObject, str], bool]
    ) -> Source | None:
        """What is said of an object without fetching it."""
        if each.modified is not None and same(each, moment(each.modified)):
            return Source(None, each.url, as_before=True)
        most = MOST_UNPACKED if each.url.lower().endswith(".zip") else LARGEST
        if each.size > most:
            reason = f"the file has {each.size:,} bytes; at most {most:,} are read: split it"
            return Source(None, each.url, UnsupportedFile(reason))
        return None

    def _fetched(self, each: StoredObject, into: Path) -> Source:
        into.mkdir(parents=True)
        file = into / safe_file_name(PurePosixPath(each.url).name)
        try:
            self._files.get_file(each.key, str(file))
        except Exception as error:  # each kind of store raises its own
            return Source(None, each.url, missing=f"it cannot be fetched: {_line(error)}")
        if each.modified is not None:  # by which it is known again
            settled = self._listed - each.modified > _SETTLED_S
            when = each.modified if settled else each.modified + 1
            os.utime(file, (when, when))
        return Source(file, each.url, temporary=True)


def _given(
    item: "Source | tuple[StoredObject, Future[Source]]", scratch: Path, *, ocr: bool
) -> Iterator[Source]:
    source = item if isinstance(item, Source) else item[1].result()
    if source.file is None or source.file.suffix.lower() != ".zip":
        yield source
        return
    try:
        yield from members(source.file, source.path, scratch, ocr=ocr)
    finally:
        source.discard()


def _counts(url: str, top: str, suffixes: frozenset[str]) -> bool:
    """Whether walking a folder of this name would come by it."""
    below = PurePosixPath(url.removeprefix(f"{top}/"))
    return below.suffix.lower() in suffixes and not any(map(is_junk, below.parts))


def _of(info: dict[str, Any]) -> float | None:
    match next((info[name] for name in _TIMES if info.get(name) is not None), None):
        case datetime() as when:
            return when.timestamp()
        case int() | float() as seconds:
            return float(seconds)
        case str() as text:
            return datetime.fromisoformat(text).timestamp()
        case _:
            return None


@contextmanager
def _reached(url: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        extra = "'attest-rag[s3]'" if url.startswith(("s3:", "s3a:")) else "what it names"
        raise EngineError(f"{url} needs a package ({_line(error)}): pip install {extra}") from error
    except FileNotFoundError as error:
        raise NotFound(f"{url}: no such bucket or folder ({_line(error)})") from error
    except ValueError as error:
        raise UsageError(f"{url}: {_line(error)}") from error
    except Exception as error:  # each kind of store raises its own
        raise EngineError(
            f"{url} cannot be listed ({_line(error)}): see that its address and credentials are "
            "set in the environment (of s3: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
            "AWS_ENDPOINT_URL)"
        ) from error


def _line(error: BaseException) -> str:
    said = " ".join(unicodedata.normalize("NFC", str(error)).split())
    return said or type(error).__name__
