"""The records that flow through the product: text, hits, passages, answers, citations.

file -> ExtractedText -> Chunk (index.records) -> Hit -> Passage -> Answer with Citations
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from index.records import StoredChunk, StoredDocument, WordFrequencies

Mode = Literal["hybrid", "dense", "lexical"]
AnswerMode = Literal["auto", "generate", "extract"]
AnswerKind = Literal["lookup", "summary", "catalog", "smalltalk"]  # what a message asked for


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a paged format: `text[start:end]` is what stands on it."""

    number: int  # 1-based
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Section:
    """From `start` on, and up to the next section, text stands under this heading path."""

    start: int
    heading: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """What a loader read out of one file. Text is NFC, with newlines as its only line ends."""

    text: str
    title: str  # found in the document; the file's stem where it names none
    media_type: str
    pages: tuple[Page, ...] = ()  # in order, empty for formats without pages
    sections: tuple[Section, ...] = ()  # in order of start
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Within:
    """Which documents a question stays within: those that meet every condition that is given."""

    documents: tuple[str | int, ...] = ()  # ids, paths or file names
    paths: tuple[str, ...] = ()  # glob patterns, one of which the path or its end matches
    media_types: tuple[str, ...] = ()  # one of these; text/* is any kind of text
    tags: tuple[str, ...] = ()  # all of these
    since: str | None = None  # ISO 8601 date or time of the file
    until: str | None = None


EVERYWHERE = Within()


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk with the parts of its score."""

    rank: int  # 1-based
    score: float  # fused and re-ranked, or the raw score of the only side that was asked
    dense: float | None  # cosine
    lexical: float | None  # BM25
    chunk: StoredChunk
    terms: tuple[str, ...] = ()  # words of the query, as it writes them, that the chunk has too
    likelihood: float | None = None  # mean log p of the query behind it; None: not re-ranked


@dataclass(frozen=True, slots=True)
class SearchResult:
    query: str
    hits: tuple[Hit, ...]
    words: WordFrequencies  # of the query's content words, in the whole collection
    timings_ms: dict[str, float] = field(default_factory=dict)
    weight: float | None = None  # of the dense side in the fused scores; None where one side asked
    pending: int = 0  # chunks of the collection that are found by their words only, so far
    notes: tuple[str, ...] = ()  # what the reader should know: why hits were not re-ranked


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the generator's own likelihoods say of a source: the claim scored without it, and so on.

    Copies of the source in other passages count as one with it.
    """

    necessary: bool  # without it the claim falls, or the answer would be declined
    sufficient: bool  # it alone keeps the claim
    follows: bool | None  # the claim goes along with another fact in it; None: no fact to change
    drop: float  # nats a token by which the claim falls without it
    alone: float  # nats a token by which it falls where nothing else is there; may be below 0


