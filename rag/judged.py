"""What rankings are judged by: folders in BEIR's layout, and a user's own questions.jsonl.

corpus.jsonl      {"_id", "title", "text"}, a document a line
queries.jsonl     {"_id", "text"}, a question a line
qrels.tsv, or qrels/test.tsv      question id, document id, grade, with a header or without
questions.jsonl   {"question", "answers": [], "document", "answerable", "language"} a line
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.errors import UsageError
from rag.loaders.cleaning import clean, is_blank

_JUDGEMENTS = ("qrels.tsv", "qrels/test.tsv")
_SHOWN = 3  # names in a note


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    id: str
    title: str  # may be empty
    text: str


@dataclass(frozen=True, slots=True)
class JudgedCorpus:
    """Documents, and the questions that have a relevant one."""

    name: str
    documents: tuple[JudgedDocument, ...]
    queries: Mapping[str, str]
    judged: Mapping[str, Mapping[str, int]]  # query id to document id to grade; of the queries
    notes: tuple[str, ...] = ()  # what was left out, and why


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question about documents of the user's own."""

    id: str  # its line
    question: str
    document: str | None  # file name
    answers: tuple[str, ...]


def is_corpus(path: Path) -> bool:
    """Whether this is a folder in BEIR's layout."""
    return (path / "corpus.jsonl").is_file()


def read_corpus(folder: Path) -> JudgedCorpus:
    """Read a folder in BEIR's layout.

    Judgements of documents that the corpus lacks stay, and count as not found: so figures compare
    with those of others.

    Raises:
        UsageError: a file is missing or damaged, an id is there twice, or nothing is judged.
    """
    judgements = _found(folder)
    documents = {
        key: JudgedDocument(key, clean(_text(row, "title", at, ""))[0], clean(text)[0])
        for key, text, row, at in _records(folder / "corpus.jsonl")
    }
    queries = {key: clean(text)[0] for key, text, _, _ in _records(folder / "queries.jsonl")}
    grades = _grades(judgements)
    judged, notes = _usable(grades, queries, documents)
    if not judged:
        raise UsageError(
            f"{folder}: none of {len(queries)} questions has a relevant document in "
            f"{judgements.name} ({'; '.join(notes) or 'it is empty'}): judge at least one"
        )
    return JudgedCorpus(
        folder.resolve().name,
        tuple(documents.values()),
        {key: queries[key] for key in judged},
        judged,
        notes,
    )


def read_questions(file: Path) -> tuple[tuple[OwnQuestion, ...], tuple[str, ...]]:
    """Questions that the library should find the answers of, and what was left out.

    Raises:
        UsageError: a line is damaged, or no question can be judged.
    """
    questions, unanswerable, empty = [], 0, 0
    for number, row in _lines(file):
        at = f"{file} line {number}"
        asked, document = _text(row, "question", at), _text(row, "document", at, "")
        answers = row.get("answers", [])
        if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
            raise UsageError(f"{at}: answers must be a list of texts")
        if row.get("answerable", True) is False:
            unanswerable += 1
        elif is_blank(asked):
            empty += 1
        elif not document and not answers:
            raise UsageError(f"{at}: neither document nor answers: say where the answer stands")
        else:
            own = tuple(answer for answer in answers if not is_blank(answer))
            questions.append(OwnQuestion(str(number), clean(asked)[0], document or None, own))
    notes = [f"{unanswerable} questions that the documents do not answer"] if unanswerable else []
    notes += [f"{empty} empty questions"] if empty else []
    if not questions:
        left = f" ({', '.join(notes)} left out)" if notes else ""
        raise UsageError(f"{file}: no question that can be judged{left}: write at least one")
    return tuple(questions), tuple(f"left out: {note}" for note in notes)


def named(names: Iterator[str] | Mapping[str, Any] | set[str]) -> str:
    """The first of some names, for a note."""
    every = sorted(names)
    return ", ".join(every[:_SHOWN]) + (", …" if len(every) > _SHOWN else "")


