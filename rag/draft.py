"""An answer in the making: what is quoted, what a writer adds, and what each sentence rests on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from index.analysis import content_words
from rag import quoting
from rag.evidence import Evidence
from rag.records import Citation, Hit
from rag.sentences import sentences
from rag.support import stating, supporting

OLD = 0.3  # with no more than this share of new words, a sentence says nothing new

_LEAST = 4  # content words of an added sentence


@dataclass(slots=True)
class Draft:
    """The text so far, and what each of its sentences rests on."""

    text: str = ""
    citations: list[Citation] = field(default_factory=list)
    unsupported: list[tuple[int, int]] = field(default_factory=list)
    markers: dict[int, int] = field(default_factory=dict)  # chunk id to its number
    cut: bool = False  # the writer reached its limit
    declined: bool = False  # the writer says that no passage holds the answer

    def append(self, piece: str) -> str:
        self.text += piece
        return piece

    def cite(self, start: int, hit: Hit, quote_start: int, quote_end: int, score: float) -> None:
        """Rest the text from `start` to its present end on a quote of the hit's document."""
        chunk = hit.chunk
        self.citations.append(
            Citation(
                marker=self.markers.setdefault(chunk.id, len(self.markers) + 1),
                chunk_id=chunk.id,
                document=chunk.document,
                quote=chunk.text[quote_start - chunk.start : quote_end - chunk.start],
                start=quote_start,
                end=quote_end,
                page=chunk.page,
                answer_start=start,
                answer_end=len(self.text),
                score=score,
            )
        )

    def quote(self, evidence: Evidence) -> str:
        separator = "\n" if self.text else ""
        start = len(self.text) + len(separator)
        # A line break inside a sentence is the document's layout, not its words.
        piece = self.append(separator + " ".join(evidence.text.split()))
        self.cite(start, evidence.hit, evidence.start, evidence.end, evidence.score)
        return piece


def transcribe(pieces: Iterator[str], hits: Sequence[Hit], draft: Draft) -> Iterator[str]:
    """All that the writer says, shown as it comes; its evidence is looked for at the end."""
    for piece in pieces:
        yield draft.append(piece)
    whole = draft.text
    _bear_out(whole, 0, len(whole), hits, draft)
    draft.text = whole


def _bear_out(whole: str, start: int, end: int, hits: Sequence[Hit], draft: Draft) -> None:
    """Cite for each sentence of a stretch of the text what bears it out, or mark it."""
    for first, last in sentences(whole[start:end]):
        first, last = start + first, start + last
        found = supporting(whole[first:last], hits)
        if found is None:
            draft.unsupported.append((first, last))
        else:
            draft.text = whole[:last]
            draft.cite(first, *found, score=1.0)


def transcribe_quotes(pieces: Iterator[str], hits: Sequence[Hit], draft: Draft) -> Iterator[str]:
    """As `transcribe`; what is put as a quotation is cited where it stands, or is not borne out.

    Args:
        pieces: of a grounded writer, who numbers the hits from 1
        hits: as it was shown them
        draft: takes its words
    """
    for piece in pieces:
        yield draft.append(piece)
    whole, at = draft.text, 0
    draft.declined = quoting.declines(whole)
    if draft.declined:
        return
    for quotation in quoting.quotations(whole):
        _bear_out(whole, at, quotation.opening, hits, draft)
        at = quotation.end + 1  # behind the closing mark
        found = _standing(quotation, hits)
        if found is None:
            draft.unsupported.append((quotation.start, quotation.end))
        else:
            draft.text = whole[: quotation.end]
            draft.cite(quotation.start, *found, score=1.0)
    _bear_out(whole, at, len(whole), hits, draft)
    draft.text = whole


def _standing(quotation: quoting.Quotation, hits: Sequence[Hit]) -> tuple[Hit, int, int] | None:
    """Where a quotation stands letter for letter: in the passage that it names, or in another.

    A line break or several spaces in the text are one space in the quotation.
    """
    words = r"\s+".join(map(re.escape, quotation.quote.split()))
    named = [hit for number, hit in enumerate(hits, start=1) if number == quotation.number]
    for hit in (*named, *hits):
        if words and (match := re.search(rf"(?<!\w){words}(?!\w)", hit.chunk.text)):
            return hit, hit.chunk.start + match.start(), hit.chunk.start + match.end()
    return None


def admit(pieces: Iterator[str], hits: Sequence[Hit], draft: Draft) -> Iterator[str]:
    """Of what the writer says, the sentences that the passages state and that say something new.

    A small writer puts words of a passage together that do not belong together. So what it adds
    to a quotation must stand almost word for word in one sentence.
    """
    written = ""
    for piece in pieces:
        written += piece
        yield ""  # nothing to show yet, but a reader who has gone can stop the writer here
    for start, end in sentences(written):
        sentence = written[start:end]
        words = set(content_words(sentence))
        new = words - set(content_words(draft.text))
        stated = stating(sentence, hits)
        if stated is None or len(words) < _LEAST or len(new) <= OLD * len(words):
            continue
        yield draft.append("\n")
        at = len(draft.text)
        yield draft.append(sentence)
        draft.cite(at, *stated, score=1.0)
