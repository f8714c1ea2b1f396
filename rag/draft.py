"""An answer in the making: what is quoted, what a writer adds, and what each sentence rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from index.analysis import content_words
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
    for start, end in sentences(whole):
        found = supporting(whole[start:end], hits)
        if found is None:
            draft.unsupported.append((start, end))
        else:
            draft.text = whole[:end]
            draft.cite(start, *found, score=1.0)
    draft.text = whole


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
