"""What a grounded generator is asked and says, written and read again."""

import pytest

from rag import quoting
from rag.quoting import Quotation


def test_passages_and_questions_are_written_as_the_model_learned_them() -> None:
    assert quoting.passage(2, "", "The mill.") == "Passage 2:\nThe mill."
    assert (
        quoting.passage(1, "Rules › Leave", "Ten days.") == "Passage 1 (Rules › Leave):\nTen days."
    )
    assert quoting.question("Why?") == "Question: Why?"


@pytest.mark.parametrize("sentence", ["The mill is old.", 'He said "no" and left.', "A\nbreak."])
def test_a_quotation_is_read_as_it_was_written(sentence: str) -> None:
    whole = " ".join(sentence.split())
    answer = quoting.quotation(3, sentence)
    (found,) = quoting.quotations(answer)
    assert (found.number, found.quote) == (3, whole)
    assert answer[found.start : found.end] == whole


def test_several_are_read_in_order_and_anything_else_is_passed_over() -> None:
    answer = f"{quoting.quotation(2, 'One.')}\nIndeed.\n{quoting.quotation(1, 'Two.')}"
    assert [(each.number, each.quote) for each in quoting.quotations(answer)] == [
        (2, "One."),
        (1, "Two."),
    ]
    assert list(quoting.quotations('Passage 2: "never closed')) == []
    assert list(quoting.quotations("")) == []
    assert isinstance(next(quoting.quotations(answer)), Quotation)


def test_declining_is_one_sentence_and_the_system_names_it() -> None:
    assert quoting.declines(f" {quoting.DECLINED}\n")
    assert not quoting.declines(quoting.quotation(1, quoting.DECLINED))
    assert quoting.DECLINED in quoting.SYSTEM
