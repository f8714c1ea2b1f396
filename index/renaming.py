"""A collection under another name, and what knows it by its name: keys, and jobs that are done."""

from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from index.errors import CollectionBusy, CollectionExists
from index.learning import in_turn
from index.schema import ApiKeyRow, CollectionRow, JobRow

_OPEN = ("waiting", "running")


def rename_collection(connection: Connection, old: str, new: str) -> None:
    """Inside of a writing transaction.

    Raises:
        UnknownCollection: There is none of the old name.
        CollectionExists: The new name is taken.
        CollectionBusy: A job goes by the old name.
    """
    found = in_turn(connection, old)
    if new == old:
        return
    going = (JobRow.collection == old, JobRow.status.in_(_OPEN))
    if jobs := connection.scalar(select(func.count(JobRow.id)).where(*going)):
        raise CollectionBusy(old, jobs)
    row = update(CollectionRow).where(CollectionRow.id == found.id)
    try:
        with connection.begin_nested():
            connection.execute(row.values(name=new))
    except IntegrityError as error:
        raise CollectionExists(new) from error
    done = update(JobRow).where(JobRow.collection == old)
    connection.execute(done.values(collection=new))
    _rename_in_keys(connection, old, new)


def _rename_in_keys(connection: Connection, old: str, new: str) -> None:
    """A key that is left with the old name would open what gets that name next."""
    limited = select(ApiKeyRow.id, ApiKeyRow.collections).where(ApiKeyRow.collections.is_not(None))
    for key, names in connection.execute(limited).all():
        if names is not None and old in names:
            row = update(ApiKeyRow).where(ApiKeyRow.id == key)
            renamed = sorted({new if name == old else name for name in names})
            connection.execute(row.values(collections=renamed))
