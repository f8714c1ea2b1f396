"""Summaries: whose sentences, how many, and each where it stands."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from index.records import OwnedVectors
from rag import Answer, Assistant
from rag.records import Exchange, Within
from rag.summary import central_passages, spread

TODAY = date(2025, 5, 14)
LONG = (
    "# Harbour notes\n\n"
    "The harbour of Larkmoor opens its gates to small boats every morning at six. "
    "Boats that carry more than forty crates pay a fee of nine euros at the gate. "
    "The master of the harbour writes every boat with its crates into a grey book. "
    "Each evening the grey book is taken to the town hall and copied by a clerk. "
    "A lamp on the pier burns all night so that late boats find the harbour gate. "
    "In winter the harbour closes for boats when ice is thicker than five centimetres.\n"
)


@pytest.fixture
def harbour(library: Assistant, tmp_path: Path) -> Assistant:
    folder = tmp_path / "boats"
    folder.mkdir()
    (folder / "harbour.md").write_text(LONG, encoding="utf-8")
    (folder / "minutes-2025-04.txt").write_text(
        "The board of boats met in the town hall and chose a new colour for the gates. "
        "It was decided that the lamp on the pier is painted green before the summer comes.",
        encoding="utf-8",
    )
    library.add(folder)
    return library


def holds(attest: Assistant, given: Answer) -> None:
    """Every sentence is a quotation, byte by byte."""
    assert given.kind == "summary"
    assert given.mode == "extract"
    assert given.citations
    for cited in given.citations:
        text = attest.text(cited.document.id)
        assert text[cited.start : cited.end] == cited.quote
        said = given.answer[cited.answer_start : cited.answer_end]
        assert said == " ".join(cited.quote.split())
        assert cited.chunk_id in [hit.chunk.id for hit in given.passages]
    assert "".join(given.answer.split("\n")) == "".join(
        given.answer[c.answer_start : c.answer_end] for c in given.citations
    )


def names(given: Answer) -> set[str]:
    return {Path(cited.document.path).name for cited in given.citations}


def test_a_named_document(harbour: Assistant) -> None:
    given = harbour.ask("Summarise the harbour notes in 3 sentences", today=TODAY)
    holds(harbour, given)
    assert names(given) == {"harbour.md"}
    assert len(given.citations) == 3
    starts = [cited.start for cited in given.citations]
    assert starts == sorted(starts)
    assert "quoted as they stand" in given.notes[0]


def test_the_document_that_was_chosen(harbour: Assistant) -> None:
    given = harbour.ask("summarise this", within=Within(documents=("harbour.md",)))
    holds(harbour, given)
    assert names(given) == {"harbour.md"}


def test_the_document_that_was_spoken_of(harbour: Assistant) -> None:
    key = harbour.find("harbour.md").id
    given = harbour.ask("요약해줘", earlier=[Exchange("Where is the lamp?", (key,))])
    holds(harbour, given)
    assert names(given) == {"harbour.md"}
    assert "그대로" in given.notes[0]


def test_a_folder_the_library_and_the_minutes_of_a_month(harbour: Assistant) -> None:
    folder = harbour.ask("Summarise the boats folder")
    holds(harbour, folder)
    assert names(folder) == {"harbour.md", "minutes-2025-04.txt"}
    everything = harbour.ask("summarise everything in 9 sentences")
    holds(harbour, everything)
    assert len(names(everything)) > 2
    minutes = harbour.ask("Summarise last month's minutes", today=TODAY)
    holds(harbour, minutes)
    assert names(minutes) == {"minutes-2025-04.txt"}


def test_where_nothing_is_meant_it_asks(harbour: Assistant) -> None:
    for message, said in (("summarise this", "Which document?"), ("이 문서 요약해줘", "어떤 문서")):
        given = harbour.ask(message)
        assert given.answer.startswith(said)
        assert given.abstained
        assert not given.citations


def test_a_folder_that_is_not_there(harbour: Assistant) -> None:
    given = harbour.ask("Summarise the moon folder")
    assert given.abstained
    assert "No document has that name" in given.answer


def test_a_quoted_title_that_nothing_has_is_a_question(harbour: Assistant) -> None:
    assert harbour.ask("What is “Harbour notes” about?", mode="extract").kind == "summary"
    assert harbour.ask("What is “warranty” about?", mode="extract").kind in ("summary", "lookup")
    assert harbour.ask("What is “Atlantis” about?", mode="extract").kind == "lookup"


def test_summaries_are_not_remembered_as_questions(harbour: Assistant) -> None:
    harbour.ask("Summarise the harbour notes")
    harbour.ask("hello")
    harbour.ask("What do you have?")
    assert harbour.history() == ()


def test_sentences_that_say_the_same_are_taken_once() -> None:
    rows = np.eye(3, dtype=np.float32)[[0, 0, 1, 2]]
    scores = np.array([0.9, 0.8, 0.5, 0.1], np.float32)
    assert spread(scores, rows, 4) == [0, 2, 3]
    assert spread(scores, rows, 1) == [0]


def test_what_is_unlike_comes_before_what_repeats() -> None:
    near = np.array([[1, 0, 0], [0.98, 0.199, 0], [0, 0, 1], [0, 1, 0]], np.float32)
    assert spread(np.array([1.0, 0.9, 0.8, 0.0], np.float32), near, 2) == [0, 2]


def test_a_long_document_does_not_outweigh_others() -> None:
    rows = np.eye(2, dtype=np.float32)[[0] * 9 + [1]]
    noise = np.linspace(0, 0.3, 10, dtype=np.float32)
    rows = np.stack([rows[:, 0], rows[:, 1], noise], axis=1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    kept = OwnedVectors(np.arange(10), np.array([1] * 9 + [2]), rows)
    assert 9 in central_passages(kept, 2)
    assert central_passages(OwnedVectors(np.empty(0, np.int64), np.empty(0, np.int64),
                                         np.empty((0, 3), np.float32))) == []  # fmt: skip
