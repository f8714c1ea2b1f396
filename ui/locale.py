"""The interface's words, one file a language, and which of them a reader gets."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

Language = Literal["en", "ko"]
COOKIE = "attest_language"  # where page.js leaves what a reader chose
LANGUAGES: tuple[Language, ...] = get_args(Language)

_RANGE = re.compile(r"\s*([A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?\s*(?:;\s*q\s*=\s*([0-9.]+))?\s*")


@dataclass(frozen=True, slots=True)
class Texts:
    """All words of one language, by key."""

    language: Language
    entries: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The words of a key, with values in their places; never markup."""
        return self.entries[key].format(**values) if values else self.entries[key]

    def count(self, key: str, n: int, **values: object) -> str:
        """The words for so many things: KEY.one or KEY.other, with {n} filled in."""
        return self(f"{key}.{'one' if n == 1 else 'other'}", n=f"{n:,}", **values)


@cache
def texts(language: Language) -> Texts:
    file = resources.files("ui").joinpath(f"locales/{language}.json")
    return Texts(language, json.loads(file.read_text(encoding="utf-8")))


def choose(setting: str, chosen: str | None, accepted: str | None) -> Language:
    """The language of a page.

    Args:
        setting: of the operator; `auto` leaves it to the reader
        chosen: what the reader's switch was left at
        accepted: the browser's Accept-Language header (RFC 9110, section 12.5.4)
    """
    for wanted in (setting, chosen, *_accepted(accepted or "")):
        if wanted in LANGUAGES:
            return wanted
    return "en"


def _accepted(header: str) -> list[str]:
    """Primary language tags, most wanted first; what is not a language range is passed over."""
    ranges = (_RANGE.fullmatch(part) for part in header.split(","))
    found = [(_quality(match[2]), match[1].lower()) for match in ranges if match]
    return [tag for quality, tag in sorted(found, key=lambda each: -each[0]) if quality > 0]


def _quality(written: str | None) -> float:
    try:
        return 1.0 if written is None else float(written)
    except ValueError:
        return 0.0
