"""Tables that keep the last rows of each collection."""

from sqlalchemy import ColumnElement, Connection, delete, select
from sqlalchemy.orm import InstrumentedAttribute


def let_go(
    connection: Connection, key: InstrumentedAttribute[int], mine: ColumnElement[bool], kept: int
) -> None:
    """Deletes the oldest of the rows that `mine` selects, so that so many are left.

    Args:
        connection: that has just stored one
        key: of the table, which grows
        mine: rows of one collection
        kept: at least one
    """
    newest = select(key).where(mine).order_by(key.desc()).limit(kept)
    last = connection.scalars(newest).all()[-1]
    connection.execute(delete(key.class_).where(mine, key < last))
