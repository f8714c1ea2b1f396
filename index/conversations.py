"""Conversations: who asked what, in which order, and what came of it.

A question is stored before it is answered, so that neither a stop nor the end of the process loses
it. Every method is one transaction, and sees the conversations of one owner alone.
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from index import reads
from index.database import Database, repeated
from index.errors import UnknownConversation
from index.given import is_text
from index.records import MessageState, StoredConversation, StoredMessage
from index.schema import AnyRow, AnySelect, CollectionRow, ConversationRow, MessageRow

_COUNT = (
    select(func.count(MessageRow.id))
    .where(MessageRow.conversation_id == ConversationRow.id)
    .correlate(ConversationRow)
    .scalar_subquery()
)
_HEADS: AnySelect = select(
    ConversationRow.uid,
    CollectionRow.name,
    ConversationRow.title,
    ConversationRow.made_at,
    ConversationRow.changed_at,
    _COUNT,
).join(CollectionRow, CollectionRow.id == ConversationRow.collection_id)


class Conversations:
    """Those of a home.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @repeated
    def ask(
        self,
        collection: str,
        owner: str,
        question: str,
        *,
        title: str,
        uid: str | None = None,
        instead_of: int | None = None,
        patience_s: float | None = None,
    ) -> tuple[str, int]:
        """Stores a question that is about to be answered.

        Args:
            uid: Of the conversation that it belongs to; a new one is begun where there is none.
            title: Of a new conversation.
            instead_of: A message of it that this one takes the place of.
            patience_s: How long to wait for another that writes; None as all others do.

        Returns:
            The conversation's uid and the message's id.

        Raises:
            UnknownCollection: There is none of that name.
        """
        with self._database.writing(patience_s) as connection:
            found = reads.collection(connection, collection)
            key = None if uid is None else _key(connection, uid, owner, found.id)
            if key is None:
                key, uid = _begin(connection, found.id, owner, title)
            assert uid is not None
            _delete_message(connection, key, instead_of)
            values = {"conversation_id": key, "asked_at": _now(), "state": "stopped"}
            values |= {"note": "", "question": question, "text": "", "answer": None}
            stored = insert(MessageRow).values(values).returning(MessageRow.id)
            message: int = connection.execute(stored).scalar_one()
            _touch(connection, key)
        return uid, message

    @repeated
    def settle(
        self,
        message: int,
        state: MessageState,
        text: str,
        answer: Mapping[str, Any] | None = None,
        *,
        patience_s: float | None = None,
    ) -> None:
        """Stores what came of a question; nothing where it was deleted meanwhile.

        Args:
            answer: Whatever JSON can hold.
            patience_s: As for `ask`.
        """
        values = {"state": state, "text": text, "answer": None if answer is None else dict(answer)}
        # What a stop left behind does not take the place of an answer that came after all.
        open_still = (MessageRow.id == int(message), MessageRow.state == "stopped")
        with self._database.writing(patience_s) as connection:
            connection.execute(update(MessageRow).where(*open_still).values(values))

    def listed(
        self, collection: str, owner: str, wanted: str = "", limit: int = 200
    ) -> tuple[StoredConversation, ...]:
        """The last changed first.

        Args:
            wanted: Words, each of which stands in the title, a question or an answer.
            limit: How many at most.
        """
        if not is_text(wanted):
            return ()
        query = _HEADS.where(CollectionRow.name == collection, ConversationRow.owner == owner)
        for word in wanted.split():
            query = query.where(_holds(word))
        newest = query.order_by(ConversationRow.changed_at.desc(), ConversationRow.id.desc())
        with self._database.reading() as connection:
            rows = connection.execute(newest.limit(limit))
            return tuple(StoredConversation(*row) for row in rows)

    def read(self, uid: str, owner: str) -> tuple[StoredConversation, tuple[StoredMessage, ...]]:
        """A conversation with its messages, the first first.

        Raises:
            UnknownConversation: It was deleted, or is another's.
        """
        if not is_text(uid):
            raise UnknownConversation(uid)
        mine = (ConversationRow.uid == uid, ConversationRow.owner == owner)
        with self._database.reading() as connection:
            head = connection.execute(_HEADS.where(*mine)).first()
            if head is None:
                raise UnknownConversation(uid)
            query = select(MessageRow.__table__).join(ConversationRow).where(*mine)
            rows = connection.execute(query.order_by(MessageRow.id)).all()
        return StoredConversation(*head), tuple(map(_message, rows))

    @repeated
    def rename(self, uid: str, owner: str, title: str) -> None:
        """Gives a conversation another title; its place in the list stays.

        Raises:
            UnknownConversation: As `read`.
        """
        mine = (ConversationRow.uid == uid, ConversationRow.owner == owner)
        with self._database.writing() as connection:
            row = update(ConversationRow).where(*mine).values(title=title)
            if not connection.execute(row).rowcount:
                raise UnknownConversation(uid)

    @repeated
    def remove(self, uid: str, owner: str) -> None:
        """Deletes a conversation with its messages.

        Raises:
            UnknownConversation: As `read`.
        """
        mine = (ConversationRow.uid == uid, ConversationRow.owner == owner)
        with self._database.writing() as connection:
            if not connection.execute(delete(ConversationRow).where(*mine)).rowcount:
                raise UnknownConversation(uid)

    @repeated
    def clear(self, collection: str, owner: str | None = None) -> int:
        """Deletes all conversations of an owner, or everybody's; how many they were."""
        with self._database.writing() as connection:
            gone = delete(ConversationRow).where(
                ConversationRow.collection_id == reads.collection(connection, collection).id
            )
            if owner is not None:
                gone = gone.where(ConversationRow.owner == owner)
            return connection.execute(gone).rowcount

    def count(self, collection: str) -> int:
        """How many there are, everybody's."""
        query = select(func.count(ConversationRow.id)).join(CollectionRow)
        with self._database.reading() as connection:
            return connection.scalar(query.where(CollectionRow.name == collection)) or 0

    @repeated
    def think(
        self, uid: str, owner: str, message: int, thumb: Literal["up", "down"] | None, note: str
    ) -> None:
        """Stores what was thought of an answer, in place of what was thought before.

        Raises:
            UnknownConversation: As `read`, or it has no such message.
        """
        with self._database.writing() as connection:
            mine = select(ConversationRow.id).where(
                ConversationRow.uid == uid, ConversationRow.owner == owner
            )
            row = update(MessageRow).where(
                MessageRow.id == int(message), MessageRow.conversation_id.in_(mine)
            )
            if not connection.execute(row.values(thumb=thumb, note=note)).rowcount:
                raise UnknownConversation(uid)


