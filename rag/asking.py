"""From a message to its answer: what it asks for, where that is looked for, and who answers."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from index import StoredDocument
from rag import catalogue, history, sayings
from rag.answer import answer
from rag.crossing import across
from rag.followup import standalone
from rag.records import EVERYWHERE, Answer, AnswerMode, Exchange, Within
from rag.requests import Dated, Listing, Lookup, SmallTalk, Summary, understand
from rag.rewriting import rewritten
from rag.summarising import summarised

if TYPE_CHECKING:
    from generator import Sampling
    from rag.assistant import Assistant

PASSAGES = 6  # hits that an answer is looked for in
_ACROSS = 3  # passages in the other language that are shown where nothing answers

Pieces = Iterator[str | Answer]


@dataclass(frozen=True, slots=True)
class Asked:
    """A message with all that says how to answer it."""

    message: str
    collection: str | None
    mode: AnswerMode = "auto"
    within: Within = EVERYWHERE
    sampling: "Sampling | None" = None
    seed: int = 0
    rerank: bool | None = None
    remember: bool = True
    earlier: tuple[Exchange, ...] = ()  # of the conversation, the first first
    today: date = field(default_factory=date.today)


def respond(attest: "Assistant", asked: Asked) -> Pieces:
    """Pieces of the answer, then the whole; what is wrong with the question is raised at once."""
    request = understand(asked.message, asked.today)
    match request:
        case SmallTalk():
            text = sayings.manners(request.manner, asked.message)
            return sayings.said(asked.message, text, "smalltalk")
        case Listing():
            return _listing(attest, asked, request)
        case Summary():
            found = summarised(attest, asked, request)
            return found if found is not None else _lookup(attest, asked, None)
        case Lookup():
            return _lookup(attest, asked, request.dated)


def _listing(attest: "Assistant", asked: Asked, request: Listing) -> Pieces:
    rows = attest.within(asked.within, asked.collection)
    if request.media:
        rows = catalogue.of_media(rows, request.media)
    if request.dated:
        rows = catalogue.of_days(rows, request.dated)
    everything = attest.documents(asked.collection) if asked.within == EVERYWHERE else []
    plain = request.media is None and request.dated is None
    unread = sum(row.status not in ("indexed", "duplicate") for row in everything) if plain else 0
    return sayings.said(
        asked.message, sayings.listing(request, rows, unread, asked.message), "catalog"
    )


def _lookup(attest: "Assistant", asked: Asked, dated: Dated | None) -> Pieces:
    query = _query(attest, asked)
    if query != asked.message:
        request = understand(query, asked.today)
        dated = request.dated if isinstance(request, Lookup | Listing) else None
    within, notes = asked.within, []
    if dated is not None:
        within, note = _narrowed(attest, asked, dated)
        notes.append(note)
    found = attest.search(
        query,
        k=PASSAGES,
        within=within,
        rerank=asked.rerank,
        collection=asked.collection,
        remember=False,
    )
    found = replace(found, notes=(*found.notes, *notes))
    name = asked.collection or attest.settings.collection
    pieces = _tidily(
        answer(
            query,
            found,
            speakers=attest.speakers(query, asked.mode, name),
            mode=asked.mode,
            sampling=asked.sampling,
            seed=asked.seed,
        )
    )
    pieces = with_others(attest, pieces, query, within, asked.collection)
    if query != asked.message:
        pieces = _as_asked(pieces, asked.message, query)
    if not asked.remember:
        return pieces
    return history.remembering(attest, found.query, name, pieces)


def _tidily(pieces: Pieces) -> Pieces:
    """The same pieces; the memory that writing them took goes back to the system."""
    try:
        yield from pieces
    finally:
        from transformer import runtime  # it brings torch, which the models have loaded by now

        runtime.give_back_memory()


def with_others(
    attest: "Assistant", pieces: Pieces, query: str, within: Within, collection: str | None
) -> Pieces:
    """The same pieces; where nothing answers, with the nearest passages in the other language."""
    for piece in pieces:
        if isinstance(piece, Answer) and piece.abstained:
            piece = _led_across(attest, piece, query, within, collection)
        yield piece


def _led_across(
    attest: "Assistant", declined: Answer, query: str, within: Within, collection: str | None
) -> Answer:
    name = collection or attest.settings.collection
    both = attest.encoders.speaks(name, "a") and attest.encoders.speaks(name, "가")
    if not both or not attest.exists(name):
        return declined
    rows = None if within == EVERYWHERE else attest.within(within, collection)
    documents = None if rows is None else [row.id for row in rows]
    embedder = attest.encoders.asking(name)
    hits = across(query, attest.opened(name), embedder, _ACROSS, documents)
    if not hits:
        return declined
    note = sayings.elsewhere([hit.chunk.document for hit in hits], declined.question)
    return replace(declined, passages=hits, notes=(*declined.notes, note))


def _as_asked(pieces: Pieces, message: str, query: str) -> Pieces:
    for piece in pieces:
        if isinstance(piece, Answer):
            piece = replace(piece, question=message, query=query)
        yield piece


def _query(attest: "Assistant", asked: Asked) -> str:
    """The message, made to stand by itself where it is a follow-up."""
    before = list(filter(None, (_subject(each, asked.today) for each in asked.earlier)))
    if not before:
        return asked.message
    query = standalone(asked.message, before)
    if query == " ".join(asked.message.split()):
        return asked.message
    writer = None if asked.mode == "extract" else attest.rewriter(asked.message)
    return query if writer is None else rewritten(asked.message, before, query, writer)


def _subject(exchange: Exchange, today: date) -> str:
    """What an earlier message leaves to be understood from it; "" for small talk and lists."""
    match understand(exchange.question, today):
        case Lookup():
            return exchange.question
        case Summary(of=of):
            return of
    return ""


def _narrowed(attest: "Assistant", asked: Asked, dated: Dated) -> tuple[Within, str]:
    """The documents of these days, and a note of it; all of them where none is."""
    rows: list[StoredDocument] = catalogue.of_days(
        attest.within(asked.within, asked.collection), dated
    )
    note = sayings.narrowed(dated, rows, asked.message)
    if not rows:
        return asked.within, note
    return Within(documents=tuple(row.id for row in rows)), note
