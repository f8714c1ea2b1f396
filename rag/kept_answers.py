"""Answers as a conversation keeps them, and as they are shown again over the library of today.

What is kept holds the quoted sentences, and of the passages only their places. So a document that
is removed leaves nothing behind but what was read out of it; where it is still there, an answer is
shown again with the same evidence, wherever that stands by now.
"""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from index.errors import UnknownCollection, UnknownDocument
from index.records import StoredChunk, StoredDocument
from rag import shapes
from rag.records import Answer, Certificate, Citation, Hit

if TYPE_CHECKING:
    from rag.library import Library

Json = dict[str, Any]


def packed(answer: Answer) -> Json:
    """As JSON, without the text of passages."""
    made = shapes.answer(answer)
    for passage in made["passages"]:
        del passage["text"]
    return made


def unpacked(kept: Json, library: "Library", collection: str) -> Answer:
    """The answer that was packed, its documents as they are today, or as they were named then.

    A passage that is there no more has no text.
    """
    today = _Today(library, collection)
    return Answer(
        question=kept["question"],
        answer=kept["answer"],
        mode=kept["mode"],
        abstained=kept["abstained"],
        confidence=kept["confidence"],
        citations=tuple(_citation(each, today) for each in kept["citations"]),
        finish_reason=kept["finish_reason"],
        unsupported=tuple((start, end) for start, end in kept["unsupported"]),
        passages=_passages(kept["passages"], today),
        notes=tuple(kept["notes"]),
        timings_ms=kept["timings_ms"],
        models=kept["models"],
        kind=kept["kind"],
        query=kept["query"],
    )


def surroundings(answer: Answer, library: "Library") -> tuple[Answer, tuple[str | None, ...]]:
    """The answer with each quote at its place of today, and the text that each one stands in.

    Returns:
        None for a text where the document is gone, or holds the quote no more.
    """
    texts: dict[int, str] = {}
    moved, around = list[Citation](), list[str | None]()
    for citation in answer.citations:
        key = citation.document.id
        if key not in texts:
            texts[key] = _text(library, key)
        start = _place(texts[key], citation)
        if start is not None:
            citation = replace(citation, start=start, end=start + len(citation.quote))
        moved.append(citation)
        around.append(None if start is None else texts[key])
    return replace(answer, citations=tuple(moved)), tuple(around)


class _Today:
    """The documents that kept answers name, each looked up once."""

    def __init__(self, library: "Library", collection: str) -> None:
        self._library, self._collection = library, collection
        self._rows: dict[tuple[int, str], StoredDocument] = {}

    def document(self, kept: Json) -> StoredDocument:
        """By its id, or by its path where it was added again; else as it was named."""
        key = (kept["id"], kept["path"])
        if key not in self._rows:
            self._rows[key] = self._found(*key) or _gone(kept)
        return self._rows[key]

    def chunks(self, ids: list[int]) -> dict[int, StoredChunk]:
        return {chunk.id: chunk for chunk in self._library.catalog.chunks(ids)}

    def _found(self, key: int, path: str) -> StoredDocument | None:
        catalog = self._library.catalog
        with suppress(UnknownDocument):
            return catalog.document(key)
        with suppress(UnknownCollection):
            return catalog.at(self._collection, path)
        return None


def _text(library: "Library", document: int) -> str:
    try:
        return library.catalog.text(document)
    except UnknownDocument:
        return ""


def _place(text: str, citation: Citation) -> int | None:
    if text[citation.start : citation.end] == citation.quote:
        return citation.start
    found = text.find(citation.quote)
    return None if found < 0 else found


def _gone(kept: Json) -> StoredDocument:
    """A document that was removed, by what is known of it; no document has this id again."""
    return StoredDocument(
        id=kept["id"],
        path=kept["path"],
        title=kept["title"],
        media_type=kept["media_type"],
        sha256="",
        size=0,
        status="empty",
        reason=None,
        warnings=(),
        chunks=0,
        added="",
    )


def _citation(kept: Json, today: _Today) -> Citation:
    certificate = kept["certificate"]
    return Citation(
        marker=kept["marker"],
        chunk_id=kept["chunk_id"],
        document=today.document(kept["document"]),
        quote=kept["quote"],
        start=kept["start"],
        end=kept["end"],
        page=kept["page"],
        answer_start=kept["answer_start"],
        answer_end=kept["answer_end"],
        score=kept["score"],
        certificate=None if certificate is None else Certificate(**certificate),
    )


def _passages(kept: list[Json], today: _Today) -> tuple[Hit, ...]:
    alive = today.chunks([each["chunk_id"] for each in kept])
    return tuple(_hit(each, alive.get(each["chunk_id"]), today) for each in kept)


def _hit(kept: Json, alive: StoredChunk | None, today: _Today) -> Hit:
    chunk = alive or StoredChunk(
        id=kept["chunk_id"],
        document=today.document(kept["document"]),
        text="",
        start=kept["start"],
        end=kept["end"],
        page=kept["page"],
        heading=tuple(kept["heading"]),
        tokens=0,
    )
    return Hit(
        rank=kept["rank"],
        score=kept["score"],
        dense=kept["dense"],
        lexical=kept["lexical"],
        chunk=chunk,
        terms=tuple(kept["terms"]),
        likelihood=kept["likelihood"],
    )
