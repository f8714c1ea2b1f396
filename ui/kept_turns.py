"""Turns as they are kept and shown again, and what is thought of them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from index import StorageError
from rag.assistant import Assistant
from rag.conversations import Conversation, Conversations, Kept, Message
from rag.errors import AttestError
from rag.kept_answers import surroundings
from rag.records import Answer
from ui.turns import Turn

Turns = tuple[Turn, ...]


def reopened(found: Conversation, assistant: Assistant) -> Turns:
    """The turns of a conversation that was kept, over the documents of today."""
    return tuple(_turn(each, found.head.uid, assistant) for each in found.messages)


def answered(asked: Turn, given: Answer, assistant: Assistant) -> Turn:
    """A turn with its answer, and the text that each of its quotes stands in."""
    answer, around = surroundings(given, assistant)
    return replace(
        asked,
        answer=answer,
        surroundings=around,
        pending=assistant.status().pending,
        learns=assistant.settings.remember_questions,
    )


def thought(sent: Mapping[str, Any], turns: Turns, talks: Conversations) -> Turns:
    """The turns with what was thought of one of them, which is stored where the turn is.

    Args:
        sent: {"turn", "thumb", "note"}, as a browser sends it
        turns: of the conversation
        talks: where it is kept
    """
    number = int(sent["turn"])
    if not 1 <= number <= len(turns):
        return turns
    thumb = sent["thumb"] if sent.get("thumb") in ("up", "down") else None
    note = str(sent.get("note", "")) if thumb else ""
    turn = replace(turns[number - 1], thumb=thumb, note=note)
    if turn.kept is not None:
        with suppress(AttestError, StorageError):  # deleted in another window
            talks.think(turn.kept, turn.thumb, turn.note)
    return (*turns[: number - 1], turn, *turns[number:])


def _turn(message: Message, uid: str, assistant: Assistant) -> Turn:
    kept = Kept(uid, message.id)
    if message.state == "failed":
        return Turn(message.question, failure=message.text, kept=kept)
    if message.answer is None:
        pieces = (message.text,) if message.text else ()
        return Turn(message.question, pieces=pieces, kept=kept)
    answer, around = surroundings(message.answer, assistant)
    return Turn(
        message.question,
        answer,
        around,
        learns=assistant.settings.remember_questions,
        kept=kept,
        thumb=message.thumb,
        note=message.note,
    )
