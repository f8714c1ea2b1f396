"""Documents by what they are called and dated: for questions about the library itself.

A document is of the days that its title or file name tells (minutes-2025-04.docx), and where they
tell none, of the day when its file was last written.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import PurePath

from index import StoredDocument
from index.analysis import content_words
from rag.periods import Period, period_of
from rag.requests import Dated

_IN_NAME = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)(?:[-_. ]?(?P<m>0[1-9]|1[0-2])(?:[-_. ]?(?P<d>[0-3]\d))?)?(?!\d)"
)
_WRITTEN = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r" (?:19|20)\d\d\b|(?:19|20)\d\d년 ?\d{1,2}월(?: ?\d{1,2}일)?",
    re.IGNORECASE,
)
_ALSO = (  # what documents of one kind may be called
    ("minutes", "회의록"),
    ("report", "보고"),
    ("contract", "계약"),
    ("notes", "note", "노트"),
    ("memo", "메모"),
    ("invoice", "청구서", "송장"),
    ("letter", "편지"),
    ("email", "e-mail", "메일"),
    ("slides", "presentation", "발표"),
    ("newsletter", "소식지"),
    ("notice", "공지", "공문"),
    ("log", "일지"),
)


def period_of_document(row: StoredDocument) -> Period | None:
    """The days that a document is of; None where nothing tells."""
    for name in (row.title, PurePath(row.path).stem):
        if found := _WRITTEN.search(name):
            return period_of(found[0], date.max)
        if found := _IN_NAME.search(name):
            return period_of("-".join(filter(None, found.groups())), date.max)
    if row.modified is None:
        return None
    day = datetime.fromisoformat(row.modified).astimezone().date()
    return Period(day, day)


def of_days(rows: Sequence[StoredDocument], dated: Dated) -> list[StoredDocument]:
    """The documents of that kind that are of these days."""
    return [
        row
        for row in rows
        if (of := period_of_document(row)) is not None
        and of.overlaps(dated.period)
        and _is_of(row, dated.kind)
    ]


def _is_of(row: StoredDocument, kind: str | None) -> bool:
    if kind is None:
        return True
    names = {kind, kind.replace("-", "")}
    for group in _ALSO:
        if names & set(group):
            names |= set(group)
    called = f"{row.title} {PurePath(row.path).name}".casefold()
    return any(name in called for name in names)


def named(rows: Sequence[StoredDocument], name: str) -> list[StoredDocument]:
    """The documents whose title or file name has every word of a name.

    One that is called exactly so stands for all of them.
    """
    wanted = set(content_words(name))
    if not wanted:
        return []
    exact = [row for row in rows if name.casefold() in (row.title.casefold(), *_file_names(row))]
    if exact:
        return exact
    called = {row.id: set(content_words(f"{row.title} {_spaced(row)}")) for row in rows}
    return [row for row in rows if wanted <= called[row.id]]


def in_folder(rows: Sequence[StoredDocument], folder: str) -> list[StoredDocument]:
    """The documents below a folder of that name, or whose path goes through it."""
    parts = tuple(part.casefold() for part in re.split(r"[/\\]", folder.strip("/\\ ")) if part)
    found = []
    for row in rows:
        above = tuple(part.casefold() for part in re.split(r"[/\\]", row.path)[:-1])
        if any(above[i : i + len(parts)] == parts for i in range(len(above))):
            found.append(row)
    return found


def of_media(rows: Sequence[StoredDocument], ending: str) -> list[StoredDocument]:
    return [row for row in rows if PurePath(row.path).suffix.casefold() == f".{ending}"]


def _file_names(row: StoredDocument) -> tuple[str, str]:
    file = PurePath(row.path)
    return file.name.casefold(), file.stem.casefold()


def _spaced(row: StoredDocument) -> str:
    return re.sub(r"[-_.]+", " ", PurePath(row.path).stem)
