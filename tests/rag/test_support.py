import pytest

from index.records import StoredChunk, StoredDocument
from rag.records import Hit
from rag.support import borne_out, supporting

PASSAGE = (
    "The warranty of the QX-808 lasts 24 months from delivery in Norway. "
    "Batteries are covered for 6 months. Shipping costs 1,250 EUR."
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The warranty lasts 24 months from delivery.", True),
        ("Shipping costs 1250 EUR.", True),
        ("The warranty lasts 36 months from delivery.", False),  # a number that is not there
        ("The warranty lasts 24 months in Sweden.", False),  # a name that is not there
        ("Customers like the colour of every battery cover sold.", False),  # other words
        ("", False),
    ],
)
def test_numbers_names_and_most_words_must_stand_in_the_passage(
    sentence: str, expected: bool
) -> None:
    assert borne_out(sentence, PASSAGE) is expected


def test_korean_words_meet_whatever_particles_they_carry() -> None:
    passage = "보증 기간은 납품일부터 24개월입니다. 배터리는 6개월 동안 보증합니다."

    assert borne_out("배터리의 보증은 6개월이다.", passage)
    assert not borne_out("배터리의 보증은 9개월이다.", passage)


def hit(text: str, heading: tuple[str, ...] = ()) -> Hit:
    document = StoredDocument(1, "a.md", "A", "text/markdown", "", 0, "indexed", None, (), 1, "")
    chunk = StoredChunk(7, document, text, 100, 100 + len(text), None, heading, 10)
    return Hit(1, 1.0, None, None, chunk)


def test_the_quote_is_the_sentence_that_bears_it_out() -> None:
    text = "The lamp is grey. The warranty lasts 24 months. Batteries are covered for 6 months."
    found = supporting("The warranty lasts 24 months.", [hit("Nothing here."), hit(text)])

    assert found is not None
    _, start, end = found
    assert text[start - 100 : end - 100] == "The warranty lasts 24 months."


def test_two_sentences_are_quoted_where_it_takes_two() -> None:
    text = "Shipping takes 3 days. It costs 12 EUR. The lamp is grey."
    found = supporting("Shipping takes 3 days and costs 12 EUR.", [hit(text)])

    assert found is not None
    assert text[found[1] - 100 : found[2] - 100] == "Shipping takes 3 days. It costs 12 EUR."


def test_a_heading_is_no_quote() -> None:
    text = "Warranty of the lamp\nThe warranty of the lamp lasts 24 months."
    found = supporting("The warranty of the lamp.", [hit(text, ("Warranty of the lamp",))])

    assert found is not None
    assert text[found[1] - 100 : found[2] - 100].endswith("24 months.")


def test_what_nothing_bears_out_has_no_quote() -> None:
    assert supporting("The moon is made of cheese.", [hit("The warranty lasts 24 months.")]) is None
