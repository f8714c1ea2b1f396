"""SQuAD's layout, with places that are wrong; and windows over long passages."""

from itertools import pairwise

import pytest

from encoder.answer_scores import exact_match, f1
from encoder.questions import Question, read_squad
from encoder.windows import Framing, Window, allowed, texts, tokens_of
from tests.builders import bert_tokenizer


def _article(passage: str, *answers: tuple[str, int]) -> dict[str, object]:
    given = [{"text": text, "answer_start": start} for text, start in answers]
    return {"paragraphs": [{"context": passage, "qas": [{"question": "?", "answers": given}]}]}


def test_a_wrong_place_is_mended_by_the_nearest_occurrence() -> None:
    passage = "tea, then coffee, then tea"
    (question,), lost = read_squad([_article(passage, ("tea", 20), ("coffee", 10))])
    assert question.answers == (("tea", 23), ("coffee", 10))
    assert lost == 0


def test_space_around_an_answer_is_no_part_of_it() -> None:
    (question,), _ = read_squad([_article("so it is tea.", (" tea", 8))])
    assert question.answers == (("tea", 9),)


def test_an_answer_that_stands_nowhere_is_lost_and_counted() -> None:
    questions, lost = read_squad([_article("tea", ("milk", 0)), _article("tea", ("tea", 0))])
    assert [each.answers for each in questions] == [(("tea", 0),)]
    assert lost == 1


def test_a_question_that_was_given_no_answer_stays() -> None:
    (question,), lost = read_squad([_article("tea")])
    assert (question.answers, lost) == ((), 0)


def test_an_answer_elsewhere_is_refused() -> None:
    with pytest.raises(ValueError, match="'milk' does not stand at 2"):
        Question("?", "tea and milk", (("milk", 2),))


def _framing(max_tokens: int = 12) -> Framing:
    return Framing(bert_tokenizer(), prefix="", max_tokens=max_tokens, question_tokens=3, overlap=2)


@pytest.mark.parametrize("length", [1, 7, 8, 30])
def test_windows_cover_a_passage_and_overlap(length: int) -> None:
    framing = _framing()
    windows = framing.windows(4, length)
    assert windows[0].first == 0
    assert windows[-1].last == length
    assert all(w.last - w.first <= 7 for w in windows)
    assert all(a.last - b.first == 2 for a, b in pairwise(windows))
    assert len({w.last for w in windows}) == len(windows)


def test_a_row_says_where_its_passage_stands() -> None:
    framing, passage = _framing(), texts(bert_tokenizer(), ["w10 w11 w12 w13"])[0]
    row = framing.row([5, 6], passage, Window(1, 3))
    assert row.ids == [2, 5, 6, 3, 16, 17, 3]
    assert row.place(2) == 5
    assert row.ids[row.place(2)] == passage.ids[2]
    assert row.token(5) == 2
    assert allowed([row], 9).tolist() == [[True, *[False] * 3, True, True, *[False] * 3]]


def test_a_question_too_long_loses_its_end() -> None:
    assert _framing().head([5, 6, 7, 8, 9]) == [2, 5, 6, 7, 3]


def test_tokens_of_a_stretch_of_characters() -> None:
    passage = texts(bert_tokenizer(), ["w10 w11 w12"])[0]
    assert tokens_of(passage, 4, 7) == (1, 1)
    assert tokens_of(passage, 5, 9) == (1, 2)
    with pytest.raises(ValueError, match="no token of the passage stands at 3:4"):
        tokens_of(passage, 3, 4)


def test_exact_match_looks_past_case_articles_and_punctuation() -> None:
    assert exact_match("The  Tea.", ["milk", "tea"]) == 1
    assert exact_match("tea and milk", ["tea"]) == 0
    assert exact_match("", []) == 1
    assert exact_match("tea", []) == 0


def test_f1_is_the_best_overlap() -> None:
    assert f1("green tea", ["tea", "milk"], by="words") == pytest.approx(2 / 3)
    assert f1("1989년에", ["1989년"], by="characters") == pytest.approx(2 * 5 / 11)
    assert f1("1989년에", ["1989년"], by="words") == 0
    assert f1("", ["tea"], by="words") == 0
