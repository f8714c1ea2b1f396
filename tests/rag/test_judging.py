"""What the judge of evidence is shown, and what comes of what it says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from encoder.judge import Judge
from rag.evidence import Evidence, find_evidence
from rag.judging import judged, presented
from tests.rag.test_answer import QUESTION, found, hit


@dataclass
class Says:
    """Whatever it is told to, of the sentence that holds a word."""

    word: str
    fingerprint: str = "says"
    read: list[str] = field(default_factory=list)

    def log_odds(self, question: str, sentences: Sequence[str]) -> NDArray[np.float32]:
        self.read += sentences
        return np.array(
            [8.0 if self.word in text.split(" | ")[0] else -8.0 for text in sentences], np.float32
        )


def evidence(*texts: str) -> list[Evidence]:
    return find_evidence(QUESTION, found(*(hit(text) for text in texts)), embedder=None)


def test_without_a_judge_all_stays_as_it_is() -> None:
    given = evidence("The lamp is green. The warranty of the lamp lasts 24 months.")
    assert judged(QUESTION, given, None) == given
    assert judged(QUESTION, [], cast("Judge", Says("x"))) == []


def test_what_surely_answers_comes_first() -> None:
    given = evidence("The lamp is green. The warranty of the lamp lasts 24 months.")
    assert "warranty" in given[0].text
    made = judged(QUESTION, given, cast("Judge", Says("green")))
    assert "green" in made[0].text
    assert [e.answers for e in made] == [8.0, -8.0]
    assert [e.score for e in made] == sorted((e.score for e in made), reverse=True)


def test_the_judge_reads_the_best_only_and_nothing_is_lost() -> None:
    given = evidence(" ".join(f"The lamp number {n} is on the table." for n in range(30)))
    says = Says("number 29")
    made = judged(QUESTION, given, cast("Judge", says))
    assert len(says.read) < len(given) == len(made)
    assert {e.text for e in made} == {e.text for e in given}
    assert [e.answers for e in made[len(says.read) :]] == [None] * (len(made) - len(says.read))


def test_the_judge_sees_the_sentence_first_and_what_it_stands_behind() -> None:
    says = Says("")
    judged(QUESTION, evidence("The lamp is green. The warranty lasts long."), cast("Judge", says))
    assert sorted(says.read) == [
        "The lamp is green. | A",
        "The warranty lasts long. | A The lamp is green.",
    ]


@pytest.mark.parametrize(
    ("heading", "before", "shown"),
    [
        ("", "", "It lasts."),
        ("Lamps", "", "It lasts. | Lamps"),
        (" ", "So it is.", "It lasts. | So it is."),
        ("", "word " * 40, "It lasts. | " + "word " * 31 + "word"),
        ("", "x" * 200, "It lasts. | " + "x" * 160),
    ],
)
def test_what_stands_around_is_cut_at_a_word(heading: str, before: str, shown: str) -> None:
    assert presented("It lasts.", heading, before) == shown
