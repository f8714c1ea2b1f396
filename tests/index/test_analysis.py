import threading
import unicodedata

import pytest

from index import analysis
from index.analysis import content_words, is_korean, terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The connections are connected", ["connect", "connect"]),
        ("QX-808", ["qx-808", "qx", "808"]),
        ("version v1.2.3", ["version", "v1.2.3", "v", "1", "2", "3"]),
        ("x86_64", ["x86_64", "x", "86", "64"]),
        ("3.14 and 1,234,567.5 and 1,234원", ["3.14", "1234567.5", "1234", "원"]),
        ("１２ ｋｇ", ["12", "kg"]),
        ("the company’s rules don't", ["compani", "rule", "don't"]),
        ("of the and, or; is it?", []),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "written",
    ["학교에서는", "학교가", "「학교」를", '"학교"에서', "학교(초등)에", "#학교", "학교,"],
)
def test_a_noun_is_met_whatever_particle_follows(written: str) -> None:
    assert "학교" in tokens(written)


def test_verbs_meet_by_their_stem() -> None:
    assert set(tokens("먹었습니다")) == set(tokens("먹는")) == {"먹"}


def test_a_compound_is_reachable_by_its_parts() -> None:
    found = tokens("개인정보보호법에 따라")
    assert set(tokens("개인 정보 보호법")) <= set(found)
    assert set(tokens("인공지능")) <= set(tokens("인공지능기술을"))


def test_codes_in_korean_words_are_found_and_particles_are_not() -> None:
    assert tokens("QX-808이다") == ["qx-808", "qx", "808"]
    assert tokens("(주)한국을") == ["한국"]


def test_decomposed_hangul_is_the_same_text() -> None:
    assert tokens(unicodedata.normalize("NFD", "학교에서는")) == ["학교"]
    assert is_korean(unicodedata.normalize("NFD", "가"))


def test_is_korean() -> None:
    assert is_korean("the word 학교")
    assert not is_korean("the word school, 学校, ㅋㅋ")


def test_content_words_leave_out_the_function_words_of_both_languages() -> None:
    assert content_words("before the limits were used again") == ["limit"]
    assert content_words("무엇을 할 수 있는 경우에 휴가를 쓴다") == ["휴가", "쓰"]


def test_terms_are_readable() -> None:
    assert terms("The company's connections, 1,200 of QX-808") == [
        "company",
        "connections",
        "qx-808",
    ]
    assert terms("인공지능기술을 연구하는 학생들이 민주화를") == [
        "인공지능기술",
        "연구",
        "학생",
        "민주화",
    ]


def test_version_changes_with_the_analyser() -> None:
    assert analysis.version().startswith("1-kiwi")


def test_threads_share_the_analyser() -> None:
    analysis._analysed.cache_clear()
    texts = [f"{noun}에서는 {i}번 학교를" for i, noun in enumerate(["서울", "회의", "계약"] * 8)]
    expected = [tokens(text) for text in texts]
    analysis._analysed.cache_clear()
    found: dict[int, list[str]] = {}

    def work(first: int) -> None:
        for i in range(first, len(texts), 4):
            found[i] = tokens(texts[i])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(texts))] == expected
