"""Work that outlives the request that began it, and the process that did it.

A job waits until a process takes it, which then says every few seconds that it is still at it. One
that falls silent, because it was killed, has its job taken by another, or by itself when it is
started again. So the work of each kind must bear being begun again.

Who is silent is told by one clock, that of the database's server, where several machines work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from index.database import Database, repeated
from index.errors import UnknownJob
from index.schema import AnyRow, JobRow

JobStatus = Literal["waiting", "running", "done", "failed", "cancelled"]

SILENCE_S = 30.0  # after which a process is taken to have died over its job
_ATTEMPTS = 3  # a job that so many processes died over is not tried again
_KEPT = 1000  # jobs that have ended, the newest


@dataclass(frozen=True, slots=True)
class StoredJob:
    id: int
    kind: str
    collection: str
    arguments: Mapping[str, Any]
    status: JobStatus
    done: int  # of `total`, in units of its kind
    total: int | None  # None while it is not known
    note: str  # what it is at, or why it failed
    attempts: int
    cancel: bool  # it was told to end, and has not yet
    made_at: str  # ISO 8601, UTC, like the others
    started_at: str | None
    ended_at: str | None
    result: Mapping[str, Any] | None


class Jobs:
    """Every method is one transaction. Instances may be shared by threads.

    Args:
        worker: Names this process among all that work on the database.
    """

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker

    @repeated
    def put(self, kind: str, collection: str, arguments: Mapping[str, Any]) -> StoredJob:
        values = {
            "kind": kind,
            "collection": collection,
            "arguments": dict(arguments),
            "status": "waiting",
            "done": 0,
            "note": "",
            "attempts": 0,
            "cancel": False,
        }
        with self._database.writing() as connection:
            made = insert(JobRow).values(values | {"made_at": _now(connection)})
            row = connection.execute(made.returning(*_JOB)).one()
            ended = select(JobRow.id).where(JobRow.status.in_(_ENDED)).order_by(JobRow.id.desc())
            if past := connection.scalars(ended.offset(_KEPT).limit(1)).first():
                connection.execute(
                    delete(JobRow).where(JobRow.status.in_(_ENDED), JobRow.id <= past)
                )
        return _job(row)

    def get(self, job_id: int) -> StoredJob:
        """Raises:
        UnknownJob: There is none of that id.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(*_JOB).where(JobRow.id == job_id)).first()
        if row is None:
            raise UnknownJob(job_id)
        return _job(row)

    def all(self, collections: Sequence[str] | None = None, *, limit: int = 100) -> list[StoredJob]:
        """The newest first; those of some collections, or of all."""
        query = select(*_JOB).order_by(JobRow.id.desc()).limit(limit)
        if collections is not None:
            query = query.where(JobRow.collection.in_(collections))
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(query)]

    def counts(self) -> dict[str, int]:
        """How many there are, by status."""
        query = select(JobRow.status, func.count()).group_by(JobRow.status)
        with self._database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    @repeated
    def take(self, kinds: Sequence[str]) -> StoredJob | None:
        """The next job for this process: one that waits, or whose process has fallen silent.

        One that too many processes died over fails instead.
        """
        with self._database.reading() as connection:  # mostly there is none: take no lock for it
            open_ = _open(kinds, connection)
            if connection.execute(select(JobRow.id).where(open_).limit(1)).first() is None:
                return None
        with self._database.writing() as connection:
            open_ = _open(kinds, connection)
            given_up = update(JobRow).where(open_, JobRow.attempts >= _ATTEMPTS)
            note = f"the process that did it ended {_ATTEMPTS} times before it was done"
            now = _now(connection)
            connection.execute(given_up.values(status="failed", note=note, ended_at=now))
            query = select(JobRow.id).where(open_).order_by(JobRow.id).limit(1)
            key = connection.scalars(query.with_for_update(skip_locked=True)).first()
            if key is None:
                return None
            values = {
                "status": "running",
                "worker": self._worker,
                "seen_at": now,
                "started_at": now,
                "attempts": JobRow.attempts + 1,
            }
            begun = update(JobRow).where(JobRow.id == key).values(values).returning(*_JOB)
            return _job(connection.execute(begun).one())

    def report(self, job_id: int, done: int, total: int | None, note: str) -> bool:
        """Says how far a job of this process is, and that the process lives.

        Returns:
            Whether to go on: somebody may have cancelled it, or taken it over.
        """
        values = {"done": done, "total": total, "note": note}
        with self._database.writing() as connection:
            said = update(JobRow).where(self._mine(job_id))
            said = said.values(values | {"seen_at": _now(connection)})
            row = connection.execute(said.returning(JobRow.cancel)).first()
        return row is not None and not row.cancel

    def end(
        self,
        job_id: int,
        status: Literal["done", "failed", "cancelled"],
        *,
        note: str = "",
        result: Mapping[str, Any] | None = None,
    ) -> None:
        """Ends a job of this process."""
        values = {
            "status": status,
            "note": note,
            "result": None if result is None else dict(result),
        }
        with self._database.writing() as connection:
            ended = update(JobRow).where(self._mine(job_id))
            connection.execute(ended.values(values | {"ended_at": _now(connection)}))

    def give_back(self, job_id: int) -> None:
        """Lets a job of this process wait for another one; it does not count as an attempt."""
        values = {"status": "waiting", "attempts": JobRow.attempts - 1, "worker": None}
        with self._database.writing() as connection:
            connection.execute(update(JobRow).where(self._mine(job_id)).values(values))

    def cancel(self, job_id: int) -> StoredJob:
        """Ends a job that waits, and tells one that runs to end; one that has ended stays so.

        Raises:
            UnknownJob: There is none of that id.
        """
        mine = JobRow.id == job_id
        with self._database.writing() as connection:
            waiting = update(JobRow).where(mine, JobRow.status == "waiting")
            values = {"status": "cancelled", "cancel": True, "ended_at": _now(connection)}
            connection.execute(waiting.values(values))
            running = update(JobRow).where(mine, JobRow.status == "running")
            connection.execute(running.values(cancel=True))
            row = connection.execute(select(*_JOB).where(mine)).first()
        if row is None:
            raise UnknownJob(job_id)
        return _job(row)

    @repeated
    def forget(self, collection: str | None = None) -> list[int]:
        """Deletes the jobs of a collection, or all, that have ended; their results name documents.

        Returns:
            Their ids.
        """
        gone = delete(JobRow).where(JobRow.status.in_(_ENDED))
        if collection is not None:
            gone = gone.where(JobRow.collection == collection)
        with self._database.writing() as connection:
            return list(connection.scalars(gone.returning(JobRow.id)))

    def _mine(self, job_id: int) -> ColumnElement[bool]:
        """It runs, and it is this process that runs it."""
        return and_(JobRow.id == job_id, JobRow.status == "running", JobRow.worker == self._worker)


