"""What an archive is: a ZIP of JSON lines and raw vectors that no database's ids are in.

    manifest.json                     format, version, and for each collection its name, model,
                                      fusion weight and how many lines and vectors it has
    collections/0/documents.jsonl     one document a line, those with chunks first
    collections/0/chunks.jsonl        their chunks in the same order, as offsets into their texts
    collections/0/vectors.f16         the vectors of the chunks that have one, float16, end to end
    files/uploads/…                   files that lie in the home itself

A path inside the home is kept relative to it. An archive comes from anywhere: whatever is read
here is checked, and what is wrong with it is raised as BadArchive.
"""

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, TypeVar, cast, get_args

from index.errors import BadArchive
from index.records import Chunk, Model, Status

FORMAT = "attest-archive"
VERSION = 1
MANIFEST = "manifest.json"
FILES = "files/"
PARTS = ("documents.jsonl", "chunks.jsonl", "vectors.f16")
UPLOADS = "uploads"  # the only folder of a home that an archive may bring files for

_SHORT = 255  # characters; what the columns of names hold
_INTEGER = 2**31 - 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_T = TypeVar("_T")


def member(number: int, part: str) -> str:
    return f"collections/{number}/{part}"


@dataclass(frozen=True, slots=True)
class ArchivedCollection:
    name: str
    model: Model
    fusion_weight: float
    documents: int
    chunks: int
    vectors: int

    def written(self) -> dict[str, Any]:
        return asdict(self) | {"model": self.model._asdict()}


