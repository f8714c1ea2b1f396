"""Conversations that a library keeps on this machine: begun by a question, named, found, exported.

With `remember_questions` off nothing is stored, and a conversation lasts as long as its page.
"""

import logging
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from index import StorageError
from index.records import MessageState, StoredConversation, StoredMessage
from rag.errors import UsageError
from rag.kept_answers import packed, unpacked
from rag.loaders.cleaning import clean, is_blank
from rag.records import Answer

if TYPE_CHECKING:
    from rag.library import Library

LONGEST_TITLE = 120  # characters
LONGEST_NOTE = 2_000  # characters
_NAMED = 60  # characters of the first question that name a conversation
_PATIENCE_S = 0.5  # that a question waits for a lock before it is answered without being kept

_log = logging.getLogger(__name__)

Thumb = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Message:
    """A question of a conversation and what came of it."""

    id: int
    asked_at: str  # ISO 8601, UTC
    state: MessageState  # stopped also where the process ended before the answer did
    question: str
    text: str  # of the answer, as far as it came; or why it failed
    answer: Answer | None  # None unless it was answered
    thumb: Thumb | None = None
    note: str = ""  # what was written beside the thumb


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with all of its messages, the first first."""

    head: StoredConversation
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a question was stored before its answer came."""

    uid: str  # of the conversation
    message: int


class Conversations:
    """The conversations of a library that belong to one person.

    Args:
        library: whose they are
        owner: the person: what their browser is known by, "" at the machine itself
        collection: which they are about; None is the one of the settings
    """

    def __init__(self, library: "Library", owner: str = "", collection: str | None = None) -> None:
        from index.conversations import Conversations as Stored

        self._library = library
        self._owner = owner
        self._collection = collection or library.settings.collection
        self._stored = Stored(library.catalog.database)

    @property
    def kept(self) -> bool:
        """Whether anything new is stored."""
        return self._library.settings.remember_questions

    def listed(self, wanted: str = "", limit: int = 200) -> tuple[StoredConversation, ...]:
        """The last changed first; with `wanted` those that hold each of its words."""
        return self._stored.listed(self._collection, self._owner, clean(wanted)[0], limit)

    def read(self, uid: str) -> Conversation:
        """A conversation, its answers over the documents of today.

        Raises:
            UnknownConversation: it was deleted, or is another's.
        """
        head, messages = self._stored.read(uid, self._owner)
        return Conversation(head, tuple(self._message(each, head) for each in messages))

    def begin(
        self, question: str, uid: str | None = None, *, instead_of: int | None = None
    ) -> Kept | None:
        """Store a question before it is answered, so that a stop keeps it.

        Whoever asks gets an answer all the same: that it could not be stored is only logged.

        Args:
            question: as it was written
            uid: the conversation's; None begins one, which the question names
            instead_of: a message that this one takes the place of, with its answer

        Returns:
            None where nothing is stored.
        """
        if not self.kept or not self._library.exists(self._collection):
            return None
        question, _ = clean(question)
        try:
            uid, message = self._stored.ask(
                self._collection,
                self._owner,
                question,
                title=named_by(question),
                uid=uid,
                instead_of=instead_of,
                patience_s=_PATIENCE_S,
            )
        except StorageError as error:
            _log.warning("a question was not kept: %s", error)
            return None
        return Kept(uid, message)

    def settle(
        self,
        kept: Kept | None,
        text: str,
        answer: Answer | None = None,
        *,
        failed: bool = False,
    ) -> None:
        """Store what came of a question: the answer, why it failed, or what came until a stop."""
        if kept is None:
            return
        state: MessageState = "failed" if failed else "stopped"
        if answer is not None:
            state, text = "answered", answer.answer
        try:
            self._stored.settle(
                kept.message,
                state,
                clean(text)[0],
                None if answer is None else packed(answer),
                patience_s=_PATIENCE_S,
            )
        except StorageError as error:
            _log.warning("an answer was not kept: %s", error)

    def recorded(
        self, kept: Kept | None, pieces: Iterator[str | Answer]
    ) -> Generator[str | Answer, None, None]:
        """The same pieces; what came of them is stored, also where they were not all wanted.

        An error is left to the caller to `settle`, who knows what to say of it.
        """
        came, answer = list[str](), None
        try:
            for piece in pieces:
                if isinstance(piece, Answer):
                    answer = piece
                else:
                    came.append(piece)
                yield piece
        except Exception:
            raise
        except BaseException:  # it is not wanted any more
            self.settle(kept, "".join(came), answer)
            raise
        self.settle(kept, "".join(came), answer)

    def rename(self, uid: str, title: str) -> str:
        """Give a conversation another title, which is returned as it is stored.

        Raises:
            UsageError: nothing is left of the title.
            UnknownConversation: as `read`.
        """
        title = _one_line(title)[:LONGEST_TITLE].rstrip()
        if is_blank(title):
            raise UsageError("a conversation needs a name: write 1 character or more")
        self._stored.rename(uid, self._owner, title)
        return title

    def remove(self, uid: str) -> None:
        """Delete a conversation with its messages.

        Raises:
            UnknownConversation: as `read`.
        """
        self._stored.remove(uid, self._owner)

    def clear(self) -> int:
        """Delete all of them; how many they were."""
        if not self._library.exists(self._collection):
            return 0
        return self._stored.clear(self._collection, self._owner)

    def think(self, kept: Kept, thumb: Thumb | None, note: str = "") -> None:
        """Store what was thought of an answer, in place of what was thought before.

        Raises:
            UsageError: the note is too long.
            UnknownConversation: as `read`.
        """
        note = clean(note)[0].strip()
        if len(note) > LONGEST_NOTE:
            raise UsageError(
                f"the note has {len(note)} characters, {LONGEST_NOTE} are taken: shorten it"
            )
        self._stored.think(kept.uid, self._owner, kept.message, thumb, note)

    def _message(self, stored: StoredMessage, head: StoredConversation) -> Message:
        answer = None
        if stored.answer is not None:
            # An archive may have brought anything: its text is shown all the same.
            with suppress(AttributeError, KeyError, TypeError, ValueError):
                answer = unpacked(stored.answer, self._library, head.collection)
        return Message(
            id=stored.id,
            asked_at=stored.asked_at,
            state=stored.state,
            question=stored.question,
            text=stored.text,
            answer=answer,
            thumb=stored.thumb,
            note=stored.note,
        )


def named_by(question: str) -> str:
    """The title of a conversation that begins with this question, cut between words."""
    line = _one_line(question)
    if len(line) <= _NAMED:
        return line
    short = line[:_NAMED]
    return f"{short.rpartition(' ')[0] or short}…"


def _one_line(text: str) -> str:
    return " ".join(clean(text)[0].split())
