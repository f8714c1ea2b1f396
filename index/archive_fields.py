"""JSON from anywhere, a member at a time: what is not as it should be is raised as BadArchive."""

import math
from datetime import datetime
from typing import Any, TypeVar

from index.errors import BadArchive

SHORT = 255  # characters; what the columns of names hold
INTEGER = 2**31 - 1
_T = TypeVar("_T")


class Fields:
    """The members of a JSON object, each of the type that it is asked for as."""

    def __init__(self, where: str, value: object) -> None:
        self._where = where
        self._value = self._typed("", value, dict)

    def raw(self, key: str) -> object:
        if key not in self._value:
            raise BadArchive(f"{self._where} has no {key!r}")
        return self._value[key]

    def integer(self, key: str, *, least: int = 0, most: int = INTEGER) -> int:
        value = self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._bad(key, value, f"a whole number from {least} to {most}")
        return value

    def boolean(self, key: str) -> bool:
        return self._typed(key, self.raw(key), bool)

    def string(self, key: str, *, longest: int | None = None) -> str:
        return self._text(key, self.raw(key), longest)

    def name(self, key: str, *, longest: int = SHORT) -> str:
        found = self.string(key, longest=longest)
        if not found:
            raise self._bad(key, found, "a name")
        return found

    def optional_string(self, key: str) -> str | None:
        return None if self.raw(key) is None else self.string(key)

    def optional_object(self, key: str) -> dict[str, Any] | None:
        value = self.raw(key)
        if value is None:
            return None
        self._check_nested(key, value)
        return self._typed(key, value, dict)

    def list(self, key: str) -> list[Any]:
        return self._typed(key, self.raw(key), list)

    def strings(self, key: str, *, longest: int | None = None) -> tuple[str, ...]:
        return tuple(self._text(key, each, longest) for each in self.list(key))

    def moment(self, key: str) -> str:
        value = self.string(key, longest=32)
        try:
            datetime.fromisoformat(value)
        except ValueError:
            raise self._bad(key, value, "a time in ISO 8601") from None
        return value

    def _text(self, key: str, value: object, longest: int | None) -> str:
        text = self._typed(key, value, str)
        if longest is not None and len(text) > longest:
            raise BadArchive(
                f"{self._where} has a {key!r} of {len(text)} characters, {longest} at most"
            )
        if "\0" in text or not _is_encodable(text):
            raise self._bad(key, text, "text that a database can hold")
        return text

    def _check_nested(self, key: str, value: object) -> None:
        """The texts and numbers of a value, whatever its shape."""
        stack = [value]
        while stack:
            match stack.pop():
                case str(text):
                    self._text(key, text, None)
                case float(number) if not math.isfinite(number):  # which Python reads and writes
                    raise self._bad(key, number, "a number that JSON has")
                case dict(members):
                    stack += [*members.keys(), *members.values()]
                case list(members):
                    stack += members

    def _typed(self, key: str, value: object, kind: type[_T]) -> _T:
        if not isinstance(value, kind):
            raise self._bad(key, value, f"of type {kind.__name__}")
        return value

    def _bad(self, key: str, value: object, wanted: str) -> BadArchive:
        named = f"{self._where} has {key!r} {brief(value)}" if key else f"{self._where} is a value"
        return BadArchive(f"{named}, not {wanted}")


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can spell
        return False
    return True


def brief(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
