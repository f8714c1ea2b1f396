"""What goes into the library and what comes out: frozen records, no rows, no library types.

Scores are higher-is-better everywhere. Offsets count code points of the stored NFC text, so that
`text[chunk.start:chunk.end] == chunk.text` holds for every chunk of a document.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Status = Literal["indexed", "duplicate", "empty", "unsupported", "failed"]
Side = Literal["text", "vector"]  # of a chunk: what the lexical and the dense index follow
Judgement = Literal["opened", "up", "down"]  # of a chunk that was shown for a question
MessageState = Literal["stopped", "answered", "failed"]  # stopped also while it is being answered
EvaluationKind = Literal["retrieval", "answers"]
Ids = Sequence[int] | NDArray[np.int64]


class Model(NamedTuple):
    """Which encoder made a vector. Only vectors of one fingerprint compare."""

    name: str
    fingerprint: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class StoredCollection:
    """A named set of documents whose vectors all come from one model."""

    id: int
    name: str
    model: Model
    fusion_weight: float  # of the dense side: 0 is lexical only, 1 is dense only
    uid: str  # differs between two databases even where the id is the same
    adapter_id: int | None = None  # what the model was taught since, and is in use
    rerank_weight: float = 0.0  # of the generator's likelihood beside the fused score: 0 is off


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a document's text, small enough for the encoder."""

    text: str
    start: int
    end: int
    page: int | None  # 1-based; None where the format has no pages
    heading: tuple[str, ...]  # from the outermost heading to the innermost
    tokens: int  # of the encoded text, with title, heading and special tokens


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document that was read and chunked, ready to be stored."""

    path: str
    title: str
    media_type: str
    sha256: str
    size: int  # bytes of the file
    text: str
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...] = ()
    modified: str | None = None  # ISO 8601, UTC: when the file was last written
    layout: dict[str, Any] = field(default_factory=dict)  # for who cuts the text again; kept as is


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file that could not be made searchable: it keeps a row with the reason and nothing else."""

    path: str
    title: str
    media_type: str
    sha256: str
    size: int
    status: Literal["empty", "unsupported", "failed"]
    reason: str
    warnings: tuple[str, ...] = ()
    modified: str | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document's row in the catalogue, without its text."""

    id: int
    path: str
    title: str
    media_type: str
    sha256: str
    size: int
    status: Status
    reason: str | None
    warnings: tuple[str, ...]
    chunks: int
    added: str  # ISO 8601, UTC
    pending: int = 0  # chunks that are found by their words only, until they have a vector
    modified: str | None = None  # ISO 8601, UTC: when the file was last written
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What a collection knows of a file before it is read."""

    here: StoredDocument | None = None  # the document of its path
    same: tuple[StoredDocument, ...] = ()  # documents of its content, by ascending id


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents a search stays within: those that meet every condition that is given."""

    documents: tuple[int, ...] | None = None  # ids
    paths: tuple[str, ...] = ()  # glob patterns, one of which the path or its end matches
    media_types: tuple[str, ...] = ()  # one of these; text/* is any kind of text
    tags: tuple[str, ...] = ()  # all of these
    since: str | None = None  # ISO 8601 date or time of the file, at the earliest
    until: str | None = None  # at the latest, the whole day where it is a date


@dataclass(frozen=True, slots=True)
class StoredText:
    """A document with its text, as it is cut anew for another model."""

    id: int
    path: str
    title: str
    media_type: str
    sha256: str
    text: str
    layout: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WaitingChunk:
    """A chunk that has no vector yet."""

    id: int
    title: str  # found in the document, else ""
    heading: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with its id and the document that it belongs to."""

    id: int
    document: StoredDocument
    text: str
    start: int
    end: int
    page: int | None
    heading: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """What one index found: chunk ids, best first, with the index's own raw scores."""

    ids: NDArray[np.int64]  # (k,)
    scores: NDArray[np.float32]  # (k,) cosine for dense, BM25 for lexical


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """How common words are in a collection."""

    chunks: int  # in the collection
    counts: dict[str, int]  # chunks that hold the word, by word

    def weight(self, word: str) -> float:
        """The word's inverse document frequency, as BM25 has it: 0 for none, rare words more."""
        count = self.counts.get(word, 0)
        return math.log1p((self.chunks - count + 0.5) / (count + 0.5))


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """Where a Milvus server is, or the folder of Milvus Lite, and what lets one in."""

    uri: str  # http://host:19530, …/name for a database of that name; or a path that ends in .db
    token: str | None = field(default=None, repr=False)  # a key, or user:password


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors by chunk id. Rows have unit length."""

    ids: NDArray[np.int64]  # (n,)
    rows: NDArray[np.float32]  # (n, d)


@dataclass(frozen=True, slots=True)
class OwnedVectors:
    """Vectors by chunk id, with the document of each chunk. Rows have unit length."""

    ids: NDArray[np.int64]  # (n,)
    documents: NDArray[np.int64]  # (n,)
    rows: NDArray[np.float32]  # (n, d)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the lexical index holds of a chunk."""

    chunk_id: int
    document_id: int
    text: str  # title, heading path and text


@dataclass(frozen=True, slots=True)
class Changes:
    """A stretch of the change log, each chunk once: what became of it in the end."""

    seq: int  # of the last change in the stretch
    upserted: tuple[int, ...]  # chunk ids
    deleted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    documents: dict[Status, int]  # every status, 0 included
    chunks: int
    vectors: int  # of the collection's model
    size: int  # bytes of the files
    former: int = 0  # chunks of other models: on the way in, or not cleared away yet


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was asked of a collection, and what became of what was shown for it.

    Chunk ids are those of today, in ascending order: a chunk that was cut anew since is known by
    its place, one that moved by its words; what is gone is left out.
    """

    text: str
    language: Literal["en", "ko"]
    asked_at: str  # ISO 8601, UTC: the last time
    times: int
    opened: tuple[int, ...] = ()
    up: tuple[int, ...] = ()
    down: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredAdapter:
    """What a collection's model was taught since: a small change to it, kept beside it."""

    id: int
    fingerprint: str
    base: str  # fingerprint of the model that it belongs on; of no use on any other
    kind: str
    report: dict[str, Any]
    made_at: str  # ISO 8601, UTC
    active: bool
    data: bytes = b""  # empty in a list


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """What a collection was measured at."""

    kind: EvaluationKind
    figures: dict[str, Any]
    made_at: str  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """What was fitted to a collection's documents, with the models that it holds for."""

    encoder: str  # fingerprint
    generator: str  # fingerprint; "" where none took part
    fitted: dict[str, Any]
    made_at: str  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation with a collection, without its messages."""

    uid: str  # how it is addressed from outside: 32 hexadecimal digits
    collection: str  # name
    title: str
    made_at: str  # ISO 8601, UTC
    changed_at: str  # likewise: the last question or name
    messages: int


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A question of a conversation and what came of it."""

    id: int
    asked_at: str  # ISO 8601, UTC
    state: MessageState
    question: str
    text: str  # of the answer, as far as it came; or why it failed
    answer: dict[str, Any] | None  # whatever JSON can hold; None unless it was answered
    thumb: Literal["up", "down"] | None
    note: str  # what was written beside the thumb
