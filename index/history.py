"""The questions that were asked of a collection, and what was thought of what they were shown.

A judgement names its passage by the content of the document and the place in its text. So it holds
after the library was cut anew for another model, after the file was moved, and in another
database; where the document changed, the same words under the same heading are the passage still.
"""

import hashlib
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute

from index.analysis import is_korean
from index.errors import UnknownChunk
from index.records import AskedQuestion, Judgement, StoredCollection
from index.schema import AnyRow, AnySelect, ChunkRow, DocumentRow, JudgementRow, QuestionRow

_Insert = sqlite.Insert | postgresql.Insert
_THUMBS = ("up", "down")
_BOUND = 500  # hashes in one query


def remember(connection: Connection, collection: StoredCollection, question: str) -> None:
    """Counts a question; the same one in other capitals or with other blanks is the same."""
    put = _insert(connection).values(_values(collection, question))
    again = {"times": QuestionRow.times + 1, "asked_at": put.excluded.asked_at}
    connection.execute(
        put.on_conflict_do_update(index_elements=["collection_id", "sha256"], set_=again)
    )


def judge(
    connection: Connection,
    collection: StoredCollection,
    question: str,
    chunk_id: int,
    kind: Judgement | None,
) -> None:
    """Stores what was thought of a passage, the question with it where it is not known yet.

    Args:
        kind: A thumb replaces the one before; None takes it back.

    Raises:
        UnknownChunk: The collection has none of this id any more.
    """
    chunk = _chunk(connection, collection, chunk_id)
    put = _insert(connection).values(_values(collection, question))
    connection.execute(put.on_conflict_do_nothing(index_elements=["collection_id", "sha256"]))
    key = connection.execute(
        select(QuestionRow.id).where(
            QuestionRow.collection_id == collection.id, QuestionRow.sha256 == _key(question)
        )
    ).scalar_one()
    replaced = ("opened",) if kind == "opened" else _THUMBS
    same = (
        JudgementRow.question_id == key,
        JudgementRow.document_sha256 == chunk.sha256,
        JudgementRow.start == chunk.start,
        JudgementRow.end == chunk.end,
        JudgementRow.kind.in_(replaced),
    )
    connection.execute(delete(JudgementRow).where(*same))
    if kind is not None:
        row = {"document_sha256": chunk.sha256, "start": chunk.start, "end": chunk.end}
        row |= {"text_sha256": chunk.text_sha256, "question_id": key, "kind": kind, "at": _now()}
        connection.execute(JudgementRow.__table__.insert(), row)  # type: ignore[attr-defined]


def asked(connection: Connection, collection: StoredCollection) -> tuple[AskedQuestion, ...]:
    """All of them, the last asked first."""
    judged = _judged(connection, collection)
    mine = QuestionRow.collection_id == collection.id
    query = select(QuestionRow.__table__).where(mine)
    rows = connection.execute(query.order_by(QuestionRow.asked_at.desc(), QuestionRow.id.desc()))
    return tuple(
        AskedQuestion(
            text=row.text,
            language=row.language,
            asked_at=row.asked_at,
            times=row.times,
            **{kind: tuple(sorted(judged[row.id, kind])) for kind in get_args(Judgement)},
        )
        for row in rows
    )


def count(connection: Connection, collection: StoredCollection) -> int:
    """How many different questions are remembered."""
    mine = QuestionRow.collection_id == collection.id
    return connection.execute(select(func.count(QuestionRow.id)).where(mine)).scalar_one()


def forget(connection: Connection, collection: StoredCollection) -> int:
    """Deletes the questions and with them the judgements; how many questions it were."""
    gone = delete(QuestionRow).where(QuestionRow.collection_id == collection.id)
    return connection.execute(gone).rowcount