def _key(connection: Connection, uid: str, owner: str, collection_id: int) -> int | None:
    query = select(ConversationRow.id).where(
        ConversationRow.uid == uid,
        ConversationRow.owner == owner,
        ConversationRow.collection_id == collection_id,
    )
    found: int | None = connection.execute(query).scalar()
    return found


def _begin(connection: Connection, collection_id: int, owner: str, title: str) -> tuple[int, str]:
    uid, now = uuid.uuid4().hex, _now()
    values = {"collection_id": collection_id, "uid": uid, "owner": owner, "title": title}
    values |= {"made_at": now, "changed_at": now}
    stored = insert(ConversationRow).values(values).returning(ConversationRow.id)
    return connection.execute(stored).scalar_one(), uid


def _delete_message(connection: Connection, conversation: int, message: int | None) -> None:
    if message is None:
        return
    gone = delete(MessageRow).where(
        MessageRow.id == int(message), MessageRow.conversation_id == conversation
    )
    connection.execute(gone)


def _touch(connection: Connection, conversation: int) -> None:
    row = update(ConversationRow).where(ConversationRow.id == conversation)
    connection.execute(row.values(changed_at=_now()))


def _holds(word: str) -> ColumnElement[bool]:
    """Whether a word stands in a conversation, in small or capital letters."""
    said = select(MessageRow.conversation_id).where(
        or_(
            MessageRow.question.icontains(word, autoescape=True),
            MessageRow.text.icontains(word, autoescape=True),
        )
    )
    return or_(ConversationRow.title.icontains(word, autoescape=True), ConversationRow.id.in_(said))


def _message(row: AnyRow) -> StoredMessage:
    return StoredMessage(
        id=row.id,
        asked_at=row.asked_at,
        state=row.state,
        question=row.question,
        text=row.text,
        answer=row.answer,
        thumb=row.thumb,
        note=row.note,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