def _found(folder: Path) -> Path:
    missing = [name for name in ("corpus.jsonl", "queries.jsonl") if not (folder / name).is_file()]
    judgements = next((folder / name for name in _JUDGEMENTS if (folder / name).is_file()), None)
    if judgements is None:
        others = sorted(file.name for file in (folder / "qrels").glob("*.tsv"))
        there = f" (qrels/ has {', '.join(others)}: copy one to qrels.tsv)" if others else ""
        missing.append(f"{' or '.join(_JUDGEMENTS)}{there}")
    if missing or judgements is None:
        raise UsageError(f"{folder} lacks {', '.join(missing)}")
    return judgements


def _records(file: Path) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Id, text, the whole row and where it stands, of each line."""
    seen: dict[str, int] = {}
    for number, row in _lines(file):
        at = f"{file} line {number}"
        key = row.get("_id")
        if not isinstance(key, str | int) or isinstance(key, bool) or key == "":
            raise UsageError(f"{at}: _id is missing, or no text")
        if (first := seen.setdefault(str(key), number)) != number:
            raise UsageError(
                f"{at}: the _id {str(key)!r} was on line {first} already: give each its own"
            )
        yield str(key), _text(row, "text", at), row, at


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(_read(file), 1):
        if is_blank(line):
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{file} line {number} is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise UsageError(f'{file} line {number} is no JSON object: write {{"…": …}} a line')
        yield number, row


def _read(file: Path) -> list[str]:
    try:
        # Only line ends of files: JSON may hold others within a text.
        return file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file} is not UTF-8 (byte {error.start}): save it in that encoding"
        ) from error


def _text(row: Mapping[str, Any], key: str, at: str, default: str | None = None) -> str:
    value = row.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise UsageError(f"{at}: {key} is missing, or no text")
    return value


def _grades(file: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_read(file), 1):
        cells = line.strip().split("\t")
        if cells == [""]:
            continue
        if len(cells) != 3:
            raise UsageError(
                f"{file} line {number} has {len(cells)} cells between tabs: write question id, "
                "document id and grade"
            )
        query, document, grade = (cell.strip() for cell in cells)
        if not grade.lstrip("+-").isdecimal():
            if number == 1:  # a header
                continue
            raise UsageError(f"{file} line {number}: the grade {grade!r} is no whole number")
        earlier = grades.setdefault(query, {}).setdefault(document, int(grade))
        if earlier != int(grade):
            raise UsageError(
                f"{file} line {number}: {document!r} has grade {earlier} for {query!r} already, "
                f"now {grade}: keep one"
            )
    return grades


def _usable(
    grades: Mapping[str, Mapping[str, int]],
    queries: Mapping[str, str],
    documents: Mapping[str, JudgedDocument],
) -> tuple[dict[str, Mapping[str, int]], tuple[str, ...]]:
    """The judgements of questions that can be asked, and what was left out."""
    strangers = {key for key in grades if key not in queries}
    empty = {key for key in grades if key in queries and is_blank(queries[key])}
    known = {key: its for key, its in grades.items() if key not in strangers | empty}
    # Below zero is not relevant either, as in trec_eval.
    judged = {key: its for key, its in known.items() if any(grade > 0 for grade in its.values())}
    barren = {key for key in known if key not in judged}
    lost = [name for its in judged.values() for name, grade in its.items() if grade > 0]
    lost = [name for name in lost if name not in documents]
    notes = {
        "judged questions are not in queries.jsonl: left out": strangers,
        "questions are empty: left out": empty,
        "questions have no relevant document: left out": barren,
    }
    said = [f"{len(names)} {what} ({named(names)})" for what, names in notes.items() if names]
    if lost:
        said.append(
            f"{len(lost)} relevant judgements name documents that corpus.jsonl lacks "
            f"({named(set(lost))}): they count as not found"
        )
    return judged, tuple(said)
