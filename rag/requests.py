"""What a message asks for: an answer, a summary, what there is to read, or nothing but manners.

Rules, and narrow ones: they take a message as a whole. A question that merely speaks of a summary,
of documents or of last month is an ordinary question.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from rag.periods import Period, period_of
from rag.wordings import (
    COUNTS,
    DATED,
    EVERYTHING,
    FOLDER,
    LISTED_BEFORE,
    LISTED_BEHIND,
    LISTS,
    MANNERS,
    SUMMARIES,
    THIS,
)

Manner = Literal["greeting", "thanks", "farewell", "self"]

_SENTENCES = re.compile(
    r"\s*\bin (?P<n>\d{1,2}|one|two|three|four|five) (?:short )?(?:sentences?|points|lines)\b"
    r"|\s*(?P<k>\d{1,2}|한|두|세|네|다섯)\s?(?:문장|줄)(?:으로|로)?(?:만)?",
    re.IGNORECASE,
)
_COUNTED = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5,
    "한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5,
}  # fmt: skip
_LONGEST = 300  # characters of what is no question
_MOST = 20  # sentences of a summary
_ASKING = re.compile(  # words by which a text is a question, or says something of a summary
    r"\?.|\b(?:who|whose|which|when|where|why|is|are|was|were|does|did|has|must|should|says?)\b"
    r"|누가|누구|어디|언제|왜|어떻게|무엇|어느|얼마|몇",
    re.IGNORECASE | re.DOTALL,
)
_INDEFINITE = re.compile(r"\b(?:an?|no|any)(?: [\w-]+)? $", re.IGNORECASE)  # "a 2011 report"
_QUOTES = "“”\"'‘’「」『』《》〈〉"


@dataclass(frozen=True, slots=True)
class Dated:
    """Documents of some days, such as "last month's minutes"."""

    period: Period
    kind: str | None  # minutes, report, …; None for documents of any kind


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question to be answered from passages."""

    dated: Dated | None = None  # it is about documents of these days


@dataclass(frozen=True, slots=True)
class Summary:
    of: str = ""  # a title, a folder or a subject; "" is what is being looked at
    scope: Literal["this", "everything", "folder", "named"] = "this"
    sentences: int | None = None  # how many are wanted
    dated: Dated | None = None
    only_title: bool = False  # a summary only where a document has this very title


@dataclass(frozen=True, slots=True)
class Listing:
    """What documents there are, or how many."""

    count: bool = False
    media: str | None = None  # pdf, docx, …: the end of their names
    dated: Dated | None = None


@dataclass(frozen=True, slots=True)
class SmallTalk:
    manner: Manner


Request = Lookup | Summary | Listing | SmallTalk


def understand(message: str, today: date) -> Request:
    """What a message asks for; where no rule is sure, it is a question.

    Args:
        message: as it was written
        today: which day "last month" is counted from
    """
    text = " ".join(unicodedata.normalize("NFC", message).split())
    if len(text) > _LONGEST:
        return Lookup()
    for manner, wording in MANNERS.items():
        if wording.fullmatch(text):
            return SmallTalk(manner)
    return _listing(text, today) or _summary(text, today) or Lookup(find_dated(text, today))


def find_dated(text: str, today: date) -> Dated | None:
    """The documents of some days that a text speaks of, if it does."""
    return next((dated for dated, _, _ in _all_dated(text, today)), None)


def _all_dated(text: str, today: date) -> Iterator[tuple[Dated, int, int]]:
    """Every reading of it, with where it stands."""
    for wording in DATED:
        for found in wording.finditer(text):
            period = period_of(found["period"], today)
            if period is not None and not _INDEFINITE.search(text[: found.start()]):
                dated = Dated(_bounded(period, found["bound"] or ""), _kind(found["noun"]))
                yield dated, found.start(), found.end()


def _bounded(period: Period, word: str) -> Period:
    match word.lower():
        case "since" | "부터" | "이후" | "이래":
            return period.onwards()
        case "after":
            return period.after()
        case "before" | "이전":
            return period.before()
        case "until" | "up to" | "까지":
            return period.up_to()
    return period


def _kind(noun: str) -> str | None:
    singular = noun.lower().removesuffix("들")
    if re.fullmatch(r"documents?|docs|files?|문서|파일|자료", singular):
        return None
    return singular if singular in ("minutes", "notes", "slides") else singular.removesuffix("s")


def _listing(text: str, today: date) -> Listing | None:
    for wording in COUNTS:
        if found := wording.fullmatch(text):
            return Listing(count=True, media=_media(found["noun"]))
    for wording in LISTS:
        if found := wording.fullmatch(text):
            return Listing(media=_media(found.groupdict().get("noun") or ""))
    for dated, start, end in _all_dated(text, today):
        if LISTED_BEFORE.fullmatch(text[:start]) and LISTED_BEHIND.fullmatch(text[end:]):
            return Listing(dated=dated)
    return None


def _media(noun: str) -> str | None:
    """pdf of "PDFs" and "PDF files"."""
    first = noun.lower().split()[0].removesuffix("s") if noun.split() else ""
    return first if first in ("pdf", "docx", "hwp", "hwpx", "xlsx", "csv", "html") else None


def _summary(text: str, today: date) -> Summary | None:
    sentences, text = _wanted(text)
    for wording, only_title in SUMMARIES:
        if not (found := wording.fullmatch(text)):
            continue
        of = _plain(found.groupdict().get("of") or "")
        if _ASKING.search(of):
            continue
        if only_title:
            return Summary(of, "named", sentences, only_title=True)
        return _about(of, sentences, today)
    return None


def _about(of: str, sentences: int | None, today: date) -> Summary:
    if not of or THIS.fullmatch(of):
        return Summary("", "this", sentences)
    if EVERYTHING.fullmatch(of):
        return Summary("", "everything", sentences)
    if folder := FOLDER.fullmatch(of):
        return Summary(folder["name"] or folder["behind"], "folder", sentences)
    return Summary(of, "named", sentences, find_dated(of, today))


def _wanted(text: str) -> tuple[int | None, str]:
    """How many sentences are wanted, and the text without that."""
    found = _SENTENCES.search(text)
    if found is None:
        return None, text
    word = (found["n"] or found["k"]).lower()
    n = _COUNTED.get(word) or int(word)
    left = " ".join((text[: found.start()] + " " + text[found.end() :]).split())
    return min(max(n, 1), _MOST), re.sub(r" (?=[.!?])", "", left)


def _plain(of: str) -> str:
    """What a summary is of, without quotes and articles and a Korean object's particle."""
    of = of.strip(f" .!?,:{_QUOTES}")
    of = re.sub(r"^(?:the|my|our)\s+(?=\S)", "", of, flags=re.IGNORECASE)
    of = re.sub(r"(?:에 대(?:해서?|한)|에 관(?:해서?|한)|의? ?내용(?:을|만)?)$", "", of).strip()
    return re.sub(r"(?<=[가-힣\w”’\"'])[을를]$", "", of).strip(f" {_QUOTES}")
