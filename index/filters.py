"""Which documents a filter admits."""

import re
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import translate

from sqlalchemy import ColumnElement, Connection, func, or_, select

from index.errors import BadFilter
from index.records import Filter
from index.schema import DocumentRow, TagRow
from index.titles import nfc


def matching(connection: Connection, collection_id: int, given: Filter) -> list[int]:
    """The ids of the documents that meet every condition, in ascending order.

    For a duplicate it is the id of its original, which has the chunks.

    Raises:
        BadFilter: A date that is none.
    """
    query = select(DocumentRow.id, DocumentRow.path, DocumentRow.status, DocumentRow.sha256).where(
        DocumentRow.collection_id == collection_id, *_conditions(given)
    )
    patterns = [_pattern(glob) for glob in given.paths]
    named = None if given.documents is None else set(given.documents)
    admitted = [
        row
        for row in connection.execute(query)
        if (named is None or row.id in named)
        and (not patterns or any(pattern.match(_slashes(row.path)) for pattern in patterns))
    ]
    found = {row.id for row in admitted if row.status == "indexed"}
    copied = {row.sha256 for row in admitted if row.status == "duplicate"}
    originals = select(DocumentRow.id, DocumentRow.sha256).where(
        DocumentRow.collection_id == collection_id, DocumentRow.status == "indexed"
    )
    if copied:
        found |= {row.id for row in connection.execute(originals) if row.sha256 in copied}
    return sorted(found)


def _conditions(given: Filter) -> list[ColumnElement[bool]]:
    conditions = []
    if given.media_types:
        conditions.append(or_(*map(_of_type, given.media_types)))
    if given.since is not None:
        conditions.append(DocumentRow.modified >= _moment(given.since, last=False))
    if given.until is not None:
        conditions.append(DocumentRow.modified <= _moment(given.until, last=True))
    conditions += [_tagged(name) for name in given.tags]
    return conditions


def _of_type(media_type: str) -> ColumnElement[bool]:
    family, star, _ = media_type.partition("/*")
    if star:
        start = func.substr(DocumentRow.media_type, 1, len(family) + 1)
        return func.lower(start) == f"{family}/".lower()
    return func.lower(DocumentRow.media_type) == media_type.lower()


def _tagged(name: str) -> ColumnElement[bool]:
    mine = (TagRow.document_id == DocumentRow.id, TagRow.name == nfc(name))
    return select(TagRow.name).where(*mine).exists()


def _pattern(glob: str) -> re.Pattern[str]:
    """A pattern that begins at the root matches a whole path, any other the end of one."""
    anywhere = "" if glob.startswith(("/", "*")) or re.match(r"\w:", glob) else "*/"
    shape = _slashes(nfc(glob))
    return re.compile(f"{translate(anywhere + shape)}|{translate(shape)}")


def _slashes(path: str) -> str:
    return nfc(path).replace("\\", "/")


def _moment(given: str, *, last: bool) -> str:
    """A date or time as the catalogue writes it: UTC, seconds. A bare date is a local day."""
    try:
        if len(given.strip()) <= len("2024-01-01"):
            day = datetime.combine(date.fromisoformat(given.strip()), time())
            moment = day + (timedelta(days=1, seconds=-1) if last else timedelta())
        else:
            moment = datetime.fromisoformat(given.strip())
    except ValueError as error:
        raise BadFilter(f"{given!r} is no date: write 2024-05-31, or 2024-05-31T18:00") from error
    return moment.astimezone(UTC).isoformat(timespec="seconds")
