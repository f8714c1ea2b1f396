"""The archive that an EPUB book is: its parts by name, within limits, unless they are locked."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rag.loaders.errors import BrokenFile, UnsupportedFile

_MOST_UNPACKED = 1_000_000_000  # bytes
_MOST_RATIO = 200  # pages pack 5 to 30 times; a bomb packs 1,000 times
_SMALL = 50_000_000  # bytes that any file may unpack to
_MOST_PARTS = 50_000


class Parts:
    """The parts of an archive. Reading one raises KeyError where there is none of the name."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.casefold(): name for name in reversed(archive.namelist())}

    def read(self, name: str) -> bytes:
        names = self._archive.NameToInfo
        return self._archive.read(name if name in names else self._names[name.casefold()])

    def xml(self, name: str) -> Any:
        """Gives the root of an XML part; nothing outside of it is read, no entity resolved."""
        from lxml import etree

        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, recover=True
        )
        try:
            root = etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError:  # nothing could be recovered
            root = None
        if root is None:
            raise BrokenFile(f"the file is damaged: its part {name} is no XML")
        return root


@contextmanager
def open_parts(data: bytes) -> Iterator[Parts]:
    """Raises BrokenFile for what is no archive, UnsupportedFile for one that is too large."""
    if not data.startswith(b"PK"):
        raise BrokenFile("the file is damaged or no EPUB book")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_size(archive, len(data))
        yield Parts(archive)


def _check_size(archive: zipfile.ZipFile, size: int) -> None:
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    most = max(_SMALL, min(_MOST_UNPACKED, _MOST_RATIO * size))
    if unpacked > most or len(members) > _MOST_PARTS:
        raise UnsupportedFile(
            f"the file unpacks from {size:,} to {unpacked:,} bytes in {len(members):,} parts; "
            f"at most {most:,} bytes in {_MOST_PARTS:,} parts are read from a file of its size"
        )
