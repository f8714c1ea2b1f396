"""Formats that are ZIP archives of XML parts: what one may hold, checked before it is unpacked.

The sizes that count are those that the archive declares: `zipfile` gives out no more of a part than
that. Archives inside the archive are never opened, so a bomb inside one does nothing.
"""

import io
import re
import zipfile
from dataclasses import dataclass
from itertools import pairwise
from typing import IO
from xml.parsers import expat

from rag.loaders.errors import BrokenFile, UnsupportedFile

COMPOUND = (
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how an OLE file begins: old or locked Office, HWP 5
)
LOCKED = "the file is locked with a password: save a copy without a password (암호) and add that"
MOST_PARTS = 20_000  # a presentation of 1,000 slides has about 5,000
_MOST_UNPACKED = 1_000_000_000  # bytes
_MOST_RATIO = 200  # XML packs 10 to 30 times; a bomb packs 1,000 times
_SMALL = 50_000_000  # bytes that any file may unpack to
_HEADER = 30  # bytes before a part's name
_LOCKED_STREAM = "EncryptedPackage".encode("utf-16-le")
_DIRECTORY_ENTRY = b"PK\x01\x02"
_ENCRYPTED = 1  # flag of a part
_XML = (".xml", ".rels", ".hpf")
_PIECE = 64 * 1024
_OUTSIDE = re.compile(r"[/\\]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)")


@dataclass(frozen=True, slots=True)
class PackageFormat:
    """What tells one format from another, in its archive and in a reason."""

    name: str
    suffix: str
    old_suffix: str  # of the binary format before it
    top: str  # a folder or file that it has at the top of its archive
    largest_part: int  # bytes of XML; a tree in memory takes about 8 times that


DOCX = PackageFormat("Word document", ".docx", ".doc", "word", 100_000_000)
PPTX = PackageFormat("PowerPoint presentation", ".pptx", ".ppt", "ppt", 100_000_000)
XLSX = PackageFormat("Excel workbook", ".xlsx", ".xls", "xl", 500_000_000)
HWPX = PackageFormat(
    "HWPX document", ".hwpx", ".hwp", "Contents", 32_000_000
)  # dochan reads no more
ODF = PackageFormat(
    "OpenDocument file", ".odt, .ods or .odp", ".sxw, .sxc or .sxi", "content.xml", 100_000_000
)
_FORMATS = (DOCX, PPTX, XLSX, HWPX, ODF)


def open_package(data: bytes, wanted: PackageFormat) -> zipfile.ZipFile:
    """Gives the archive of a file that can be unpacked safely.

    Raises:
        BrokenFile: It is locked, damaged, of another format, or has parts that no such file has.
        UnsupportedFile: It has more parts or unpacks to more than is read.
    """
    _check_container(data, wanted)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        _check_parts(archive.infolist(), len(data), wanted)
        for part in archive.infolist():
            if part.filename.lower().endswith(_XML):
                _check_no_dtd(archive, part)
    except (BrokenFile, UnsupportedFile):
        raise
    except Exception as error:  # zipfile and zlib raise whatever the damage leads to
        raise BrokenFile(f"the file is damaged or no {wanted.name}") from error
    return archive


def _check_container(data: bytes, wanted: PackageFormat) -> None:
    if data.startswith(COMPOUND):
        if _LOCKED_STREAM in data:
            raise BrokenFile(LOCKED)
        raise BrokenFile(
            f"the file is of an older format than {wanted.suffix} under a new name: "
            f"give it its suffix back ({wanted.old_suffix}), or save it as a {wanted.suffix}"
        )
    n_parts = data.count(_DIRECTORY_ENTRY)  # before the directory is read into memory
    if n_parts > MOST_PARTS:
        raise UnsupportedFile(
            f"the file is an archive of {n_parts:,} parts; at most {MOST_PARTS:,} are read"
        )


def _check_parts(parts: list[zipfile.ZipInfo], size: int, wanted: PackageFormat) -> None:
    for part in parts:
        if _OUTSIDE.match(part.filename):
            raise BrokenFile(
                f"the file holds a part named {part.filename!r}, outside of its own folders: "
                f"no {wanted.name} has that"
            )
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise BrokenFile(LOCKED)
    places = sorted(parts, key=lambda part: part.header_offset)
    if any(
        a.header_offset + _HEADER + a.compress_size > b.header_offset for a, b in pairwise(places)
    ):
        raise BrokenFile("the file is damaged: parts of the archive overlap")
    _check_sizes(parts, size, wanted)
    _check_format({part.filename for part in parts}, wanted)


def _check_sizes(parts: list[zipfile.ZipInfo], size: int, wanted: PackageFormat) -> None:
    unpacked = sum(part.file_size for part in parts)
    most = max(_SMALL, min(_MOST_UNPACKED, _MOST_RATIO * size))
    if unpacked > most:
        raise UnsupportedFile(
            f"the file unpacks from {size:,} to {unpacked:,} bytes; "
            f"at most {most:,} are read from a file of its size"
        )
    for part in parts:
        if part.filename.lower().endswith(_XML) and part.file_size > wanted.largest_part:
            raise UnsupportedFile(
                f"{part.filename} in the file has {part.file_size:,} bytes; "
                f"at most {wanted.largest_part:,} are read: split the document"
            )


def _check_format(names: set[str], wanted: PackageFormat) -> None:
    tops = {name.replace("\\", "/").split("/")[0].lower() for name in names}
    if wanted.top.lower() in tops:
        return
    for other in _FORMATS:
        if other.top.lower() in tops:
            raise BrokenFile(
                f"the file is not a {wanted.suffix} but a {other.name}: "
                f"give it the suffix {other.suffix}"
            )
    raise BrokenFile(f"the file is a ZIP archive, but no {wanted.name}")


class _RootReached(Exception):
    pass


def _check_no_dtd(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Refuses entities, which can grow without end or read other files. Office files have none."""

    def refuse(*_: object) -> None:
        raise BrokenFile(
            f"{part.filename} in the file defines entities of its own (a DTD), "
            "which no office program writes; it could be an attack and is not read"
        )

    def stop(*_: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    with archive.open(part) as file:
        try:
            while piece := file.read(_PIECE):
                parser.Parse(piece)
        except _RootReached:
            return
        except (expat.ExpatError, ValueError):  # damaged, or in an encoding of many bytes
            if b"<!DOCTYPE" in piece:
                refuse()


def open_part(archive: zipfile.ZipFile, name: str) -> IO[bytes] | None:
    """Opens a part by its name in whatever case and with whatever slashes; None without one."""
    wanted = name.lstrip("/").lower()
    for part in archive.infolist():
        if part.filename.replace("\\", "/").lower() == wanted:
            return archive.open(part)
    return None
