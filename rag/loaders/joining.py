"""Makes paragraphs of the lines of a page: words that were cut at line ends become whole again.

Whether a cut stood inside a word is not marked in most files. The document itself is the evidence:
the words that it writes elsewhere, and whether its lines keep the space that they break at.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.sentences import full_width, soft_breaks

HYPHEN = "\x02"  # stands at a line's end for a hyphen that the page shows there

_NARROWEST = 24  # columns; narrower text is a list or a table
_ENOUGH_LINES = 20
_PAGE_NUMBER = re.compile(
    r"\s*(?:page|p\.|[-–—])?\s*\d{1,4}\s*(?:쪽|페이지|[-–—]|(?:/|of) \d+)?\s*", re.I
)
_LINE_END_HYPHEN = re.compile("(?<=[^\\W\\d_])[-\u2010\u00ad]$")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_LAST_PIECE = re.compile(r"[^\W_]+(?:-[^\W_]+)*$")
_FIRST_PIECE = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_KEEPS_HYPHEN = frozenset(("all", "cross", "ex", "half", "non", "self", "well"))
# Korean endings and particles that no word consists of.
_ENDING = re.compile(
    "(?:습?니다|[는은을를며]|에[서게]?|으로|까지|부터|다|[하되]였?다|합니다|됩니다|입니다)(?![가-힣])"
)
_CONTINUOUS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")  # scripts without spaces


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a document shows about its words and its line ends."""

    words: frozenset[str]
    keeps_spaces: bool  # lines that break between words end in a space

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Evidence":
        words = frozenset(word for line in lines for word in _WORD.findall(line)[1:-1])
        korean = [line for line in lines if line.strip() and _is_hangul(line.rstrip()[-1])]
        spaced = sum(line[-1].isspace() for line in korean)
        return cls(words, keeps_spaces=spaced >= 2 and spaced > 0.15 * len(korean))


def page_width(page: Sequence[str], document: Sequence[str]) -> int:
    """Gives the columns of a full line on a page; a page with few lines does not show it."""
    return full_width(page if len(page) >= _ENOUGH_LINES else document)


def paragraphs(lines: Sequence[str], evidence: Evidence, *, full: int) -> Iterable[str]:
    """Joins the lines that only wrap; each of the others ends a paragraph.

    Args:
        lines: The lines of one stretch of text, without headings.
        evidence: What the document shows about its words.
        full: Columns of a full line.
    """
    lines = [_LINE_END_HYPHEN.sub(HYPHEN, line) for line in lines if line.strip()]
    if not lines:
        return
    breaks = soft_breaks([line.replace(HYPHEN, "-") for line in lines], full=full)
    paragraph = lines[0]
    for (line, following), is_soft in zip(pairwise(lines), breaks, strict=True):
        wraps = (is_soft and full >= _NARROWEST) or line.endswith(HYPHEN)
        if wraps and not _PAGE_NUMBER.fullmatch(following):
            paragraph = _join(paragraph, following.lstrip(), evidence)
        else:
            yield paragraph.strip().replace(HYPHEN, "-")
            paragraph = following
    yield paragraph.strip().replace(HYPHEN, "-")


def _join(left: str, right: str, evidence: Evidence) -> str:
    if left.endswith(HYPHEN):
        left = left.removesuffix(HYPHEN)
        return left + _hyphen(left, right, evidence) + right
    if left[-1].isspace() or not right:
        return left.rstrip() + " " + right
    if _CONTINUOUS.match(left[-1]) and _CONTINUOUS.match(right):
        return left + right
    if _is_hangul(left[-1]) and _is_hangul(right[0]) and _is_cut(left, right, evidence):
        return left + right
    return f"{left} {right}"


def _hyphen(left: str, right: str, evidence: Evidence) -> str:
    """Gives the hyphen between the parts of a word if it belongs to the word, else nothing."""
    last, first = _piece(_LAST_PIECE, left), _piece(_FIRST_PIECE, right)
    if f"{last}-{first}" in evidence.words:
        return "-"
    if last + first in evidence.words:
        return ""
    is_plain = last.isalpha() and first.isalpha() and first.islower()
    return "" if is_plain and last.lower() not in _KEEPS_HYPHEN else "-"


def _is_cut(left: str, right: str, evidence: Evidence) -> bool:
    """Says whether a Korean line ends inside a word."""
    last, first = _piece(_LAST_PIECE, left), _piece(_FIRST_PIECE, right)
    if evidence.keeps_spaces or last + first in evidence.words:
        return True
    return first not in evidence.words and bool(_ENDING.match(right))


def _piece(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text[-80:]) if pattern is _LAST_PIECE else pattern.match(text)
    return found[0] if found else ""


def _is_hangul(character: str) -> bool:
    return "가" <= character <= "힣"
