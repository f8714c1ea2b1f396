"""Conversations as an archive holds them, and what was fitted and measured.

An answer names documents and passages by their ids, which no archive has: there they go by their
places in it, and get the ids of the home that takes them in.
"""

import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from sqlalchemy import Connection, insert, select

from index.archive_fields import SHORT, Fields, brief
from index.errors import BadArchive
from index.records import (
    EvaluationKind,
    MessageState,
    StoredCalibration,
    StoredCollection,
    StoredEvaluation,
)
from index.schema import CalibrationRow, ConversationRow, EvaluationRow, MessageRow

NOWHERE = 0  # in the place of an id: the document or passage was gone already
_OF_KEYS = "key "  # how the owners begin that are API keys: those stay behind
_LONGEST = 1 << 20  # characters of a question, an answer or a note
_TALK = ("owner", "title", "made_at", "changed_at")
_MESSAGE = ("asked_at", "state", "thumb", "note", "question", "text", "answer")

Moved = Callable[[int], int]  # from an id to what stands for it


def conversations(
    connection: Connection, collection: StoredCollection, document: Moved, chunk: Moved
) -> Iterator[dict[str, Any]]:
    """In the order in which they were begun, each with its messages."""
    mine = (
        ConversationRow.collection_id == collection.id,
        ~ConversationRow.owner.startswith(_OF_KEYS),
    )
    query = select(ConversationRow.__table__).where(*mine).order_by(ConversationRow.id)
    for row in connection.execute(query).all():
        said = select(MessageRow.__table__).where(MessageRow.conversation_id == row.id)
        messages = [
            {name: getattr(each, name) for name in _MESSAGE}
            | {"answer": moved(each.answer, document, chunk)}
            for each in connection.execute(said.order_by(MessageRow.id))
        ]
        yield {name: getattr(row, name) for name in _TALK} | {"messages": messages}


def moved(value: Any, document: Moved, chunk: Moved) -> Any:
    """The same JSON with other numbers for documents and passages, wherever it names them."""
    if isinstance(value, list):
        return [moved(each, document, chunk) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: moved(each, document, chunk) for key, each in value.items()}
    if isinstance(key := found.get("chunk_id"), int):
        found["chunk_id"] = chunk(key)
    named = found.get("document")
    if isinstance(named, dict) and isinstance(key := named.get("id"), int):
        found["document"] = named | {"id": document(key)}
    return found


def places(ids: Sequence[int]) -> Moved:
    """From ids to their places, counted from 1."""
    known = {key: place for place, key in enumerate(ids, 1)}
    return lambda key: known.get(key, NOWHERE)


def at_places(ids: Sequence[int]) -> Moved:
    """From places back to ids."""
    return lambda place: ids[place - 1] if 1 <= place <= len(ids) else NOWHERE


def read_conversation(where: str, value: object) -> dict[str, Any]:
    fields = Fields(where, value)
    return {
        "owner": fields.string("owner", longest=64),
        "title": fields.string("title", longest=_LONGEST),
        "made_at": fields.moment("made_at"),
        "changed_at": fields.moment("changed_at"),
        "messages": [_message(where, each) for each in fields.list("messages")],
    }


def _message(where: str, value: object) -> dict[str, Any]:
    fields = Fields(f"a message of {where}", value)
    state, thumb = fields.string("state"), fields.optional_string("thumb")
    if state not in get_args(MessageState) or thumb not in (None, "up", "down"):
        raise BadArchive(f"a message of {where} is {brief(state)}, with the thumb {brief(thumb)}")
    return {
        "asked_at": fields.moment("asked_at"),
        "state": state,
        "thumb": thumb,
        "note": fields.string("note", longest=_LONGEST),
        "question": fields.string("question", longest=_LONGEST),
        "text": fields.string("text", longest=_LONGEST),
        "answer": fields.optional_object("answer"),
    }


def insert_conversation(
    connection: Connection,
    collection_id: int,
    talk: dict[str, Any],
    document: Moved,
    chunk: Moved,
) -> None:
    """Under an address of its own: the home may have the conversation that it was."""
    messages = talk.pop("messages")
    values = talk | {"collection_id": collection_id, "uid": uuid.uuid4().hex}
    made = insert(ConversationRow).values(values).returning(ConversationRow.id)
    key = connection.execute(made).scalar_one()
    for message in messages:
        answer = moved(message["answer"], document, chunk)
        row = message | {"conversation_id": key, "answer": answer}
        connection.execute(insert(MessageRow).values(row))


def written_calibration(fit: StoredCalibration) -> dict[str, Any]:
    names = ("encoder", "generator", "fitted", "made_at")
    return {name: getattr(fit, name) for name in names}


def read_calibration(value: object) -> dict[str, Any]:
    fields = Fields("a calibration of the manifest", value)
    fitted = fields.optional_object("fitted") or {}
    threshold, scale = fitted.get("threshold"), fitted.get("scale")
    if not (_is_number(threshold) and _is_number(scale) and float(scale or 0) > 0):
        numbers = brief([threshold, scale])
        raise BadArchive(f"a calibration of the manifest has threshold and scale {numbers}")
    return {
        "encoder": fields.name("encoder", longest=128),
        "generator": fields.string("generator", longest=128),
        "fitted": fitted,
        "made_at": fields.moment("made_at"),
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def written_evaluation(made: StoredEvaluation) -> dict[str, Any]:
    return {"kind": made.kind, "figures": made.figures, "made_at": made.made_at}


def read_evaluation(value: object) -> dict[str, Any]:
    fields = Fields("an evaluation of the manifest", value)
    kind = fields.string("kind", longest=SHORT)
    if kind not in get_args(EvaluationKind):
        raise BadArchive(f"an evaluation of the manifest is of the kind {brief(kind)}")
    return {
        "kind": kind,
        "figures": fields.optional_object("figures") or {},
        "made_at": fields.moment("made_at"),
    }


def insert_figures(
    connection: Connection,
    collection_id: int,
    fits: Sequence[Mapping[str, Any]],
    measured: Sequence[Mapping[str, Any]],
) -> None:
    """What was fitted and measured, the last made first in what is given."""
    for table, rows in ((CalibrationRow, fits), (EvaluationRow, measured)):
        for row in reversed(rows):
            connection.execute(insert(table).values({**row, "collection_id": collection_id}))
