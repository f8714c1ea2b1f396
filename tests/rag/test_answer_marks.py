"""What an answer is given for what it says, cites and leaves out."""

import pytest

from index.records import StoredChunk, StoredDocument
from rag.answer_marks import MARKS, Outcome, holds, marked
from rag.answer_questions import Question
from rag.records import Answer, Citation, Hit

TEXT = "The warranty of the lamp\nlasts 24 months. Batteries are covered for 6 months."
FIRST, SECOND = (0, 41), (42, len(TEXT))
ASKED = Question("1", "How long?", ("24 months",), "/x/a.md", True, "en")
UNKNOWN = Question("2", "How tall?", (), None, False, "en")
HERE = frozenset({"/x/a.md"})


def document(path: str = "/x/a.md") -> StoredDocument:
    return StoredDocument(1, path, "A", "text/plain", "", 0, "indexed", None, (), 1, "")


def citation(span: tuple[int, int], said: str, text: str = TEXT, path: str = "/x/a.md") -> Citation:
    """A citation of a text's span for what is said first in an answer."""
    quote = text[slice(*span)]
    return Citation(1, 1, document(path), quote, *span, None, 0, len(said), 1.0)


def answer(
    said: str, *citations: Citation, mode: str = "extract", abstained: bool = False
) -> Answer:
    other = StoredChunk(2, document("/x/b.md"), "Nothing of it.", 0, 14, None, (), 4)
    chunk = StoredChunk(1, document(), TEXT, 0, len(TEXT), None, (), 20)
    hits = tuple(Hit(rank, 1.0, None, 1.0, each) for rank, each in enumerate((other, chunk), 1))
    return Answer(
        question="?",
        answer=said,
        mode="extract" if mode == "extract" else "generate",
        abstained=abstained,
        confidence=0.5,
        citations=citations,
        finish_reason="stop",
        unsupported=(),
        passages=hits,
        notes=(),
        timings_ms={},
        models={},
    )


def judged(question: Question, given: Answer, homes: frozenset[str] = HERE) -> Outcome:
    return marked(question, given, homes, lambda _: TEXT, seconds=0.5)


def test_a_right_quotation_has_every_mark() -> None:
    said = "The warranty of the lamp lasts 24 months."
    found = judged(ASKED, answer(said, citation(FIRST, said)))

    assert found.values == {
        "right": 1,
        "gold_contained": 1,
        "exact_match": 0,
        "f1": pytest.approx(2 * 2 / (6 + 2)),  # without its article
        "gold_in_passages": 1,
        "citation_precision": 1,
        "citation_recall": 1,
        "document_precision": 1,
        "supported": 1,
        "misquoted": 0,
        "declining": 1,
        "false_declines": 0,
        "seconds": 0.5,
    }
    assert found.document_rank == 2
    assert list(found.values) == [mark for mark in MARKS if mark in found.values]


def test_citations_must_be_of_the_right_document_and_hold_a_right_answer() -> None:
    said = "Batteries are covered for 6 months."
    wrong, elsewhere = citation(SECOND, said), citation(FIRST, said, path="/x/b.md")
    found = judged(ASKED, answer(said, wrong, elsewhere, mode="generate"))

    assert [one.right for one in found.citations] == [False, False]
    assert (found.values["citation_precision"], found.values["citation_recall"]) == (0, 0)
    assert found.values["document_precision"] == 0.5
    assert (found.values["right"], found.values["gold_in_passages"]) == (0, 1)
    both = judged(ASKED, answer(said, wrong, citation(FIRST, said), mode="generate"))
    assert (both.values["citation_precision"], both.values["citation_recall"]) == (0.5, 1)
    anywhere = judged(ASKED, answer(said, elsewhere, mode="generate"), frozenset())
    assert anywhere.values["citation_recall"] == 1
    assert "document_precision" not in anywhere.values


def test_a_quote_that_does_not_stand_where_it_says_is_a_misquote() -> None:
    said = "The warranty of the lamp lasts 24 months."
    moved = citation(FIRST, said, text=TEXT.replace("24", "42"))
    assert judged(ASKED, answer(said, moved)).values["misquoted"] == 1
    # A quotation that shows other words than the document's; a written sentence may.
    other = "The warranty of the lamp lasts 42 months."
    fine = citation(FIRST, other)
    assert judged(ASKED, answer(other, fine)).values["misquoted"] == 1
    assert judged(ASKED, answer(other, fine, mode="generate")).values["misquoted"] == 0


def test_declining_is_right_where_nothing_is_to_be_found() -> None:
    no = answer("Not here.", abstained=True)
    wrong = judged(ASKED, no).values
    assert (wrong["right"], wrong["declining"], wrong["false_declines"], wrong["f1"]) == (
        0,
        0,
        1,
        0,
    )
    assert wrong["citation_recall"] == 0
    assert "citation_precision" not in wrong
    right = judged(UNKNOWN, no, frozenset()).values
    assert right == {"right": 1, "declining": 1, "missed_declines": 0, "seconds": 0.5}
    said = "Batteries are covered for 6 months."
    missed = judged(UNKNOWN, answer(said, citation(SECOND, said)), frozenset()).values
    assert (missed["right"], missed["declining"], missed["missed_declines"]) == (0, 0, 1)
    assert "citation_precision" not in missed


def test_of_a_bare_question_only_what_needs_no_gold_is_marked() -> None:
    bare = Question("3", "How long?", (), None, None, "en")
    said = "Batteries are covered for 6 months."
    found = judged(bare, answer(said, citation(SECOND, said)), frozenset())
    assert set(found.values) == {"supported", "misquoted", "seconds"}
    assert found.citations[0].right is None


def test_korean_is_compared_by_characters_and_by_morphemes() -> None:
    question = Question("4", "며칠?", ("15일",), None, True, "ko")
    found = judged(question, answer("연차는 15일이다."), frozenset()).values
    # 3 of the answer's 8 characters; of its morphemes 연차, 15 and 일 the last two.
    assert found["f1"] == pytest.approx(2 * 3 / (8 + 3))
    assert found["f1_morphemes"] == pytest.approx(2 * 2 / (3 + 2))
    assert "f1_morphemes" not in judged(ASKED, answer("x")).values


@pytest.mark.parametrize(
    ("text", "gold", "held"),
    [
        ("It lasts 24\n Months.", "24 months", True),
        ("It lasts 124 months.", "24 months", False),
        ("in 2014", "201", False),
        ("연차는 15일이다", "15일", True),
        ("연차는 115일이다", "15일", False),
        ("a.b", "a+b", False),
        ("anything", " ", False),
    ],
)
def test_a_gold_string_stands_whole_in_a_text(text: str, gold: str, held: bool) -> None:
    assert holds(text, [gold]) is held
