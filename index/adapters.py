"""What a collection's model was taught: adapters are kept, and one of them may be in use.

One that was made on another model than the collection has now is of no use, and never is.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, literal, select, update

from index.errors import AdapterMismatch, UnknownAdapter
from index.records import StoredAdapter, StoredCollection
from index.schema import AdapterRow, AnyRow, CollectionRow

_KEPT = 10  # adapters of a collection, of a few hundred kilobytes to a few megabytes each
_NONE = literal(b"")
_listed = (
    AdapterRow.id,
    AdapterRow.fingerprint,
    AdapterRow.base,
    AdapterRow.kind,
    AdapterRow.report,
    AdapterRow.made_at,
)


def add(connection: Connection, collection: StoredCollection, values: dict[str, Any]) -> int:
    """Keeps one, and lets go of the oldest that are too many and not in use; its id."""
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    row = {"made_at": made_at, **values, "collection_id": collection.id}
    made = insert(AdapterRow).values(row).returning(AdapterRow.id)
    key: int = connection.execute(made).scalar_one()
    mine = select(AdapterRow.id).where(AdapterRow.collection_id == collection.id)
    last = connection.scalars(mine.order_by(AdapterRow.id.desc()).limit(_KEPT)).all()
    former = delete(AdapterRow).where(
        AdapterRow.collection_id == collection.id,
        AdapterRow.id < last[-1],
        AdapterRow.id != (collection.adapter_id or key),
    )
    connection.execute(former)
    return key


def forget_reports(connection: Connection, collection: StoredCollection) -> None:
    """Empties what is told of how they were made: it quotes questions."""
    mine = update(AdapterRow).where(AdapterRow.collection_id == collection.id)
    connection.execute(mine.values(report={}))


def stored(connection: Connection, collection: StoredCollection) -> tuple[StoredAdapter, ...]:
    """All of them without their data, the last made first."""
    query = select(*_listed, _NONE.label("data"))
    mine = query.where(AdapterRow.collection_id == collection.id)
    rows = connection.execute(mine.order_by(AdapterRow.id.desc()))
    return tuple(_record(row, collection) for row in rows)


def active(connection: Connection, collection: StoredCollection) -> StoredAdapter | None:
    if collection.adapter_id is None:
        return None
    query = select(*_listed, AdapterRow.data).where(
        AdapterRow.id == collection.adapter_id,
        AdapterRow.collection_id == collection.id,
        AdapterRow.base == collection.model.fingerprint,
    )
    row = connection.execute(query).first()
    return None if row is None else _record(row, collection)


def use(connection: Connection, collection: StoredCollection, adapter_id: int | None) -> None:
    """Expects that the caller has taken its turn, so that the model stays what it is."""
    if adapter_id is not None:
        mine = (AdapterRow.id == adapter_id, AdapterRow.collection_id == collection.id)
        base = connection.execute(select(AdapterRow.base).where(*mine)).scalar()
        if base is None:
            raise UnknownAdapter(collection.name, adapter_id)
        if base != collection.model.fingerprint:
            raise AdapterMismatch(collection.name, collection.model, adapter_id, base)
    row = update(CollectionRow).where(CollectionRow.id == collection.id)
    connection.execute(row.values(adapter_id=adapter_id))


def _record(row: AnyRow, collection: StoredCollection) -> StoredAdapter:
    return StoredAdapter(
        id=row.id,
        fingerprint=row.fingerprint,
        base=row.base,
        kind=row.kind,
        report=row.report,
        made_at=row.made_at,
        active=row.id == collection.adapter_id and row.base == collection.model.fingerprint,
        data=row.data,
    )
