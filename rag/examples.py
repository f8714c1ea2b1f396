"""Questions that a library can answer, made of its own headings, to begin a conversation with.

A heading that is a question is asked as it stands; any other is asked for by name. Each candidate
is answered once, by quotation, and stays where the first sentence that is quoted stands in the
section it was made of: an example that is declined would teach a reader nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from index.analysis import is_korean
from index.records import StoredChunk, StoredDocument
from index.titles import found_title
from rag.conversations import LONGEST_TITLE
from rag.errors import AttestError

if TYPE_CHECKING:
    from rag.assistant import Assistant

_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|제\s?\d+\s?[장조절관]|[A-Z][.)])\s+")
_QUESTION = re.compile(r"(?:\?|나요|까요|는가|은가)\s*\??$")
_LONGEST = 60  # characters of a title or a heading
_TRIED = 4  # candidates for each example that is wanted


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question, and the section that should answer it."""

    text: str
    document: int
    start: int  # of the section in the document's text
    end: int


def examples(assistant: "Assistant", *, korean: bool, n: int) -> list[str]:
    """Up to n questions of different documents, each of which is answered from its section.

    Takes about as long as so many answers: call it where nobody waits.
    """
    found = list[str]()
    seen = set[int]()
    rows = [row for row in assistant.documents() if row.status == "indexed"]
    for tried, candidate in enumerate(candidates(assistant, rows, korean=korean)):
        if len(found) == n or tried == _TRIED * n:
            break
        if candidate.document not in seen and _is_answered(assistant, candidate):
            found.append(candidate.text)
            seen.add(candidate.document)
    return found


def candidates(
    assistant: "Assistant", rows: Sequence[StoredDocument], *, korean: bool
) -> Iterator[Candidate]:
    """Questions of documents in one language, taken from all over the library."""
    own = [row for row in rows if is_korean(row.title) == korean]
    for row in _spread(own):
        title = found_title(row.path, row.title)
        sections = list(_sections(assistant.catalog.chunks_of(row.id), title))
        for heading, start, end in sections[len(sections) // 3 :][:2]:
            text = _asked(heading, title, korean=korean)
            if text and len(text) <= LONGEST_TITLE:
                yield Candidate(text, row.id, start, end)


def _spread(rows: Sequence[StoredDocument]) -> Iterator[StoredDocument]:
    """All of them, far from each other first: neighbours by path are of one kind."""
    step = max(1, len(rows) // 4)
    for first in range(step):
        yield from rows[first::step]


def _sections(chunks: Sequence[StoredChunk], title: str) -> Iterator[tuple[str, int, int]]:
    """The innermost headings of a document with the stretch of text below each."""
    places: dict[tuple[str, ...], tuple[int, int]] = {}
    for chunk in chunks:
        start, end = places.get(chunk.heading, (chunk.start, chunk.end))
        places[chunk.heading] = (min(start, chunk.start), max(end, chunk.end))
    for path, (start, end) in places.items():
        heading = _NUMBER.sub("", path[-1]).strip(" .:") if path else ""
        if 2 <= len(heading) <= _LONGEST and path[-1] != title:
            yield heading, start, end


def _asked(heading: str, title: str, *, korean: bool) -> str:
    if _QUESTION.search(heading):
        return heading if heading.endswith("?") else f"{heading}?"
    if not 2 <= len(title) <= _LONGEST or is_korean(heading) != korean:
        return ""
    if korean:
        return f"“{title}”에는 {heading}에 대해 어떻게 나와 있나요?"
    # Names and abbreviations keep their capitals.
    lower = heading if heading[:2].isupper() else heading[0].lower() + heading[1:]
    return f"What does “{title}” say about {lower}?"


def _is_answered(assistant: "Assistant", candidate: Candidate) -> bool:
    try:
        answer = assistant.ask(candidate.text, mode="extract", remember=False)
    except AttestError:
        return False
    if answer.abstained or not answer.citations:
        return False
    first = answer.citations[0]
    inside = candidate.start <= first.start < candidate.end
    return first.document.id == candidate.document and inside