@dataclass(frozen=True, slots=True)
class ArchivedDocument:
    path: str
    in_home: bool  # the path is relative to the home
    title: str
    media_type: str
    sha256: str
    size: int
    status: Status
    reason: str | None
    warnings: tuple[str, ...]
    added: str
    modified: str | None
    tags: tuple[str, ...]
    chunks: int
    text: str | None
    layout: dict[str, Any] | None

    def written(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ArchivedChunk:
    start: int
    end: int
    page: int | None
    heading: tuple[str, ...]
    tokens: int
    has_vector: bool

    def written(self) -> dict[str, Any]:
        return asdict(self)

    def cut(self, text: str) -> Chunk:
        slice_ = text[self.start : self.end]
        return Chunk(slice_, self.start, self.end, self.page, self.heading, self.tokens)


def read_manifest(value: object) -> list[ArchivedCollection]:
    """The collections. Raises BadArchive where the archive is of another kind or version."""
    fields = Fields("the manifest", value)
    if fields.raw("format") != FORMAT:
        raise BadArchive(f"its format is {fields.raw('format')!r}, not {FORMAT!r}")
    version = fields.integer("version")
    if version != VERSION:
        raise BadArchive(
            f"it is of version {version}, this program reads version {VERSION}: "
            "update Attest where it is read or where it was written"
        )
    found = [_collection(each) for each in fields.list("collections")]
    names = [collection.name for collection in found]
    if len(set(names)) < len(names):
        raise BadArchive(f"it names a collection twice: {', '.join(sorted(names))}")
    return found


def _collection(value: object) -> ArchivedCollection:
    fields = Fields("a collection of the manifest", value)
    model = Fields("a model of the manifest", fields.raw("model"))
    weight = fields.raw("fusion_weight")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise BadArchive(f"a fusion weight of the manifest is {_brief(weight)}, not from 0 to 1")
    return ArchivedCollection(
        name=fields.name("name"),
        model=Model(
            model.name("name"),
            model.string("fingerprint", longest=128),
            model.integer("dimensions", least=1, most=1 << 16),
        ),
        fusion_weight=float(weight),
        documents=fields.integer("documents"),
        chunks=fields.integer("chunks"),
        vectors=fields.integer("vectors"),
    )


def read_document(where: str, value: object) -> ArchivedDocument:
    fields = Fields(where, value)
    in_home = fields.boolean("in_home")
    path = fields.name("path", longest=1 << 15)
    document = ArchivedDocument(
        path=check_relative(where, path) if in_home else path,
        in_home=in_home,
        title=fields.string("title"),
        media_type=fields.string("media_type", longest=_SHORT),
        sha256=fields.string("sha256"),
        size=fields.integer("size", most=2**63 - 1),
        status=cast("Status", fields.string("status")),
        reason=fields.optional_string("reason"),
        warnings=fields.strings("warnings"),
        added=fields.moment("added"),
        modified=None if fields.raw("modified") is None else fields.moment("modified"),
        tags=fields.strings("tags", longest=_SHORT),
        chunks=fields.integer("chunks"),
        text=fields.optional_string("text"),
        layout=fields.optional_object("layout"),
    )
    _check_document(where, document)
    return document


def _check_document(where: str, document: ArchivedDocument) -> None:
    if document.status not in get_args(Status):
        raise BadArchive(f"{where} has the status {_brief(document.status)}")
    if not _SHA256.fullmatch(document.sha256):
        raise BadArchive(f"{where} has the hash {_brief(document.sha256)}")
    if (document.status == "indexed") != (document.chunks > 0 and document.text is not None):
        text = "no text" if document.text is None else f"{len(document.text)} characters"
        raise BadArchive(f"{where} is {document.status}, with {document.chunks} chunks and {text}")


def read_chunk(where: str, value: object, text: str) -> ArchivedChunk:
    fields = Fields(where, value)
    start, end = fields.integer("start"), fields.integer("end")
    if not start < end <= len(text):
        raise BadArchive(f"{where} is [{start}:{end}] of a text of {len(text)} characters")
    page = fields.raw("page")
    return ArchivedChunk(
        start=start,
        end=end,
        page=None if page is None else fields.integer("page"),
        heading=fields.strings("heading"),
        tokens=fields.integer("tokens"),
        has_vector=fields.boolean("has_vector"),
    )


def check_relative(where: str, path: str) -> str:
    """The path, if it leads nowhere but into the folder that it is relative to, on any system."""
    parts = PurePosixPath(path).parts
    windows = PureWindowsPath(path)
    astray = windows.drive or windows.root or ".." in windows.parts or path.startswith("/")
    if not parts or astray or "\\" in path or ":" in path:
        raise BadArchive(f"{where} has the path {_brief(path)}, which leads out of the home")
    return path


class Fields:
    """The members of a JSON object, each of the type that it is asked for as."""

    def __init__(self, where: str, value: object) -> None:
        self._where = where
        self._value = self._typed("", value, dict)

    def raw(self, key: str) -> object:
        if key not in self._value:
            raise BadArchive(f"{self._where} has no {key!r}")
        return self._value[key]

    def integer(self, key: str, *, least: int = 0, most: int = _INTEGER) -> int:
        value = self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._bad(key, value, f"a whole number from {least} to {most}")
        return value

    def boolean(self, key: str) -> bool:
        return self._typed(key, self.raw(key), bool)

    def string(self, key: str, *, longest: int | None = None) -> str:
        return self._text(key, self.raw(key), longest)

    def name(self, key: str, *, longest: int = _SHORT) -> str:
        found = self.string(key, longest=longest)
        if not found:
            raise self._bad(key, found, "a name")
        return found

    def optional_string(self, key: str) -> str | None:
        return None if self.raw(key) is None else self.string(key)

    def optional_object(self, key: str) -> dict[str, Any] | None:
        value = self.raw(key)
        if value is None:
            return None
        self._check_strings(key, value)
        return self._typed(key, value, dict)

    def list(self, key: str) -> list[Any]:
        return self._typed(key, self.raw(key), list)

    def strings(self, key: str, *, longest: int | None = None) -> tuple[str, ...]:
        return tuple(self._text(key, each, longest) for each in self.list(key))

    def moment(self, key: str) -> str:
        value = self.string(key, longest=32)
        try:
            datetime.fromisoformat(value)
        except ValueError:
            raise self._bad(key, value, "a time in ISO 8601") from None
        return value

    def _text(self, key: str, value: object, longest: int | None) -> str:
        text = self._typed(key, value, str)
        if longest is not None and len(text) > longest:
            raise BadArchive(
                f"{self._where} has a {key!r} of {len(text)} characters, {longest} at most"
            )
        if "\0" in text or not _is_encodable(text):
            raise self._bad(key, text, "text that a database can hold")
        return text

    def _check_strings(self, key: str, value: object) -> None:
        """Those of a nested value, whatever its shape."""
        stack = [value]
        while stack:
            match stack.pop():
                case str(text):
                    self._text(key, text, None)
                case dict(members):
                    stack += [*members.keys(), *members.values()]
                case list(members):
                    stack += members

    def _typed(self, key: str, value: object, kind: type[_T]) -> _T:
        if not isinstance(value, kind):
            raise self._bad(key, value, f"of type {kind.__name__}")
        return value

    def _bad(self, key: str, value: object, wanted: str) -> BadArchive:
        named = f"{self._where} has {key!r} {_brief(value)}" if key else f"{self._where} is a value"
        return BadArchive(f"{named}, not {wanted}")


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can spell
        return False
    return True


def _brief(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
