"""Records as HTML that is safe to insert: whatever comes from outside goes through `Markup.format`.

`Markup("<p>{}</p>").format(text)` escapes its arguments unless they are Markup themselves, so that
only the literals of this package can hold a tag. Text of documents and answers is never read as
markup of any kind.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import PurePath

from markupsafe import Markup

from index.analysis import content_words, tokens
from index.records import StoredDocument
from rag.sentences import soft_breaks
from ui.locale import Texts
from ui.markdown import Mark, shown

Span = tuple[int, int]

_AROUND = 500  # characters of the document shown before and after a quote
_PARAGRAPH = re.compile(r"^[^\S\n]*\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)+", re.M)
_BLANK = re.compile(r"\n\s*\n")
_WORD = re.compile(r"[^\W_](?:[\w\-./'’]*[^\W_])?")


def joined(pieces: Iterable[Markup]) -> Markup:
    return Markup("").join(pieces)


def flowed(text: str) -> str:
    """The text with a space for each line end that only wraps a paragraph: offsets stay right."""
    return _PARAGRAPH.sub(lambda found: _unwrapped(found[0].split("\n")), text)


def _unwrapped(lines: list[str]) -> str:
    ends = [" " if soft else "\n" for soft in soft_breaks(lines)]
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def marked(text: str, spans: Iterable[Span], marks: Sequence[Mark] = ()) -> Markup:
    """The text with a <mark> around each span; spans are in order and do not overlap.

    Args:
        marks: what is not to be seen of the text
    """
    pieces, at = list[Markup](), 0
    for start, end in spans:
        pieces.append(spaced(shown(text, at, start, marks)))
        if within := shown(text, start, end, marks):
            pieces.append(Markup("<mark>{}</mark>").format(within))
        at = end
    return joined([*pieces, spaced(shown(text, at, len(text), marks))])


def spaced(text: str) -> Markup:
    """The text with gaps for blank lines, which would take more room."""
    return Markup('<i class="a-gap"></i>').join(_BLANK.split(text))


def passage(text: str, start: int, end: int, marks: Sequence[Mark] = ()) -> Markup:
    """`text[start:end]` marked in its surroundings, which are cut between words.

    Args:
        marks: what is not to be seen of the text
    """
    left, right = max(0, start - _AROUND), min(len(text), end + _AROUND)
    if left and (gap := re.search(r"\s", text[left:start])):
        left += gap.end()
    if right < len(text) and (gap := re.search(r"\s\S*\Z", text[end:right])):
        right = end + gap.start()
    line = text.rfind("\n", 0, left) + 1  # whole lines show how wide the paragraph was set
    seen = flowed(text[line : text.find("\n", right) % (len(text) + 1)])[left - line : right - line]
    moved = [replace(mark, start=mark.start - left, end=mark.end - left) for mark in marks]
    before, after = "… " if left else "", " …" if right < len(text) else ""
    return Markup('<div class="a-passage">{}{}{}</div>').format(
        before, marked(seen, [(start - left, end - left)], moved), after
    )


def matching(query: str, text: str) -> list[Span]:
    """Where words of the query stand in a text, in any of their forms."""
    wanted = frozenset(content_words(query)) or frozenset(tokens(query))
    return [word.span() for word in _WORD.finditer(text) if _matches(word[0], wanted)]


@lru_cache(maxsize=8192)
def _matches(word: str, wanted: frozenset[str]) -> bool:
    return not wanted.isdisjoint(tokens(word))


def place(
    document: StoredDocument, page: int | None, heading: Sequence[str], texts: Texts
) -> Markup:
    """Where a passage stands: file, page and heading path, as one line that may be cut short."""
    parts = [file_name(document.path)]
    if page is not None:
        parts.append(texts("page", n=page))
    below = [name for name in heading if name != document.title]
    line = " · ".join([*parts, *([" › ".join(below)] if below else [])])
    return Markup('<p class="a-place" title="{}">{}</p>').format(document.path, line)


def notice(title: str, lead: str, *, more: Markup | str = "") -> Markup:
    """A calm box that says what is, or what to do first."""
    return Markup('<div class="a-notice"><h2>{}</h2><p>{}</p>{}</div>').format(title, lead, more)


def unfolding(all_of_it: str, texts: Texts) -> Markup:
    """A switch that unfolds what stands before it, and folds it again."""
    return Markup('<button type="button" class="a-link a-more" data-more="{}">{}</button>').format(
        texts("more.less"), all_of_it
    )


def failure(message: str, texts: Texts) -> Markup:
    return Markup('<div class="a-failure" role="alert"><strong>{}</strong> {}</div>').format(
        texts("error.title"), told(message, texts)
    )


def told(message: str, texts: Texts) -> Markup:
    """A sentence of the library, which speaks English whatever the page does."""
    if texts.language == "en" or message in texts.entries.values():
        return Markup("<span>{}</span>").format(message)
    return Markup('<span lang="en">{}</span>').format(message)


def pending(n: int, texts: Texts) -> Markup:
    """That a search by meaning does not reach everything yet."""
    if not n:
        return Markup("")
    return Markup('<p class="a-notes a-pending">{}</p>').format(texts.count("pending", n))


def waiting(words: str) -> Markup:
    return Markup(
        '<p class="a-waiting" role="status"><span class="a-dots"><i></i><i></i><i></i></span>{}</p>'
    ).format(words)


def headline(title: str, lead: str) -> Markup:
    return Markup('<div class="a-headline"><h1>{}</h1><p>{}</p></div>').format(title, lead)


def file_name(path: str) -> str:
    return PurePath(path).name


def folded(text: str) -> str:
    """A text as names are compared: whatever its case, and however its accents are composed."""
    return unicodedata.normalize("NFC", text).casefold()


def size(n: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= scale:
            return f"{n / scale:.1f} {unit}"
    return f"{n} B"


def day(moment: str) -> Markup:
    """The day of an ISO 8601 moment, where this machine is."""
    local = datetime.fromisoformat(moment).astimezone()
    return Markup('<time datetime="{}" title="{:%Y-%m-%d %H:%M}">{:%Y-%m-%d}</time>').format(
        moment, local, local
    )
