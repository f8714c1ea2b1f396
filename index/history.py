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

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute

from index.analysis import is_korean
from index.errors import UnknownChunk
from index.records import AskedQuestion, Judgement, StoredCollection
from index.schema import AnyRow, AnySelect, ChunkRow, DocumentRow, JudgementRow, QuestionRow

_Insert = sqlite.Insert | postgresql.Insert
_UNIQUE = ("collection_id", "sha256")
_THUMBS = ("up", "down")
_BOUND = 500  # hashes in one query
_MOST = 20_000  # questions of a collection: some megabytes, and far more than it learns from
_AT_ONCE = 1_000  # that go where there are more, so that not each one more has to look for another


def remember(connection: Connection, collection: StoredCollection, question: str) -> None:
    """Counts a question; the same one in other capitals or with other blanks is the same.

    Where a collection has too many, those that nobody has asked for longest are forgotten.
    """
    put = _insert(connection).values(values_of(collection.id, question, _now()))
    again = {"times": QuestionRow.times + 1, "asked_at": put.excluded.asked_at}
    counted = put.on_conflict_do_update(index_elements=_UNIQUE, set_=again)
    times = connection.execute(counted.returning(QuestionRow.times)).scalar_one()
    if times == 1:
        _make_room(connection, collection)


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
    key = _id_of(connection, collection, question)
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
        place = {"document_sha256": chunk.sha256, "start": chunk.start, "end": chunk.end}
        place |= {"text_sha256": chunk.text_sha256, "question_id": key, "kind": kind, "at": _now()}
        connection.execute(insert(JudgementRow).values(place))


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


def values_of(collection_id: int, question: str, asked_at: str, times: int = 1) -> dict[str, Any]:
    """A row of the table of questions, with what follows from the text."""
    return {
        "collection_id": collection_id,
        "text": question.strip(),
        "sha256": _key(question),
        "language": "ko" if is_korean(question) else "en",
        "asked_at": asked_at,
        "times": times,
    }


def _id_of(connection: Connection, collection: StoredCollection, question: str) -> int:
    """Of a question that was asked, or is stored as asked now."""
    put = _insert(connection).values(values_of(collection.id, question, _now()))
    new = put.on_conflict_do_nothing(index_elements=_UNIQUE).returning(QuestionRow.id)
    made: int | None = connection.execute(new).scalar()
    if made is not None:
        _make_room(connection, collection)
        return made
    there = select(QuestionRow.id).where(
        QuestionRow.collection_id == collection.id, QuestionRow.sha256 == _key(question)
    )
    return connection.execute(there).scalar_one()


def _make_room(connection: Connection, collection: StoredCollection) -> None:
    excess = count(connection, collection) - _MOST
    if excess <= 0:
        return
    mine = select(QuestionRow.id).where(QuestionRow.collection_id == collection.id)
    oldest = mine.order_by(QuestionRow.asked_at, QuestionRow.id).limit(excess + _AT_ONCE)
    connection.execute(delete(QuestionRow).where(QuestionRow.id.in_(oldest)))


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
