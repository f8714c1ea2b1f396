"""What of a passage says something by itself: its sentences, without headings and without orders.

A document may hold orders to whoever reads it ("ignore all previous instructions"). They are kept,
found and shown like any text, but they answer nothing, so that no answer quotes them unasked.
"""

import re
from functools import lru_cache

from rag.records import Hit
from rag.sentences import sentences

Span = tuple[int, int]

_MARKS = re.compile(r"^[#>*\s|=_-]+|[\s*#:|=_-]+$")
_STOPPED = re.compile(r"[.!?。…:;|][\"'”’»」』）)\]*_]*\Z|[다요까죠함임음됨]\Z")
_MONTH = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_WRAPPED = 40  # characters of a line that its end may only wrap
_PAIR = re.compile(r"\s*[^\s:|][^:|]{0,30}:\s")
_NUMBERING = r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,4}\.|제\s?\d{1,3}\s?[조장절])"
_NUMBERED = re.compile(rf"\s*(?:#+\s*)?{_NUMBERING}\s+\S")
_HEADED = 6  # words of a numbered heading at most
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|every|the|your|these|of)\s+)*"
    r"(?:previous|prior|earlier|above|preceding|system|other)\s+(?:\w+\s+)?"
    r"(?:instructions?|prompts?|rules|directions|orders)"
    r"|\bfrom now on,?\s+(?:you|reply|answer|respond|act|only)\b"
    r"|\b(?:reply|answer|respond)\s+only\s+with\b"
    r"|\byou are now\s+(?:an?|in|the)\b"
    r"|\b(?:reveal|print|repeat|output|show)\s+(?:me\s+)?(?:your|the)\s+"
    r"(?:system prompt|hidden instructions|initial instructions)"
    r"|^\W*\[?(?:system|inst)\]|<\|[a-z_]+\|>"
    r"|(?:이전|앞선|앞의|위의|기존|지금까지의?)\s?(?:모든\s?)?(?:지시|명령|규칙|프롬프트)[^.]{0,12}"
    r"(?:무시|잊|따르지)"
    r"|시스템\s?프롬프트[^.]{0,8}(?:출력|공개|보여|알려)",
    re.IGNORECASE,
)
_ON_ORDERS = re.compile(
    r"\b(?:instruct\w*|orders?|prompts?|ignore|injection|system)\b|지시|명령|프롬프트|무시",
    re.IGNORECASE,
)
_ON_SECTIONS = re.compile(
    r"\b(?:which|what) (?:section|article|clause|chapter|paragraph|part)s?\b"
    r"|(?:몇|어느|무슨)\s?(?:조항?|항목?|장|절)(?![가-힣]{2})",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def spans(text: str) -> tuple[Span, ...]:
    """The sentences of a passage; one that the end of a line cut in two is whole again."""
    found: list[Span] = []
    for start, end in sentences(text):
        if found and _goes_on(text, found[-1], start):
            start = found.pop()[0]
        found.append((start, end))
    return tuple(found)


def quotable(hit: Hit) -> list[Span]:
    """The spans of the hit's sentences that an answer can rest on."""
    text = hit.chunk.text
    return [
        (start, end)
        for start, end in spans(text)
        if not is_heading(hit, start, end) and not gives_orders(text[start:end])
    ]


def is_heading(hit: Hit, start: int, end: int) -> bool:
    """Whether this part of its text names what follows, and says nothing by itself."""
    whole = hit.chunk.text
    text = whole[start:end]
    plain = _MARKS.sub("", text).casefold()
    titles = (hit.chunk.document.title, *hit.chunk.heading)
    if not plain or plain in (_MARKS.sub("", title).casefold() for title in titles):
        return True
    line_start, line_end = whole.rfind("\n", 0, start) + 1, whole.find("\n", end)
    line = whole[line_start : len(whole) if line_end < 0 else line_end].strip()
    if line.startswith("#"):  # a number at its head makes two sentences of it
        return True
    if line != text.strip() or _STOPPED.search(line) or " | " in line:
        return False
    following = whole[end:].strip()
    if text.isupper() and text.isascii() and len(plain.split()) > 1 and ":" not in text:
        return bool(following)
    return _heads_a_section(line, whole[:start], following)


def _heads_a_section(line: str, before: str, following: str) -> bool:
    """A numbered line over prose, such as "7 Term and notice"; one of several is a list's item."""
    if not _NUMBERED.match(line) or len(line.split()) > _HEADED + 1 or not following:
        return False
    last = before.rstrip().rsplit("\n", 1)[-1]
    return not _NUMBERED.match(following) and not _NUMBERED.match(last)


def is_numbered(text: str) -> bool:
    """Whether a line begins with the number of a section."""
    return _NUMBERED.match(text) is not None


def gives_orders(text: str) -> bool:
    """Whether a text tells its reader, a machine, what to do instead of answering."""
    return _ORDERS.search(text) is not None


def asks_for_a_section(question: str) -> bool:
    """Whether the number of a section may be the answer, and its heading with it."""
    return _ON_SECTIONS.search(question) is not None


def asks_of_orders(question: str) -> bool:
    """Whether such texts themselves may be what a question is about."""
    return _ON_ORDERS.search(question) is not None


def _goes_on(text: str, last: Span, start: int) -> bool:
    """Whether the sentence before runs on over the end of its line."""
    start_of_last, end = last
    gap, rest = text[end:start], text[start : start + 12]
    line = text[text.rfind("\n", 0, end) + 1 : end]
    following = text[start:].split("\n", 1)[0]
    if " | " in line or " | " in following or _PAIR.match(following):
        return False  # rows, whose headers may begin with a small letter
    if gap.strip(" ") != "\n" or len(line) < _WRAPPED or line.lstrip().startswith(("#", "|")):
        return False
    if _STOPPED.search(text[start_of_last:end]):
        return False
    return rest[:1].islower() or (line[-1].isdigit() and _MONTH.match(rest) is not None)
