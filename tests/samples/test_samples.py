"""The sample library and its questions hold what benchmarks and the demo rely on."""

import csv
import json
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from docx import Document

from tests.samples.texts import pages, read

SAMPLES = Path(__file__).parents[2] / "samples"
LIBRARY = SAMPLES / "library"
MAX_BYTES = 1_500_000
FORMATS = {".csv": 4, ".docx": 5, ".html": 6, ".md": 14, ".pdf": 6, ".txt": 8}


@dataclass(frozen=True, slots=True)
class Question:
    question: str
    answers: tuple[str, ...]
    document: str | None
    answerable: bool
    language: str


@cache
def library() -> dict[str, Path]:
    files = sorted(path for path in LIBRARY.rglob("*") if path.is_file())
    return {unicodedata.normalize("NFC", path.name): path for path in files}


@cache
def text(name: str) -> str:
    return read(library()[name])


@cache
def questions() -> tuple[Question, ...]:
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Question(**{**row, "answers": tuple(row["answers"])}) for row in rows)


def has_hangul(value: str) -> bool:
    return any("가" <= character <= "힣" for character in value)


def test_every_format_is_there_in_the_promised_number() -> None:
    assert Counter(path.suffix for path in library().values()) == FORMATS


def test_file_names_are_unique_nfc_and_free_of_spaces() -> None:
    files = [path for path in LIBRARY.rglob("*") if path.is_file()]
    names = [path.name for path in files]
    assert len(set(names)) == len(names) == sum(FORMATS.values())
    assert all(name == unicodedata.normalize("NFC", name) for name in names)
    assert all(name == name.lower() and " " not in name for name in names)


def test_the_library_stays_small() -> None:
    assert sum(path.stat().st_size for path in library().values()) < MAX_BYTES


def test_a_third_of_the_documents_is_korean() -> None:
    korean = [name for name in library() if has_hangul(text(name))]
    assert 14 <= len(korean) <= 16
    assert all(library()[name].parent.name == "korea" for name in korean)
    assert {library()[name].suffix for name in korean} == set(FORMATS)


@pytest.mark.parametrize("name", sorted(library()))
def test_documents_read_cleanly_and_have_substance(name: str) -> None:
    content = text(name)
    # Korean packs more into a word, and a table into a row.
    least = 100 if library()[name].suffix == ".csv" else 150
    assert len(content.split()) >= least or len(content) >= 500
    assert "\ufffd" not in content
    assert not [c for c in content if unicodedata.category(c) == "Cc" and c not in "\n\t"]


def test_tables_are_rectangular() -> None:
    for name, path in library().items():
        if path.suffix == ".csv":
            rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
            assert 8 <= len(rows) - 1 <= 40, name
            assert len({len(row) for row in rows}) == 1, name


def test_web_pages_carry_a_title_and_the_noise_of_an_export() -> None:
    for name, path in library().items():
        if path.suffix == ".html":
            source = path.read_text(encoding="utf-8")
            for part in ("<title>", "<nav", "<script", "<style", "<footer"):
                assert part in source, (name, part)


def test_pdfs_have_pages_with_text_and_one_of_them_is_korean() -> None:
    read_pages = {name: pages(path) for name, path in library().items() if path.suffix == ".pdf"}
    assert all(page.strip() for found in read_pages.values() for page in found)
    assert sum(len(found) > 1 for found in read_pages.values()) >= 2
    assert any(has_hangul(found[0]) for found in read_pages.values())


def test_word_files_have_headings_and_tables() -> None:
    with_table = 0
    for name, path in library().items():
        if path.suffix == ".docx":
            document = Document(str(path))
            styles = [p.style.name or "" for p in document.paragraphs if p.style is not None]
            assert any(style.startswith("Heading") for style in styles), name
            with_table += bool(document.tables)
    assert with_table >= 2


@pytest.mark.parametrize(
    ("newer", "older", "date"),
    [
        ("remote-work-policy-2025.html", "remote-work-policy-2022.txt", "12 September 2022"),
        ("warranty-terms-2024.md", "warranty-terms-2021.txt", "1 January 2021"),
    ],
)
def test_superseding_documents_name_the_date_of_the_older_one(
    newer: str, older: str, date: str
) -> None:
    assert "supersede" in text(newer)
    assert date in text(newer)
    assert date.lower() in text(older).lower()


def test_questions_are_counted_by_kind_and_language() -> None:
    kinds = Counter((question.answerable, question.language) for question in questions())
    assert kinds[True, "en"] >= 90
    assert kinds[True, "ko"] >= 40
    assert kinds[False, "en"] >= 40
    assert kinds[False, "ko"] >= 20
    assert sum(kinds.values()) == len(questions())


def test_questions_are_asked_once_and_in_the_language_they_claim() -> None:
    asked = [question.question for question in questions()]
    assert len(set(asked)) == len(asked)
    for question in questions():
        assert has_hangul(question.question) == (question.language == "ko"), question.question
        assert question.question == unicodedata.normalize("NFC", question.question.strip())


def test_unanswerable_questions_name_neither_answer_nor_document() -> None:
    for question in questions():
        assert question.answerable == bool(question.answers), question.question
        assert question.answerable == (question.document is not None), question.question


def test_every_document_is_asked_about_two_to_five_times() -> None:
    asked = Counter(question.document for question in questions() if question.document)
    assert set(asked) == set(library())
    assert all(2 <= count <= 5 for count in asked.values())


@pytest.mark.parametrize(
    "question", [q for q in questions() if q.document], ids=lambda q: q.question
)
def test_gold_answers_stand_verbatim_in_their_document(question: Question) -> None:
    assert question.document is not None
    content = text(question.document)
    assert has_hangul(content) == (question.language == "ko")
    for answer in question.answers:
        assert answer in content
        assert 1 <= len(answer.split()) <= 6
