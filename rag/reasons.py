"""Why nothing was answered, in terms that a reader can check."""

from dataclasses import dataclass

from index.analysis import content_words, tokens
from rag.records import Answer, Hit

_NEAREST = 3
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Reason:
    """What spoke against an answer."""

    found: bool  # some passages came near enough to be looked at
    likely: float | None  # that they answer, 0 to 1; None where that is not calibrated
    missing: tuple[str, ...]  # words of the question that none of them has
    nearest: tuple[Hit, ...]  # the best of them


def reason(answer: Answer) -> Reason | None:
    """Why an answer was declined; None where it was not, or where nothing was looked for."""
    if not answer.abstained or answer.kind != "lookup":
        return None
    query = answer.query or answer.question
    hits = answer.passages
    return Reason(
        found=bool(hits),
        likely=answer.confidence,
        missing=_missing(query, hits),
        nearest=hits[:_NEAREST],
    )


def _missing(query: str, hits: tuple[Hit, ...]) -> tuple[str, ...]:
    """The content words of a query, as it writes them, that no passage has in any form."""
    if not hits or not all(hit.chunk.text for hit in hits):  # a kept answer, after a removal
        return ()
    held = set[str]()
    for hit in hits:
        chunk = hit.chunk
        held.update(tokens("\n".join((chunk.document.title, *chunk.heading, chunk.text))))
    wanted = set(content_words(query))
    words = dict.fromkeys(word.strip(".,;:!?()[]\"'“”‘’「」") for word in query.split())
    lacking = (
        word
        for word in words
        if wanted.intersection(tokens(word)) and held.isdisjoint(tokens(word))
    )
    return tuple(lacking)[:_MOST_WORDS]
