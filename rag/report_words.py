"""What a report says by itself, in the language of its library."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Literal

from rag.records import Remark

Words = Callable[..., str]


def words_in(language: Literal["en", "ko"]) -> Words:
    """The words of a key, with values in their places; never markup."""

    def words(key: str, **values: object) -> str:
        return entries(language)[key].format(**values) if values else entries(language)[key]

    return words


def said(remarks: Sequence[Remark], words: Words) -> tuple[str, ...]:
    """What a reader should know, a sentence each."""
    return tuple(words(f"note.{each.kind}", **each.values) for each in remarks)


@cache
def entries(language: Literal["en", "ko"]) -> dict[str, str]:
    """All of a language, by key."""
    file = resources.files("rag").joinpath(f"templates/report.{language}.json")
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return found