def _judged(
    connection: Connection, collection: StoredCollection
) -> dict[tuple[int, str], set[int]]:
    """The chunks of today by question and kind; of two thumbs for one chunk the later counts."""
    mine = QuestionRow.collection_id == collection.id
    query = select(JudgementRow.__table__).join(QuestionRow).where(mine)
    rows = list(connection.execute(query.order_by(JudgementRow.id)))
    chunks = _at_their_places(connection, collection, rows)
    lost = {row.text_sha256 for row in rows if row.id not in chunks}
    words = _by_their_words(connection, collection, lost)
    found = defaultdict[tuple[int, str], set[int]](set)
    for row in rows:
        for chunk in (chunks[row.id],) if row.id in chunks else words[row.text_sha256]:
            for thumb in _THUMBS if row.kind in _THUMBS else ():
                found[row.question_id, thumb].discard(chunk)
            found[row.question_id, row.kind].add(chunk)
    return found


def _at_their_places(
    connection: Connection, collection: StoredCollection, rows: Sequence[AnyRow]
) -> dict[int, int]:
    """By judgement, the chunk that covers most of its place in the same content."""
    cuts = defaultdict[str, list[AnyRow]](list)
    query = _living(collection, DocumentRow.sha256, ChunkRow.start, ChunkRow.end)
    hashes = {row.document_sha256 for row in rows}
    for row in _among(connection, query, DocumentRow.sha256, hashes):
        cuts[row.sha256].append(row)
    for cut in cuts.values():
        cut.sort(key=lambda row: row.start)
    found = ((row.id, _covering(cuts[row.document_sha256], row.start, row.end)) for row in rows)
    return {key: chunk for key, chunk in found if chunk is not None}


def _covering(cut: Sequence[AnyRow], start: int, end: int) -> int | None:
    """Of chunks in reading order, which end in that order too."""
    first = bisect_right(cut, start, key=lambda row: row.end)
    last = bisect_left(cut, end, key=lambda row: row.start)
    near = ((min(row.end, end) - max(row.start, start), -row.id) for row in cut[first:last])
    best = max(near, default=None)
    return None if best is None else -best[1]


def _by_their_words(
    connection: Connection, collection: StoredCollection, hashes: set[str]
) -> dict[str, list[int]]:
    """The chunks of these words, wherever they stand now."""
    found = defaultdict[str, list[int]](list)
    query = _living(collection, ChunkRow.text_sha256)
    for row in _among(connection, query, ChunkRow.text_sha256, hashes):
        found[row.text_sha256].append(row.id)
    return found


def _living(collection: StoredCollection, *columns: Any) -> AnySelect:
    """The chunks that are searched."""
    return (
        select(ChunkRow.id, *columns)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(
            DocumentRow.collection_id == collection.id,
            ChunkRow.fingerprint == collection.model.fingerprint,
        )
    )


def _among(
    connection: Connection,
    query: AnySelect,
    column: InstrumentedAttribute[str],
    hashes: set[str],
) -> Iterator[AnyRow]:
    """Named one by one: joined with the judgements, SQLite would try every pair."""
    ordered = sorted(hashes)
    for first in range(0, len(ordered), _BOUND):
        some = column.in_(ordered[first : first + _BOUND])
        yield from connection.execute(query.where(some))


def _chunk(connection: Connection, collection: StoredCollection, chunk_id: int) -> AnyRow:
    query = (
        select(ChunkRow.start, ChunkRow.end, ChunkRow.text_sha256, DocumentRow.sha256)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(ChunkRow.id == int(chunk_id), DocumentRow.collection_id == collection.id)
    )
    found = connection.execute(query).first()
    if found is None:
        raise UnknownChunk(collection.name, chunk_id)
    return found


def _values(collection: StoredCollection, question: str) -> dict[str, Any]:
    return {
        "collection_id": collection.id,
        "text": question.strip(),
        "sha256": _key(question),
        "language": "ko" if is_korean(question) else "en",
        "asked_at": _now(),
        "times": 1,
    }


def _insert(connection: Connection) -> _Insert:
    """Of both databases, since only their own can say what is to be done with what is there."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(QuestionRow)
    return postgresql.insert(QuestionRow)


def _key(question: str) -> str:
    folded = " ".join(unicodedata.normalize("NFC", question).casefold().split())
    return hashlib.sha256(folded.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
