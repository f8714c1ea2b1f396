"""The JSON of the edge: what the command line prints and the API answers. Fields are only added."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from index.records import AskedQuestion, StoredDocument
from rag.ingest import Outcome
from rag.records import (
    Answer,
    Citation,
    HeldCollection,
    Hit,
    LibraryStatus,
    Report,
    SearchResult,
)

if TYPE_CHECKING:
    from index.jobs import StoredJob
    from index.keys import StoredKey
    from index.verify import Verification
    from rag.reembed import Moved
    from rag.upkeep import Archived

Json = dict[str, Any]


def document_brief(row: StoredDocument) -> Json:
    """A document as hits and citations name it."""
    return {"id": row.id, "path": row.path, "title": row.title, "media_type": row.media_type}


def document_full(row: StoredDocument) -> Json:
    """A document as `list` shows it."""
    return {
        **document_brief(row),
        "status": row.status,
        "reason": row.reason,
        "chunks": row.chunks,
        "pending": row.pending,
        "size": row.size,
        "added": row.added,
        "modified": row.modified,
        "tags": list(row.tags),
        "warnings": list(row.warnings),
    }


def documents(rows: Iterable[StoredDocument]) -> Json:
    return {"documents": [document_full(row) for row in rows]}


def hit(found: Hit) -> Json:
    part = found.chunk
    return {
        "rank": found.rank,
        "score": found.score,
        "dense": found.dense,
        "lexical": found.lexical,
        "likelihood": found.likelihood,
        "chunk_id": part.id,
        "text": part.text,
        "start": part.start,
        "end": part.end,
        "page": part.page,
        "heading": list(part.heading),
        "terms": list(found.terms),
        "document": document_brief(part.document),
    }


def search(result: SearchResult) -> Json:
    return {
        "query": result.query,
        "hits": [hit(found) for found in result.hits],
        "weight": result.weight,
        "pending": result.pending,
        "notes": list(result.notes),
        "timings_ms": result.timings_ms,
    }


def citation(cited: Citation) -> Json:
    return {
        "marker": cited.marker,
        "chunk_id": cited.chunk_id,
        "document": document_brief(cited.document),
        "quote": cited.quote,
        "start": cited.start,
        "end": cited.end,
        "page": cited.page,
        "answer_start": cited.answer_start,
        "answer_end": cited.answer_end,
        "score": cited.score,
        "certificate": None if cited.certificate is None else asdict(cited.certificate),
    }


def answer(given: Answer) -> Json:
    return {
        "question": given.question,
        "query": given.query,
        "kind": given.kind,
        "answer": given.answer,
        "mode": given.mode,
        "abstained": given.abstained,
        "confidence": given.confidence,
        "citations": [citation(cited) for cited in given.citations],
        "finish_reason": given.finish_reason,
        "unsupported": [list(span) for span in given.unsupported],
        "passages": [hit(found) for found in given.passages],
        "notes": list(given.notes),
        "timings_ms": given.timings_ms,
        "models": given.models,
    }


def outcome(done: Outcome) -> Json:
    return {**asdict(done), "warnings": list(done.warnings)}


def outcomes(done: Sequence[Outcome]) -> Json:
    return {
        "documents": [outcome(one) for one in done],
        "summary": dict(Counter(one.status for one in done)),
    }


def report(made: Report) -> Json:
    places = {point.document_id: point for point in made.points if point.chunk_id is None}

    def placed(row: StoredDocument) -> Json:
        point = places.get(row.id)
        return document_brief(row) | ({} if point is None else {"x": point.x, "y": point.y})

    return {
        "n_documents": made.n_documents,
        "n_passages": made.n_passages,
        "n_clusters": len(made.clusters),
        "by": made.by,
        "unclustered": made.unclustered,
        "unclustered_pct": made.unclustered_pct,
        "clusters": [
            {
                "id": group.id,
                "size": group.size,
                "share_pct": group.share_pct,
                "label": group.label,
                "words": list(group.words),
                "representative": list(group.representative),
                "passages": group.passages,
                "over_time": list(group.over_time),
                "documents": [placed(row) for row in group.documents],
            }
            for group in made.clusters
        ],
        "outliers": [placed(row) for row in made.outliers],
        "themes": [asdict(theme) for theme in made.themes],
        "period": made.period,
        "periods": list(made.periods),
        "comparison": None if made.comparison is None else asdict(made.comparison),
        "language": made.language,
        "metrics": made.metrics,
        "notes": list(made.notes),
        "made": made.made,
        "html": made.html,
        "file": made.file,
    }


def status(found: LibraryStatus) -> Json:
    return asdict(found)


def verification(found: "Verification") -> Json:
    return {
        "ok": not found.problems,
        "collections": [
            {**asdict(each), "model": each.model.name, "fingerprint": each.model.fingerprint}
            for each in found.collections
        ],
        "problems": [asdict(problem) for problem in found.problems],
    }


def moved(step: "Moved") -> Json:
    return {
        "collection": step.collection,
        "from": step.old.name,
        "from_fingerprint": step.old.fingerprint,
        "to": step.new.name,
        "to_fingerprint": step.new.fingerprint,
        "documents": step.documents,
        "finished": step.finished,
    }


def archived(made: "Archived") -> Json:
    return {**asdict(made), "collections": list(made.collections)}


def history(asked: Sequence[AskedQuestion]) -> Json:
    return {
        "questions": [
            {
                "question": each.text,
                "language": each.language,
                "asked": each.asked_at,
                "times": each.times,
                "opened": list(each.opened),
                "up": list(each.up),
                "down": list(each.down),
            }
            for each in asked
        ]
    }


def job(found: "StoredJob") -> Json:
    return {
        "id": found.id,
        "kind": found.kind,
        "collection": found.collection,
        "status": found.status,
        "done": found.done,
        "total": found.total,
        "note": found.note,
        "cancelling": found.cancel and found.status == "running",
        "made": found.made_at,
        "started": found.started_at,
        "ended": found.ended_at,
        "result": None if found.result is None else dict(found.result),
    }


def key(made: "StoredKey") -> Json:
    """A key as the owner sees it, never its text."""
    return {
        "id": made.id,
        "name": made.name,
        "shown": made.shown,
        "access": made.access,
        "collections": None if made.collections is None else list(made.collections),
        "made": made.made_at,
        "used": made.used_at,
        "revoked": made.revoked_at,
    }


def collections(held: Sequence[HeldCollection], default: str) -> Json:
    return {"collections": [asdict(one) for one in held], "default": default}


def forgotten(n: int) -> Json:
    return {"forgotten": n}