@dataclass(frozen=True, slots=True)
class Citation:
    """Evidence for one sentence of an answer.

    `quote` stands verbatim at `start:end` of the document's text;
    `answer_start:answer_end` is the sentence of the answer that it supports.
    """

    marker: int  # 1-based, as shown in the answer: [1]
    chunk_id: int
    document: StoredDocument
    quote: str
    start: int
    end: int
    page: int | None
    answer_start: int
    answer_end: int
    score: float
    certificate: Certificate | None = None  # None where the generator was not asked


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    answer: str
    mode: Literal["generate", "extract"]
    abstained: bool
    confidence: float | None  # None until it is calibrated
    citations: tuple[Citation, ...]
    finish_reason: Literal["stop", "length"]  # length: the writer was cut at its limit
    unsupported: tuple[tuple[int, int], ...]  # answer spans that no passage bears out
    passages: tuple[Hit, ...]
    notes: tuple[str, ...]  # what the reader should know: passages left out, language
    timings_ms: dict[str, float]
    models: dict[str, str]
    kind: AnswerKind = "lookup"
    query: str | None = None  # what was looked for, where a follow-up was made to stand by itself


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of a conversation, and what is needed to understand the next one."""

    question: str
    documents: tuple[int, ...] = ()  # that its answer rests on, where that is known

    @classmethod
    def of(cls, answer: Answer) -> Self:
        cited = dict.fromkeys(citation.document.id for citation in answer.citations)
        return cls(answer.question, tuple(cited))


@dataclass(frozen=True, slots=True)
class HeldCollection:
    """A collection as it is listed."""

    name: str
    encoder: str
    dimensions: int  # of its vectors
    documents: int


@dataclass(frozen=True, slots=True)
class LibraryStatus:
    """What an operator asks first."""

    home: str
    database: str  # its file or its address, without a password
    collection: str
    encoder: str  # that made the vectors, or is going to
    fingerprint: str | None = None  # of it; None before the first document
    documents: dict[str, int] = field(default_factory=dict)  # by status
    chunks: int = 0
    vectors: int = 0
    pending: int = 0  # chunks that wait for their vectors
    former: int = 0  # chunks of another model: on the way in, or not cleared away yet
    size_bytes: int = 0  # of the files that were added
    fusion_weight: float = 0.5
    wanted_encoder: str | None = None  # what the settings name
    remember_questions: bool = True
    questions: int = 0  # that are remembered
    adapter_fingerprint: str | None = None  # of what the encoder was taught, where it is in use
    adapter_made: str | None = None  # ISO 8601, UTC
    rerank_weight: float = 0.0  # 0: hits are not re-ranked


@dataclass(frozen=True, slots=True)
class ReportCluster:
    """A group of documents in a report, or of passages."""

    id: int
    label: str
    words: tuple[str, ...]
    representative: tuple[str, ...]  # sentences, nearest to the centre first
    documents: tuple[StoredDocument, ...]  # nearest to the centre first
    size: int = 0  # documents; passages where these were grouped
    share_pct: float = 0.0  # of everything; those of all clusters and of the rest add up to 100
    passages: int = 0  # of the whole library that are nearest to this cluster
    over_time: tuple[int, ...] = ()  # size in each period of the report


@dataclass(frozen=True, slots=True)
class ReportTheme:
    """Clusters that are alike: a group of groups."""

    id: int
    label: str
    words: tuple[str, ...]
    clusters: tuple[int, ...]  # ids, largest first
    size: int
    share_pct: float


@dataclass(frozen=True, slots=True)
class ReportPoint:
    """A dot of a report's map."""

    document_id: int
    chunk_id: int | None  # None: the document as a whole
    cluster: int  # id; 0 for none
    x: float
    y: float
    text: str  # to show beside it: a title, or how a passage begins


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """What became of a cluster between two reports of one library."""

    change: Literal["new", "grown", "shrunk", "same", "gone"]
    id: int | None  # None: it is gone
    old_id: int | None  # None: it is new
    label: str
    old_label: str | None
    size: int
    old_size: int
    shared: int  # documents that are in both


@dataclass(frozen=True, slots=True)
class Comparison:
    """A report beside an earlier one of the same library."""

    old_documents: int
    added: int  # documents that the earlier one did not have
    removed: int
    changes: tuple[ClusterChange, ...]


@dataclass(frozen=True, slots=True)
class Remark:
    """What a reader of a report should know, to be said in their language."""

    kind: Literal["empty", "fewer", "waiting"]
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """A library in groups."""

    n_documents: int
    unclustered: int
    clusters: tuple[ReportCluster, ...]  # largest first
    metrics: dict[str, float]
    notes: tuple[str, ...]  # the remarks, in English
    html: str | None  # path of the page
    file: str | None = None  # path of what was written, whatever its format
    by: Literal["documents", "passages"] = "documents"  # what was grouped
    n_passages: int = 0
    language: Literal["en", "ko"] = "en"  # that most of the documents are in
    unclustered_pct: float = 0.0
    outliers: tuple[StoredDocument, ...] = ()  # in no cluster
    themes: tuple[ReportTheme, ...] = ()  # empty where the clusters are few
    period: Literal["day", "week", "month", "quarter", "year"] | None = None  # None: no dates
    periods: tuple[str, ...] = ()  # their first days, ISO 8601
    comparison: Comparison | None = None
    points: tuple[ReportPoint, ...] = ()  # documents, then passages
    remarks: tuple[Remark, ...] = ()
    made: str = field(default="", compare=False)  # ISO 8601, UTC
