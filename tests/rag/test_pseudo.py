"""Questions made of the library's own text, in both languages."""

from random import Random

import pytest

from index import StoredChunk, StoredDocument
from index.records import WordFrequencies
from rag.pseudo import pseudo_questions, words_of

ENGLISH = (
    "The warranty of the brass lamp lasts twenty four months from the day of delivery. "
    "Rechargeable batteries are covered for six months only, and the receipt must be kept."
)
KOREAN = (
    "연차휴가는 입사 일 년 뒤에 열다섯 날이 생기며 삼월에 새로 부여된다. "
    "병가는 진단서를 내고 하루 단위로 쓴다."
)


def _chunk(text: str, *, title: str = "", heading: tuple[str, ...] = ()) -> StoredChunk:
    document = StoredDocument(
        7, "a/b.md", title or "b", "text/markdown", "", 1, "indexed", None, (), 1, ""
    )
    return StoredChunk(3, document, text, 0, len(text), None, heading, 10)


def _made(chunk: StoredChunk) -> dict[str, str]:
    frequencies = WordFrequencies(100, dict.fromkeys(words_of([chunk]), 3))
    made = pseudo_questions([chunk], frequencies, rng=Random(0))
    assert all((each.chunk_id, each.document_id) == (3, 7) for each in made)
    return {each.kind: each.text for each in made}


@pytest.mark.parametrize("text", [ENGLISH, KOREAN])
def test_questions_use_the_words_of_their_chunk(text: str) -> None:
    made = _made(_chunk(text, title="What the guarantee covers", heading=("A", "연차 휴가 규정")))
    assert made["title"] == "What the guarantee covers"
    assert made["heading"] == "연차 휴가 규정"
    for kind in ("sentence", "words"):
        words = [word.strip(".,") for word in made[kind].split()]
        assert set(words) <= {word.strip(".,") for word in text.split()}
    assert len(made["words"].split()) == 5


def test_half_a_sentence_is_asked() -> None:
    sentences = [len(part.split()) for part in ENGLISH.split(". ")]
    assert 3 <= len(_made(_chunk(ENGLISH))["sentence"].split()) < max(sentences)


def test_rare_words_are_chosen_in_their_order() -> None:
    chunk = _chunk(ENGLISH)
    rare = {"warranty", "brass", "rechargeable", "batteries", "receipt"}
    counts = {
        token: 1 if token in set(words_of([_chunk(" ".join(rare))])) else 90
        for token in words_of([chunk])
    }
    made = pseudo_questions([chunk], WordFrequencies(100, counts), rng=Random(0))
    (words,) = (each.text for each in made if each.kind == "words")
    assert words == "warranty brass Rechargeable batteries receipt"


def test_a_file_name_and_short_headings_ask_for_nothing() -> None:
    made = _made(_chunk(ENGLISH, heading=("Scope",)))
    assert set(made) == {"sentence", "words"}


def test_the_same_chance_makes_the_same_questions() -> None:
    assert _made(_chunk(ENGLISH)) == _made(_chunk(ENGLISH))