_ENDED = ("done", "failed", "cancelled")
_JOB = (
    JobRow.id,
    JobRow.kind,
    JobRow.collection,
    JobRow.arguments,
    JobRow.status,
    JobRow.done,
    JobRow.total,
    JobRow.note,
    JobRow.attempts,
    JobRow.cancel,
    JobRow.made_at,
    JobRow.started_at,
    JobRow.ended_at,
    JobRow.result,
)


def _job(row: AnyRow) -> StoredJob:
    return StoredJob(
        row.id,
        row.kind,
        row.collection,
        row.arguments,
        cast("JobStatus", row.status),
        row.done,
        row.total,
        row.note,
        row.attempts,
        row.cancel,
        row.made_at,
        row.started_at,
        row.ended_at,
        row.result,
    )


def _open(kinds: Sequence[str], connection: Connection) -> ColumnElement[bool]:
    """It waits, or its process has fallen silent."""
    silent = and_(JobRow.status == "running", JobRow.seen_at < _now(connection, -SILENCE_S))
    return and_(JobRow.kind.in_(kinds), or_(JobRow.status == "waiting", silent))


def _now(connection: Connection, later_s: float = 0) -> str:
    at: datetime = datetime.now(UTC)
    if connection.dialect.name == "postgresql":
        at = connection.execute(_SERVER_CLOCK).scalar_one()
    moved = at.astimezone(UTC) + timedelta(seconds=later_s)
    return moved.isoformat(timespec="milliseconds")


_SERVER_CLOCK = text("SELECT clock_timestamp()")
