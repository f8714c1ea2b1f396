"""BLEU beside what sacrebleu 2.6 gives for the same words (tokenize="none", no smoothing)."""

import pytest

from benchmarks.bleu import bleu, words

_SAID = [
    "The cat sat on the mat.",
    "It's a trap, he said!",
    "We went home early today",
    "a b c d e",
]
_MEANT = [
    "The cat sat on a mat.",
    "It's a trap, she said loudly!",
    "We went back home early",
    "a b c d e f g",
]


def test_it_is_what_the_reference_gives() -> None:
    assert bleu(_SAID, _MEANT) == pytest.approx(53.42483254, abs=1e-6)
    assert bleu(_SAID[:3], _MEANT[:3]) == pytest.approx(49.01706937, abs=1e-6)


def test_the_same_is_a_hundred_and_nothing_in_common_is_zero() -> None:
    assert bleu(["One two, three four."], ["one two , three four ."]) == pytest.approx(100)
    assert bleu(["a b c d"], ["e f g h"]) == 0
    assert bleu([""], ["e f g h"]) == 0


def test_marks_stand_alone_and_hangul_is_letters() -> None:
    assert words("It's 3.5, 안녕하세요!") == ["it", "'", "s", "3", ".", "5", ",", "안녕하세요", "!"]
