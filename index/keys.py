"""Who may come in: keys of the HTTP service, the password of the page, and who gave it.

Only hashes are kept. A key or a session is 256 random bits, which nobody can guess from a fast
hash; the password's hash is made, and compared, by who knows how (`rag.access`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast

from sqlalchemy import delete, exists, insert, select, update

from index.database import Database, repeated
from index.errors import UnknownKey
from index.schema import AnyRow, ApiKeyRow, PagePasswordRow, PageSessionRow

Access = Literal["read", "write"]

PREFIX = "attest_"  # makes a key that lies about known for what it is
_SHOWN = len(PREFIX) + 4  # characters of a key that are kept readable, to tell one from another
_LIVES = timedelta(days=30)  # a session, after which the password is asked for again
_NOTED_EVERY = timedelta(minutes=1)  # that a key was used: not a write for each request


@dataclass(frozen=True, slots=True)
class StoredKey:
    id: int
    name: str
    shown: str  # how it begins
    access: Access
    collections: tuple[str, ...] | None  # None: all
    made_at: str  # ISO 8601, UTC, like the others
    used_at: str | None
    revoked_at: str | None


@dataclass(frozen=True, slots=True)
class Guarded:
    """What there is that one has to show."""

    password: bool
    keys: bool


class Keys:
    """Every method is one transaction. Instances may be shared by threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def guarded(self) -> Guarded:
        """Whether there is a password, and whether there is a key that was not revoked."""
        password = exists(select(PagePasswordRow.id))
        live = exists(select(ApiKeyRow.id).where(ApiKeyRow.revoked_at.is_(None)))
        with self._database.reading() as connection:
            row = connection.execute(select(password, live)).one()
        return Guarded(bool(row[0]), bool(row[1]))

    def create(
        self, name: str, access: Access, collections: Sequence[str] | None
    ) -> tuple[StoredKey, str]:
        """A new key, and the text of it, which cannot be had again."""
        text = PREFIX + secrets.token_urlsafe(32)
        values = {
            "name": name,
            "shown": text[:_SHOWN],
            "sha256": _sha256(text),
            "access": access,
            "collections": None if collections is None else list(collections),
            "made_at": _now(),
        }
        with self._database.writing() as connection:
            made = connection.execute(insert(ApiKeyRow).values(values).returning(*_KEY)).one()
        return _key(made), text

    def all(self) -> list[StoredKey]:
        """Revoked ones too, in the order in which they were made."""
        with self._database.reading() as connection:
            return [_key(row) for row in connection.execute(select(*_KEY).order_by(ApiKeyRow.id))]

    def revoke(self, key_id: int) -> StoredKey:
        """From the next request on it opens nothing.

        Raises:
            UnknownKey: There is none of that id.
        """
        mine = ApiKeyRow.id == key_id
        with self._database.writing() as connection:
            live = update(ApiKeyRow).where(mine, ApiKeyRow.revoked_at.is_(None))
            connection.execute(live.values(revoked_at=_now()))
            row = connection.execute(select(*_KEY).where(mine)).first()
        if row is None:
            raise UnknownKey(key_id)
        return _key(row)

    def of(self, text: str) -> StoredKey | None:
        """The key of this text, if there is one and it was not revoked."""
        query = select(*_KEY).where(
            ApiKeyRow.sha256 == _sha256(text), ApiKeyRow.revoked_at.is_(None)
        )
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        found = _key(row)
        if found.used_at is None or found.used_at < _now(-_NOTED_EVERY):
            self._note_use(found.id)
        return found

    def _note_use(self, key_id: int) -> None:
        with self._database.writing() as connection:
            connection.execute(
                update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(used_at=_now())
            )

    def password(self) -> str | None:
        """Its hash."""
        with self._database.reading() as connection:
            return connection.scalars(select(PagePasswordRow.hash)).first()

    @repeated
    def set_password(self, hashed: str | None) -> None:
        """Puts this one in place of the last; None takes it away. All sessions end."""
        with self._database.writing() as connection:
            connection.execute(delete(PagePasswordRow))
            connection.execute(delete(PageSessionRow))
            if hashed is not None:
                # Of two that set one at once, the second finds the number taken, and goes last.
                values = {"id": 1, "hash": hashed, "made_at": _now()}
                connection.execute(insert(PagePasswordRow).values(values))

    def rehash(self, old: str, new: str) -> None:
        """Keeps the same password by a stronger hash, unless it was changed meanwhile."""
        with self._database.writing() as connection:
            same = update(PagePasswordRow).where(PagePasswordRow.hash == old)
            connection.execute(same.values(hash=new))

    @repeated
    def begin_session(self) -> str:
        """A text that only the browser knows which it is given to."""
        text = secrets.token_urlsafe(32)
        values = {"sha256": _sha256(text), "made_at": _now(), "expires_at": _now(_LIVES)}
        with self._database.writing() as connection:
            connection.execute(delete(PageSessionRow).where(PageSessionRow.expires_at < _now()))
            connection.execute(insert(PageSessionRow).values(values))
        return text

    def in_session(self, text: str) -> bool:
        mine = PageSessionRow.sha256 == _sha256(text)
        query = select(PageSessionRow.id).where(mine, PageSessionRow.expires_at >= _now())
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def end_session(self, text: str) -> None:
        with self._database.writing() as connection:
            mine = PageSessionRow.sha256 == _sha256(text)
            connection.execute(delete(PageSessionRow).where(mine))


SESSION_S = int(_LIVES.total_seconds())

_KEY = (
    ApiKeyRow.id,
    ApiKeyRow.name,
    ApiKeyRow.shown,
    ApiKeyRow.access,
    ApiKeyRow.collections,
    ApiKeyRow.made_at,
    ApiKeyRow.used_at,
    ApiKeyRow.revoked_at,
)


def _key(row: AnyRow) -> StoredKey:
    collections = None if row.collections is None else tuple(row.collections)
    return StoredKey(
        row.id,
        row.name,
        row.shown,
        cast("Access", row.access),
        collections,
        row.made_at,
        row.used_at,
        row.revoked_at,
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _now(later: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) + later).isoformat(timespec="seconds")
