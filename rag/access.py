"""Who may do what: a password for the page, keys for programs, and what each of them opens."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from index.keys import Access, Keys, StoredKey
from rag.errors import AttestError, UsageError

if TYPE_CHECKING:
    from rag.settings import Settings

SHORTEST = 8  # characters of a password
_LONGEST = 1000  # likewise; a longer one only costs time


class NotAllowed(AttestError):
    """Who asks may not do this, or not there."""

    http_status = 403


class NeedsAccess(UsageError):
    """An address that others reach, and nothing that keeps them out."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a request comes from, as far as it matters."""

    name: str  # for the log: "page", "key 3", or an address
    writes: bool = True
    collections: frozenset[str] | None = None  # None: all

    @classmethod
    def of_key(cls, key: StoredKey) -> "Caller":
        held = None if key.collections is None else frozenset(key.collections)
        return cls(f"key {key.id}", key.access == "write", held)

    def place(self, asked: str | None, default: str) -> str | None:
        """The collection that is meant; None for the default one.

        A key of one collection need not name it.

        Raises:
            UsageError: no collection can have this name.
            NotAllowed: it is none of those that the caller may see.
        """
        if asked is not None and not (asked.strip() and asked.isprintable() and len(asked) <= 255):
            raise UsageError("a collection's name has 1 to 255 characters that can be shown")
        if self.collections is None:
            return asked
        if asked is None and len(self.collections) == 1:
            return next(iter(self.collections))
        if (asked or default) not in self.collections:
            held = ", ".join(sorted(self.collections)) or "none"
            raise NotAllowed(
                f"this key is not for the collection {asked or default!r}, only for: {held}"
            )
        return asked

    def sees(self, collection: str) -> bool:
        return self.collections is None or collection in self.collections

    def within(self, collections: Collection[str]) -> list[str]:
        """Those of the collections that the caller may see."""
        return [name for name in collections if self.sees(name)]

    def must_write(self) -> None:
        """
        Raises:
            NotAllowed: the caller may only read.
        """
        if not self.writes:
            raise NotAllowed("this key may only read: make one with `attest keys create --write`")


ANYBODY = Caller("anybody")


def check_address(settings: "Settings", keys: Keys) -> None:
    """Lets a service listen to other machines only where something keeps strangers out.

    Raises:
        NeedsAccess: there is neither a password nor a key, and nobody said that this is meant.
    """
    if settings.open or is_loopback(settings.host):
        return
    guarded = keys.guarded()
    if not guarded.password and not guarded.keys:
        raise NeedsAccess(
            f"{settings.host} is reached by other machines, and nothing keeps them out: set a "
            "password with `attest password`, make a key with `attest keys create`, or say "
            "--open if everybody may read and change this library"
        )


def host_of(told: str) -> str:
    """The name in a Host header, without its port; "" where it cannot be read."""
    try:
        return urlsplit(f"//{told}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether an address or a name is reached from this machine alone."""
    from ipaddress import ip_address

    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def set_password(keys: Keys, password: str) -> None:
    """
    Raises:
        UsageError: it is too short to keep anybody out, or endless.
    """
    if not SHORTEST <= len(password) <= _LONGEST:
        raise UsageError(
            f"a password has {SHORTEST} to {_LONGEST} characters, this one {len(password)}"
        )
    from argon2 import PasswordHasher

    keys.set_password(PasswordHasher().hash(password))


def is_password(keys: Keys, password: str) -> bool:
    """Whether this is the password of the page; takes a tenth of a second on purpose."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    stored, hasher = keys.password(), PasswordHasher()
    if stored is None or len(password) > _LONGEST:
        return False
    try:
        hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
    if hasher.check_needs_rehash(stored):
        keys.rehash(stored, hasher.hash(password))
    return True


def new_key(
    keys: Keys, name: str, *, access: Access = "read", collections: Collection[str] = ()
) -> tuple[StoredKey, str]:
    """A key, and its text, which is shown once.

    Args:
        keys: of the home
        name: to tell it from others by
        access: whether it may change the library
        collections: that it is for; none given are all

    Raises:
        UsageError: the name is empty or over 100 characters.
    """
    name = " ".join(name.split())
    if not 1 <= len(name) <= 100:
        raise UsageError("a key needs a name of 1 to 100 characters, to tell it from others by")
    return keys.create(name, access, sorted(set(collections)) if collections else None)
