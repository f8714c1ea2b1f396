"""Questions with their passages and answers, in the layout of SQuAD (Rajpurkar et al. 2016)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a passage.

    `passage[start : start + len(text)] == text` for each answer (text, start) that counts as right;
    none means that the passage does not answer it.
    """

    question: str
    passage: str
    answers: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        for text, start in self.answers:
            if not text or self.passage[start : start + len(text)] != text:
                raise ValueError(f"the answer {text!r} does not stand at {start} of its passage")


def read_squad(articles: Sequence[Mapping[str, Any]]) -> tuple[list[Question], int]:
    """The questions of articles, and how many answers had to be left out.

    An answer whose place is wrong is looked for: the occurrence nearest to the place counts. One
    that stands nowhere in its passage is left out, with its question where no other is left.
    """
    questions, lost = [], 0
    for article in articles:
        for paragraph in article["paragraphs"]:
            passage = paragraph["context"]
            for row in paragraph["qas"]:
                given = [(each["text"], each["answer_start"]) for each in row["answers"]]
                placed = [found for each in given if (found := _placed(passage, *each))]
                lost += len(given) - len(placed)
                if placed or not given:
                    distinct = tuple(dict.fromkeys(placed))
                    questions.append(Question(row["question"], passage, distinct))
    return questions, lost


def _placed(passage: str, text: str, start: int) -> tuple[str, int] | None:
    text_start = start + len(text) - len(text.lstrip())
    text = text.strip()
    if not text:
        return None
    if passage[text_start : text_start + len(text)] == text:
        return text, text_start
    behind, before = passage.find(text, text_start), passage.rfind(text, 0, text_start + len(text))
    places = [place for place in (behind, before) if place >= 0]
    return (text, min(places, key=lambda place: abs(place - text_start))) if places else None
