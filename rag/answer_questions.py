"""What answers are marked by: questions, a JSON object a line, of which only `question` is needed.

{"question", "answers": [], "document", "answerable": true|false, "language": "en"|"ko"}
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from index.analysis import is_korean
from rag.errors import UsageError
from rag.loaders.cleaning import clean, is_blank

QUESTIONS = "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what is known of its answer."""

    id: str  # its line
    question: str
    answers: tuple[str, ...]  # of which one stands in the right answer; empty: none is known
    document: str | None  # the file name of the one that holds it
    answerable: bool | None  # None: nobody said
    language: str


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file, or of the questions.jsonl in a folder.

    Raises:
        UsageError: there is none, or a line is damaged; the message names it.
    """
    file = path / QUESTIONS if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f'{file} is not there: write {{"question": "…"}} a line')
    questions = tuple(_question(row, number, file) for number, row in _rows(file))
    if not questions:
        raise UsageError(f"{file} holds no question: write at least one")
    return questions


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        # Only line ends of files: JSON may hold others within a text.
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file} is not UTF-8 (byte {error.start}): save it in that encoding"
        ) from error
    for number, line in enumerate(lines, 1):
        if is_blank(line):
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{file} line {number} is no JSON ({error}): mend it or take it out"
            ) from error
        if not isinstance(row, dict):
            raise UsageError(
                f'{file} line {number} is no JSON object: write {{"question": "…"}} a line'
            )
        yield number, row


def _question(row: Mapping[str, Any], number: int, file: Path) -> Question:
    at = f"{file} line {number}"
    question = clean(_text(row, "question", at) or "")[0]
    if is_blank(question):
        raise UsageError(f"{at}: question is missing or empty: write it or take the line out")
    answers = _answers(row, at)
    document, answerable = _text(row, "document", at), row.get("answerable")
    if answerable is not None and not isinstance(answerable, bool):
        raise UsageError(f"{at}: answerable is {answerable!r}: write true or false")
    if answerable is False and answers:
        raise UsageError(
            f"{at}: answerable is false, yet there are {len(answers)} answers: take one of the "
            "two out"
        )
    if answerable is None and (answers or document):
        answerable = True
    language = _text(row, "language", at) or ("ko" if is_korean(question) else "en")
    return Question(str(number), question, answers, document or None, answerable, language)


def _answers(row: Mapping[str, Any], at: str) -> tuple[str, ...]:
    answers = row.get("answers")
    if answers is None:
        return ()
    if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
        raise UsageError(f'{at}: answers must be a list of texts: ["…", "…"]')
    return tuple(clean(one)[0] for one in answers if not is_blank(one))


def _text(row: Mapping[str, Any], key: str, at: str) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{at}: {key} is {value!r}: write a text")
    return value
