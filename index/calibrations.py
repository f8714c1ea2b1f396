"""From when on a collection's questions are answered: one fit for each pair of models."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from index.newest import let_go
from index.records import StoredCalibration, StoredCollection
from index.schema import CalibrationRow

_KEPT = 10  # of a collection, one a pair of models: who tries many leaves few behind


def keep(
    connection: Connection,
    collection: StoredCollection,
    encoder: str,
    generator: str,
    fitted: Mapping[str, Any],
) -> None:
    """Stores a fit in place of the last one of the same models."""
    mine = CalibrationRow.collection_id == collection.id
    same = (mine, CalibrationRow.encoder == encoder, CalibrationRow.generator == generator)
    connection.execute(delete(CalibrationRow).where(*same))
    values = {
        "collection_id": collection.id,
        "encoder": encoder,
        "generator": generator,
        "fitted": dict(fitted),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    connection.execute(insert(CalibrationRow).values(values))
    let_go(connection, CalibrationRow.id, mine, _KEPT)


def listed(connection: Connection, collection: StoredCollection) -> tuple[StoredCalibration, ...]:
    """All of them, the last made first."""
    row = CalibrationRow
    query = select(row.encoder, row.generator, row.fitted, row.made_at)
    mine = query.where(row.collection_id == collection.id).order_by(row.id.desc())
    return tuple(StoredCalibration(*found) for found in connection.execute(mine))


def stored(
    connection: Connection, collection: StoredCollection, encoder: str, generator: str
) -> StoredCalibration | None:
    """That of exactly these models."""
    query = select(CalibrationRow.fitted, CalibrationRow.made_at).where(
        CalibrationRow.collection_id == collection.id,
        CalibrationRow.encoder == encoder,
        CalibrationRow.generator == generator,
    )
    row = connection.execute(query).first()
    return None if row is None else StoredCalibration(encoder, generator, row.fitted, row.made_at)
