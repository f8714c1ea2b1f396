"""What an archive is: a ZIP of JSON lines and raw vectors that no database's ids are in.

    manifest.json                     format, version, and for each collection its name, model,
                                      fusion weight, how many lines and vectors it has, and what
                                      was fitted to it and measured of it
    collections/0/documents.jsonl     one document a line, those with chunks first
    collections/0/chunks.jsonl        their chunks in the same order, as offsets into their texts
    collections/0/vectors.f16         the vectors of the chunks that have one, float16, end to end
    collections/0/adapter.bin         what its model was taught, where that is in use
    collections/0/questions.jsonl     the questions asked, with judgements, where they came along
    collections/0/conversations.jsonl conversations with their messages, likewise; documents and
                                      passages go by their places in documents and chunks, from 1
    files/uploads/…                   files that lie in the home itself

A path inside the home is kept relative to it. An archive comes from anywhere: whatever is read
here is checked, and what is wrong with it is raised as BadArchive.
"""

import re
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, cast, get_args

from index.archive_fields import SHORT, Fields, brief
from index.archive_learned import ArchivedAdapter, read_adapter
from index.archive_talks import read_calibration, read_evaluation
from index.errors import BadArchive
from index.records import Chunk, Model, Status

FORMAT = "attest-archive"
VERSION = 3  # 1 had neither adapters nor questions, 2 nothing of archive_talks; both are read
MANIFEST = "manifest.json"
FILES = "files/"
PARTS = ("documents.jsonl", "chunks.jsonl", "vectors.f16")
ADAPTER = "adapter.bin"
QUESTIONS = "questions.jsonl"
CONVERSATIONS = "conversations.jsonl"
UPLOADS = "uploads"  # the only folder of a home that an archive may bring files for

_SHA256 = re.compile(r"[0-9a-f]{64}")


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
    rerank_weight: float = 0.0
    adapter: ArchivedAdapter | None = None
    questions: int | None = None  # None where they stayed behind
    conversations: int | None = None  # likewise
    calibrations: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def parts(self) -> list[str]:
        more = {
            ADAPTER: self.adapter,
            QUESTIONS: self.questions,
            CONVERSATIONS: self.conversations,
        }
        return [*PARTS, *(part for part, there in more.items() if there is not None)]

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
    if not 1 <= version <= VERSION:
        raise BadArchive(
            f"it is of version {version}, this program reads versions up to {VERSION}: "
            "update Attest where it is read"
        )
    found = [_collection(each, version) for each in fields.list("collections")]
    names = [collection.name for collection in found]
    if len(set(names)) < len(names):
        raise BadArchive(f"it names a collection twice: {', '.join(sorted(names))}")
    return found


def _collection(value: object, version: int) -> ArchivedCollection:
    fields = Fields("a collection of the manifest", value)
    given = Fields("a model of the manifest", fields.raw("model"))
    model = Model(
        given.name("name"),
        given.string("fingerprint", longest=128),
        given.integer("dimensions", least=1, most=1 << 16),
    )
    learned: dict[str, Any] = {}
    if version > 1:
        questions = fields.raw("questions")
        learned = {
            "rerank_weight": _weight(fields, "rerank_weight"),
            "adapter": read_adapter(fields.raw("adapter"), model.fingerprint),
            "questions": None if questions is None else fields.integer("questions"),
        }
    if version > 2:
        talks = fields.raw("conversations")
        learned |= {
            "conversations": None if talks is None else fields.integer("conversations"),
            "calibrations": list(map(read_calibration, fields.list("calibrations"))),
            "evaluations": list(map(read_evaluation, fields.list("evaluations"))),
        }
    return ArchivedCollection(
        name=fields.name("name"),
        model=model,
        fusion_weight=_weight(fields, "fusion_weight"),
        documents=fields.integer("documents"),
        chunks=fields.integer("chunks"),
        vectors=fields.integer("vectors"),
        **learned,
    )


def _weight(fields: Fields, key: str) -> float:
    weight = fields.raw(key)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        named = key.replace("_", " ")
        raise BadArchive(f"a {named} of the manifest is {brief(weight)}, not from 0 to 1")
    return float(weight)


def read_document(where: str, value: object) -> ArchivedDocument:
    fields = Fields(where, value)
    in_home = fields.boolean("in_home")
    path = fields.name("path", longest=1 << 15)
    document = ArchivedDocument(
        path=check_relative(where, path) if in_home else path,
        in_home=in_home,
        title=fields.string("title"),
        media_type=fields.string("media_type", longest=SHORT),
        sha256=fields.string("sha256"),
        size=fields.integer("size", most=2**63 - 1),
        status=cast("Status", fields.string("status")),
        reason=fields.optional_string("reason"),
        warnings=fields.strings("warnings"),
        added=fields.moment("added"),
        modified=None if fields.raw("modified") is None else fields.moment("modified"),
        tags=fields.strings("tags", longest=SHORT),
        chunks=fields.integer("chunks"),
        text=fields.optional_string("text"),
        layout=fields.optional_object("layout"),
    )
    _check_document(where, document)
    return document


def _check_document(where: str, document: ArchivedDocument) -> None:
    if document.status not in get_args(Status):
        raise BadArchive(f"{where} has the status {brief(document.status)}")
    if not _SHA256.fullmatch(document.sha256):
        raise BadArchive(f"{where} has the hash {brief(document.sha256)}")
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
        raise BadArchive(f"{where} has the path {brief(path)}, which leads out of the home")
    return path
