"""What a collection was measured at: the figures of the last evaluations are kept."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from index.newest import let_go
from index.records import EvaluationKind, StoredCollection, StoredEvaluation
from index.schema import EvaluationRow

_KEPT = 20  # of a collection


def keep(
    connection: Connection,
    collection: StoredCollection,
    kind: EvaluationKind,
    figures: Mapping[str, Any],
) -> None:
    """Keeps one, and lets go of the oldest that are too many."""
    mine = EvaluationRow.collection_id == collection.id
    values = {
        "collection_id": collection.id,
        "kind": kind,
        "figures": dict(figures),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    connection.execute(insert(EvaluationRow).values(values))
    let_go(connection, EvaluationRow.id, mine, _KEPT)


def listed(connection: Connection, collection: StoredCollection) -> tuple[StoredEvaluation, ...]:
    """The last made first."""
    row = EvaluationRow
    query = select(row.kind, row.figures, row.made_at).where(row.collection_id == collection.id)
    rows = connection.execute(query.order_by(row.id.desc()))
    return tuple(StoredEvaluation(*found) for found in rows)
