"""Records as the assistant hands them to the page."""

from collections.abc import Sequence

from index.records import StoredChunk, StoredDocument
from rag.records import Answer, Citation, Hit

HOSTILE = "<script>window.__pwn = 1</script> [a](javascript:alert(1)) a<b && c>d \"'` ${1} {{2}}"
ESCAPED = (
    "&lt;script&gt;window.__pwn = 1&lt;/script&gt; [a](javascript:alert(1)) a&lt;b &amp;&amp; "
    "c&gt;d &#34;&#39;` ${1} {{2}}"
)


def document(
    id_: int = 1,
    title: str = "Pump manual",
    path: str = "/home/ann/pump.pdf",
    **more: object,
) -> StoredDocument:
    fields = {
        "media_type": "application/pdf",
        "sha256": "0" * 64,
        "size": 31_323,
        "status": "indexed",
        "reason": None,
        "warnings": (),
        "chunks": 4,
        "added": "2025-11-29T12:00:00+00:00",
    }
    return StoredDocument(id_, path, title, **(fields | more))  # type: ignore[arg-type]


def hit(
    text: str,
    *,
    id_: int = 1,
    of: StoredDocument | None = None,
    start: int = 0,
    page: int | None = 3,
    heading: tuple[str, ...] = ("Pump manual", "2 Flow"),
    dense: float | None = 0.62,
    lexical: float | None = 7.5,
    score: float = 0.9,
) -> Hit:
    chunk = StoredChunk(
        id_, of or document(), text, start, start + len(text), page, heading, len(text.split())
    )
    return Hit(1, score, dense, lexical, chunk)


def cited(found: Hit, quote: str, answer: str, said: str, marker: int = 1) -> Citation:
    """A citation of a hit's words for what is said in an answer."""
    start, begin = found.chunk.start + found.chunk.text.index(quote), answer.index(said)
    chunk = found.chunk
    return Citation(
        marker, chunk.id, chunk.document, quote, start, start + len(quote), chunk.page,
        begin, begin + len(said), 0.9,
    )  # fmt: skip


def answer(
    text: str,
    citations: Sequence[Citation] = (),
    unsupported: Sequence[tuple[int, int]] = (),
    *,
    passages: Sequence[Hit] = (),
    notes: Sequence[str] = (),
    written: bool = False,
    abstained: bool = False,
) -> Answer:
    return Answer(
        question="How much does it move?",
        answer=text,
        mode="generate" if written else "extract",
        abstained=abstained,
        confidence=None,
        citations=tuple(citations),
        finish_reason="stop",
        unsupported=tuple(unsupported),
        passages=tuple(passages),
        notes=tuple(notes),
        timings_ms={"encode": 5.0, "total": 400.0, "answer": 800.0},
        models={"encoder": "minilm", "generator": "smollm2"},
    )
