"""The cited passages of a conversation, to be looked into."""

from index.titles import found_title
from rag.chunking import encoded_text
from rag.records import Citation
from ui.kept_turns import Turns
from ui.locale import Texts

_LABEL = 70  # characters of a question in the list


def cited(turns: Turns) -> dict[str, tuple[str, Citation]]:
    """Of each citation its question and itself, the last answer's first; by turn and place."""
    return {
        f"{number}:{place}": (turn.answer.query or turn.question, citation)
        for number, turn in reversed(list(enumerate(turns, start=1)))
        if turn.answer is not None
        for place, citation in enumerate(turn.answer.citations, start=1)
    }


def named(turns: Turns, key: str, words: Texts) -> str:
    question, citation = cited(turns)[key]
    cut = question if len(question) <= _LABEL else f"{question[: _LABEL - 1]}…"
    return words(
        "inspect.source.name", question=cut, marker=citation.marker, title=citation.document.title
    )


def passage_of(turns: Turns, key: str, citation: Citation) -> str:
    """The passage as the encoder reads it, under its headings; its quote where that is all."""
    answer = turns[int(key.split(":")[0]) - 1].answer
    assert answer is not None, "it holds the citation"
    chunk = next(hit.chunk for hit in answer.passages if hit.chunk.id == citation.chunk_id)
    if not chunk.text:
        return citation.quote
    title = found_title(chunk.document.path, chunk.document.title)
    return encoded_text(title, chunk.heading, chunk.text)
