"""Which documents a summary is of, and the answer that it makes."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from index import StoredDocument
from index.records import OwnedVectors, StoredChunk
from rag import catalogue, confidence, prompts, sayings
from rag.draft import Draft
from rag.evidence import find_evidence
from rag.records import EVERYWHERE, Answer, Exchange, Hit, SearchResult
from rag.requests import Summary
from rag.summary import READ, central_passages, summarise
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from rag.asking import Asked
    from rag.assistant import Assistant

_ONE, _SEVERAL = 5, 7  # sentences of a summary of one document, and of several

Pieces = Iterator[str | Answer]


def summarised(attest: "Assistant", asked: "Asked", request: Summary) -> Pieces | None:
    """The summary that was asked for; None where it was no document that was named."""
    rows = attest.within(asked.within, asked.collection)
    chosen = _chosen(rows, asked, request)
    if chosen:
        return _of_documents(attest, asked, request, chosen)
    if request.only_title:
        return None
    subject = request.of if request.scope == "named" and request.dated is None else ""
    if request.scope == "this" and asked.earlier:
        subject = asked.earlier[-1].question
    if subject and rows:
        return _of_subject(attest, asked, request, subject)
    named = request.scope != "this"
    return _unknown(asked.message, sayings.which_document(asked.message, named))


def _chosen(
    rows: Sequence[StoredDocument], asked: "Asked", request: Summary
) -> Sequence[StoredDocument]:
    match request.scope:
        case "everything":
            return rows
        case "folder":
            return catalogue.in_folder(rows, request.of)
        case "named" if request.dated is not None:
            return catalogue.of_days(rows, request.dated)
        case "named":
            return catalogue.named(rows, request.of)
        case _:
            if asked.within != EVERYWHERE or len(rows) == 1:
                return rows
            return _spoken_of(rows, asked.earlier)


def _spoken_of(rows: Sequence[StoredDocument], earlier: Sequence[Exchange]) -> list[StoredDocument]:
    """The documents of the last answer that rested on any."""
    for exchange in reversed(earlier):
        if exchange.documents:
            return [row for row in rows if row.id in exchange.documents]
    return []


def _of_documents(
    attest: "Assistant", asked: "Asked", request: Summary, rows: Sequence[StoredDocument]
) -> Pieces:
    chunks = _passages(attest, rows, asked.collection)
    limit = request.sentences or (_ONE if len(rows) == 1 else _SEVERAL)
    return _quoting(attest, asked, chunks, limit)


def _of_subject(attest: "Assistant", asked: "Asked", request: Summary, subject: str) -> Pieces:
    """A summary of what stands on a subject, wherever it stands."""
    found = attest.search(
        subject, k=READ // 2, within=asked.within, collection=asked.collection, remember=False
    )
    if not _is_relevant(attest, asked, found):
        return _unknown(asked.message, prompts.declined(asked.message))
    chunks = [hit.chunk for hit in found.hits]
    return _quoting(attest, asked, chunks, request.sentences or _ONE, about=subject)


def _is_relevant(attest: "Assistant", asked: "Asked", found: SearchResult) -> bool:
    name = asked.collection or attest.settings.collection
    embedder = attest.encoders.asking(name) if attest.encoders.speaks(name, found.query) else None
    evidence = find_evidence(found.query, found, embedder=embedder)
    unrelated = 0.0 if embedder is None else unrelated_cosine(embedder)
    return confidence.is_relevant(evidence, found, unrelated)


def _passages(
    attest: "Assistant", rows: Sequence[StoredDocument], collection: str | None
) -> list[StoredChunk]:
    """The passages to read: all of a few; of many those that stand for them, by kept vectors."""
    opened = attest.opened(collection or attest.settings.collection)
    if sum(row.chunks for row in rows) <= READ:
        keys = [key for row in rows for key in attest.catalog.chunk_ids(row.id)]
        return opened.chunks(keys)
    kept = opened.vectors()
    mine = np.isin(kept.documents, [row.id for row in rows])
    chosen = central_passages(OwnedVectors(kept.ids[mine], kept.documents[mine], kept.rows[mine]))
    if not chosen:  # nothing has its vector yet
        chosen = [key for row in rows for key in attest.catalog.chunk_ids(row.id)[:1]][:READ]
    place = {row.id: n for n, row in enumerate(rows)}
    return sorted(opened.chunks(chosen), key=lambda c: (place[c.document.id], c.start))


def _quoting(
    attest: "Assistant", asked: "Asked", chunks: Sequence[StoredChunk], limit: int, about: str = ""
) -> Pieces:
    began = time.perf_counter()
    name = asked.collection or attest.settings.collection
    spoken = all(attest.encoders.speaks(name, chunk.text) for chunk in chunks)
    embedder = attest.encoders.of(name) if spoken else None
    draft = Draft()
    used: dict[int, Hit] = {}
    for sentence in summarise(chunks, embedder=embedder, limit=limit, about=about):
        used[sentence.hit.chunk.id] = sentence.hit
        yield draft.quote(sentence)
    if not draft.text:
        yield from _unknown(asked.message, prompts.declined(asked.message))
        return
    documents = {hit.chunk.document.id for hit in used.values()}
    yield Answer(
        question=asked.message,
        answer=draft.text,
        mode="extract",
        abstained=False,
        confidence=None,
        citations=tuple(draft.citations),
        finish_reason="stop",
        unsupported=(),
        passages=tuple(used.values()),
        notes=(sayings.summarised(len(documents), asked.message),),
        timings_ms={"answer": round((time.perf_counter() - began) * 1000, 1)},
        models={"encoder": attest.encoders.name(name)},
        kind="summary",
    )


def _unknown(message: str, text: str) -> Pieces:
    return sayings.said(message, text, "summary", abstained=True)
