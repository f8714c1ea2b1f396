"""Vocabularies learned from text: whole Hangul, the same each time, and errors with numbers."""

import json
import subprocess
import sys
import unicodedata

import pytest

from tests.builders import bert_tokenizer, wordpiece
from transformer import Tokenizer
from transformer.errors import TrainingError
from transformer.tokenizer_training import (
    SPECIALS,
    Kind,
    require_coverage,
    train_tokenizer,
    unknown_share,
)

KOREAN = "도서관은 월요일에 쉰다. 도서관에서 책을 읽는다. 월요일에는 책을 읽지 않는다."
ENGLISH = "The library rests on Mondays; the librarian reads a book. A café reads no books at all."
PLACES, WAYS = ("도서관", "병원", "학교", "우체국", "museum", "station"), ("은", "에서", "까지")
DOINGS = ("책을 읽는다.", "월요일에 쉰다.", "rests on Mondays.", "is far away, they said.")
TEXTS = [
    *[KOREAN, ENGLISH] * 10,
    *(f"{place}{way} {doing}" for place in PLACES for way in WAYS for doing in DOINGS),
]
SIZES: dict[Kind, int] = {"wordpiece": 110, "unigram": 70}  # ids; near the most that TEXTS gives


@pytest.fixture(scope="module", params=SIZES)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(TEXTS, kind=request.param, size=SIZES[request.param], lowercase=True)


@pytest.mark.parametrize("kind", SIZES)
def test_the_size_is_exact(kind: Kind) -> None:
    for size in (SIZES[kind], SIZES[kind] - 7):
        assert train_tokenizer(TEXTS, kind=kind, size=size, lowercase=True).size == size


def test_specials_come_first(tokenizer: Tokenizer) -> None:
    assert tokenizer.special_tokens() == {token: i for i, token in enumerate(SPECIALS)}
    assert SPECIALS == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def test_texts_get_a_beginning_and_an_end(tokenizer: Tokenizer) -> None:
    inside = tokenizer.encode(KOREAN)
    assert tokenizer.encode_for_model([KOREAN, ""]) == [[2, *inside, 3], [2, 3]]


def test_what_was_learned_comes_back(tokenizer: Tokenizer) -> None:
    for text in (KOREAN, ENGLISH.lower()):
        back = tokenizer.decode(tokenizer.encode(text))
        assert back.replace(" ", "") == text.replace(" ", "")
    assert len(tokenizer.encode("도서관")) == 1  # frequent enough to be one piece
    assert unknown_share(tokenizer, KOREAN + ENGLISH) == 0


def test_composed_and_decomposed_hangul_are_the_same_syllables(tokenizer: Tokenizer) -> None:
    apart = unicodedata.normalize("NFD", KOREAN)
    assert apart != KOREAN
    assert tokenizer.encode(apart) == tokenizer.encode(KOREAN)
    assert not any(
        unicodedata.normalize("NFD", letter) != letter and 0x1100 <= ord(letter) < 0x1200
        for letter in tokenizer.decode(tokenizer.encode(apart))
    )


def test_accents_stay_and_case_goes(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("CAFÉ") == tokenizer.encode("cafe\u0301")
    assert tokenizer.encode("café") != tokenizer.encode("cafe")


def test_case_stays_where_it_is_asked_for() -> None:
    cased = train_tokenizer(TEXTS, kind="wordpiece", size=130, lowercase=False)
    assert cased.encode("The") != cased.encode("the")


def test_specials_in_a_text_are_plain_text(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("[CLS] book [MASK]")
    assert {0, 2, 3, 4}.isdisjoint(ids)
    assert tokenizer.encode("[MASK]", specials=True) == [4]


@pytest.mark.parametrize("kind", SIZES)
def test_another_process_learns_the_same_bytes(kind: Kind) -> None:
    program = (
        "import json, sys; from transformer.tokenizer_training import train_tokenizer;"
        "made = train_tokenizer(json.load(sys.stdin), "
        f"kind={kind!r}, size={SIZES[kind]}, lowercase=True);"
        "sys.stdout.buffer.write(made.to_json().encode())"
    )
    given = json.dumps(TEXTS).encode()
    command = [sys.executable, "-c", program]
    there = subprocess.run(command, input=given, capture_output=True, check=True)
    here = train_tokenizer(TEXTS, kind=kind, size=SIZES[kind], lowercase=True)
    assert there.stdout == here.to_json().encode()


@pytest.mark.parametrize("kind", SIZES)
def test_ties_do_not_depend_on_the_run(kind: Kind) -> None:
    """A text of nothing but ties: each pair is as frequent as every other."""
    size = {"wordpiece": 40, "unigram": 24}[kind]
    texts = [" ".join(a + b for a in "abcdef" for b in "ghijkl")] * 5
    made = {
        train_tokenizer(texts, kind=kind, size=size, lowercase=True).to_json() for _ in range(5)
    }
    assert len(made) == 1


@pytest.mark.parametrize("kind", SIZES)
def test_too_little_text_names_the_size_that_it_gives(kind: Kind) -> None:
    with pytest.raises(
        TrainingError, match=r"too little for a vocabulary of 9000: it gives \d+"
    ) as e:
        train_tokenizer(TEXTS, kind=kind, size=9000, lowercase=True)
    most = int(str(e.value).split("it gives ")[1].split(";")[0])
    assert train_tokenizer(TEXTS, kind=kind, size=most, lowercase=True).size == most


@pytest.mark.parametrize("kind", SIZES)
def test_too_small_a_size_names_what_the_characters_take(kind: Kind) -> None:
    with pytest.raises(TrainingError, match=r"vocabulary of 20 has no room .* alone take \d+"):
        train_tokenizer(TEXTS, kind=kind, size=20, lowercase=True)


def test_no_text_is_refused() -> None:
    with pytest.raises(TrainingError, match="no text to learn a vocabulary from"):
        train_tokenizer(["", " \n"], kind="wordpiece", size=100, lowercase=True)


def test_a_language_that_was_not_learned_is_refused() -> None:
    english = train_tokenizer([ENGLISH] * 30, kind="wordpiece", size=60, lowercase=True)
    require_coverage(english, [ENGLISH])
    assert unknown_share(english, KOREAN) > 0.5
    with pytest.raises(TrainingError, match=r"lacks \d+% of this text .*at most 10%"):
        require_coverage(english, [KOREAN])


def test_a_vocabulary_that_spells_a_language_letter_by_letter_is_refused() -> None:
    jamo = sorted({letter for letter in unicodedata.normalize("NFD", KOREAN) if letter != " "})
    spelling = Tokenizer(wordpiece([*jamo, *(f"##{letter}" for letter in jamo)]))
    assert unknown_share(spelling, KOREAN) == 0
    with pytest.raises(
        TrainingError, match=r"apart into 2\.\d tokens a character \(at most 1\.2\)"
    ):
        require_coverage(spelling, [KOREAN])


def test_a_vocabulary_of_whole_words_is_not_taken_for_spelling() -> None:
    require_coverage(bert_tokenizer(), ["w1 w2 w3"])
