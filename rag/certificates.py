"""Certificates: whether each cited source was needed, is enough, and is what the claim follows.

Every claim is scored again by the generator, behind all sources, without one, behind one alone, and
behind one whose number or name was changed. The cited sentences stand by themselves, so that they
can be taken out of their passages; what else the passages say stands beside them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from rag import prompts, quoting
from rag.examining import Case, Changed, Claim, examine
from rag.records import Answer, Certificate, Citation, Hit
from rag.statements import quotable
from rag.swaps import find_swap

if TYPE_CHECKING:
    from generator import Writer
    from rag.remote import RemoteWriter

_MOST = 760  # tokens through the model, a second on two cores; no more claims are certified
_BESIDE = 96  # tokens of what the passages say beside what is cited


def certify(given: Answer, hits: Sequence[Hit], writer: "Writer | RemoteWriter | None") -> Answer:
    """The answer with a certificate at each citation, where its writer can be asked in time.

    Nothing changes where there is no writer of our own that speaks the question's language, where
    the answer is none to a question, and where scoring would take longer than a reader waits.
    """
    if writer is None or given.kind != "lookup" or not given.citations:
        return given
    from generator import Writer

    if not isinstance(writer, Writer):
        return given
    began = time.perf_counter()
    certificates = _certified(given, hits, writer)
    if not certificates:
        return given
    citations = tuple(
        replace(citation, certificate=certificate)
        for citation, certificate in zip_longest(given.citations, certificates)
    )
    took = round((time.perf_counter() - began) * 1000, 1)
    timings = {**given.timings_ms, "certificates": took}
    return replace(given, citations=citations, timings_ms=timings)


def _certified(given: Answer, hits: Sequence[Hit], writer: "Writer") -> list[Certificate]:
    from generator import PromptError
    from generator.blocks import caches_of
    from transformer.errors import ModelError

    declined = quoting.DECLINED if writer.grounded else ""
    try:
        caches = caches_of(writer, prompts.system(writer))
        return examine(case_of(given, hits, writer), caches, declined=declined, most=_MOST)
    except (PromptError, ModelError):  # what is too long among them: the answer stands without
        return []


@dataclass(frozen=True, slots=True, order=True)
class _Piece:
    """Part of a passage that can be taken out of it."""

    hit: int  # place of the passage
    start: int  # in its text
    end: int
    text: str

    def overlaps(self, other: "_Piece") -> bool:
        return self.hit == other.hit and self.start < other.end and other.start < self.end


def case_of(given: Answer, hits: Sequence[Hit], writer: "Writer") -> Case:
    """What is asked of the model: the answer's claims, and the passages cut at what is cited.

    A sentence elsewhere that says the same as a cited one belongs to its group. What the passages
    say besides is one more group, the last.
    """
    from generator.attribute import grouped

    cited = [_piece(citation, hits) for citation in given.citations]
    own = list(dict.fromkeys(cited))
    others = [one for one in _sentences(hits) if not any(map(one.overlaps, own))]
    pieces = [*own, *others]
    copies = grouped([piece.text for piece in pieces])
    groups = [sorted(pieces[i] for i in group) for group in copies if group[0] < len(own)]
    taken = set(chain(*groups))
    beside = _beside([one for one in others if one not in taken], writer)
    order = sorted([*taken, *beside])
    claims = []
    for citation, piece in zip(given.citations, cited, strict=True):
        said = _flat(given.answer[citation.answer_start : citation.answer_end])
        place = next(i for i, group in enumerate(groups) if piece in group)
        changed = _changed(given.question, said, piece, groups[place], hits, writer)
        claims.append(Claim(_line(said, piece, writer), place, changed))
    return Case(
        question=given.query or given.question,
        claims=tuple(claims),
        sources=tuple(_written(piece, hits) for piece in order),
        groups=tuple(tuple(map(order.index, group)) for group in (*groups, beside) if group),
    )


def _piece(citation: Citation, hits: Sequence[Hit]) -> _Piece:
    place, chunk = next(
        (i, hit.chunk) for i, hit in enumerate(hits) if hit.chunk.id == citation.chunk_id
    )
    start, end = citation.start - chunk.start, citation.end - chunk.start
    return _Piece(place, start, end, _flat(citation.quote))


def _sentences(hits: Sequence[Hit]) -> Iterator[_Piece]:
    for place, hit in enumerate(hits):
        for start, end in quotable(hit):
            yield _Piece(place, start, end, _flat(hit.chunk.text[start:end]))


def _beside(pieces: Sequence[_Piece], writer: "Writer") -> list[_Piece]:
    """What each passage says besides, in one piece; of the best of them what is affordable."""
    kept: dict[int, list[_Piece]] = {}
    room = _BESIDE
    for piece in pieces:
        room -= writer.count(piece.text)
        if room < 0:
            break
        kept.setdefault(piece.hit, []).append(piece)
    return [
        _Piece(hit, own[0].start, own[-1].end, " ".join(piece.text for piece in own))
        for hit, own in kept.items()
    ]


def _changed(
    question: str,
    said: str,
    piece: _Piece,
    group: Sequence[_Piece],
    hits: Sequence[Hit],
    writer: "Writer",
) -> Changed | None:
    """The claim and all copies of its source with one fact changed; None where they share none."""
    others = "\n".join(hit.chunk.text for hit in hits)
    swap = find_swap(said, piece.text, question=question, others=others)
    if swap is None:
        return None
    sources = (replace(copy, text=swap(copy.text)) for copy in group)
    return Changed(
        _line(swap(said), piece, writer), tuple(_written(copy, hits) for copy in sources)
    )


def _line(claim: str, piece: _Piece, writer: "Writer") -> str:
    """A claim as the model writes it."""
    return quoting.quotation(piece.hit + 1, claim) if writer.grounded else claim


def _written(piece: _Piece, hits: Sequence[Hit]) -> str:
    return quoting.passage(piece.hit + 1, " › ".join(hits[piece.hit].chunk.heading), piece.text)


def _flat(text: str) -> str:
    return " ".join(text.split())
