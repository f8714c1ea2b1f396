"""The form that narrows a search down: what it offers, and what was chosen in it."""

import glob
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from markupsafe import Markup

from index.records import StoredDocument
from rag.loaders import media_type
from rag.loaders.formats import supported
from rag.records import Within
from ui import render
from ui.locale import Texts

# Second names of formats: a list of what can be read need not have them.
_ALSO = frozenset((".htm", ".jpeg", ".markdown", ".mht", ".ndjson", ".text", ".tif", ".xhtml"))


def formats(*, ocr: bool) -> list[str]:
    """The suffixes that are read, each format once, without dots."""
    return sorted(suffix.removeprefix(".") for suffix in supported(ocr=ocr) - _ALSO)


def form(documents: Sequence[StoredDocument], words: Texts) -> Markup:
    """The conditions that a search can be given, folded away."""
    found = [row for row in documents if row.status in ("indexed", "duplicate")]
    kinds = {row.media_type: kind(row.media_type) for row in found}
    tags = sorted({tag for row in found for tag in row.tags}, key=render.folded)
    fields = render.joined(
        (
            _select("media_type", sorted(kinds.items(), key=lambda pair: pair[1]), words),
            _select("tag", [(tag, tag) for tag in tags], words),
            _input("path", "text", words, hint=words("search.path.hint")),
            _input("since", "date", words),
            _input("until", "date", words),
        )
    )
    return Markup(
        '<form class="a-filters"><details data-key="filters"><summary>{}<b hidden></b></summary>'
        '<div class="a-fields">{}<button type="button" class="a-link" data-clear>{}</button></div>'
        "</details></form>"
    ).format(words("search.filters"), fields, words("search.clear"))


def within(chosen: Mapping[str, object] | None) -> Within:
    """What was chosen in the form, which a browser sends as it likes."""
    given = {key: str(value).strip() for key, value in (chosen or {}).items() if value}
    path = given.get("path", "")
    if path and not set(path) & set("*?"):
        path = f"*{glob.escape(path)}*"
    return Within(
        paths=_one(path),
        media_types=_one(given.get("media_type")),
        tags=_one(given.get("tag")),
        since=given.get("since") or None,
        until=given.get("until") or None,
    )


def kind(of: str) -> str:
    """A media type as people name it: by the suffixes of its files."""
    return ", ".join(suffix for suffix, named in _suffixes() if named == of) or of


@cache
def _suffixes() -> tuple[tuple[str, str], ...]:
    return tuple((suffix, media_type(Path(f"a{suffix}"))) for suffix in sorted(supported(ocr=True)))


def _one(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


def _select(name: str, options: Iterable[tuple[str, str]], words: Texts) -> Markup:
    offered = render.joined(
        Markup('<option value="{}">{}</option>').format(*option) for option in options
    )
    return Markup(
        '<label><span>{}</span><select name="{}"><option value="">{}</option>{}</select></label>'
    ).format(words(f"search.by.{name}"), name, words("search.any"), offered)


def _input(name: str, kind_: str, words: Texts, hint: str = "") -> Markup:
    return Markup(
        '<label><span>{}</span><input name="{}" type="{}" placeholder="{}" autocomplete="off">'
        "</label>"
    ).format(words(f"search.by.{name}"), name, kind_, hint)
