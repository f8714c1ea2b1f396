"""Folders and files of judged questions: what is read, what is left out, what is refused."""

from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.judged import read_corpus, read_questions
from tests.rag.judged_files import DOCUMENTS, GRADES, QUERIES, corpus, lines


@pytest.mark.parametrize("header", ["query-id\tcorpus-id\tscore\n", ""])
@pytest.mark.parametrize("judgements", ["qrels.tsv", "qrels/test.tsv"])
def test_a_folder_is_read_with_header_and_without(
    tmp_path: Path, header: str, judgements: str
) -> None:
    found = read_corpus(corpus(tmp_path / "tiny", header=header, judgements=judgements))
    assert found.name == "tiny"
    assert {document.id: document.text for document in found.documents} == DOCUMENTS
    assert found.queries == {key: QUERIES[key] for key in ("q1", "q2", "q3")}
    assert found.judged["q2"] == {"ferry": 2, "bread": 0}
    assert found.notes == ()


def test_numbers_as_ids_and_a_missing_title_are_fine(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "tiny", grades=[("7", "1", 1)])
    lines(folder / "corpus.jsonl", [{"_id": 1, "text": "A\u030a"}])
    lines(folder / "queries.jsonl", [{"_id": 7, "text": "?"}])
    found = read_corpus(folder)
    assert found.documents[0].text == "Å"  # composed, as every stored text is
    assert found.judged == {"7": {"1": 1}}


def test_what_cannot_be_judged_is_counted_and_said(tmp_path: Path) -> None:
    queries = {**QUERIES, "blank": " \u200b"}
    grades = [*GRADES, ("q9", "lamp", 1), ("blank", "lamp", 1), ("q4", "lamp", 0), ("q1", "x", 1)]
    found = read_corpus(corpus(tmp_path / "tiny", queries=queries, grades=grades))
    assert list(found.queries) == ["q1", "q2", "q3"]
    assert found.judged["q1"] == {"lamp": 1, "x": 1}
    assert found.notes == (
        "1 judged questions are not in queries.jsonl: left out (q9)",
        "1 questions are empty: left out (blank)",
        "1 questions have no relevant document: left out (q4)",
        "1 relevant judgements name documents that corpus.jsonl lacks (x): they count as not found",
    )


def test_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text("", encoding="utf-8")
    message = r"lacks corpus.jsonl, queries.jsonl, .*qrels/ has dev.tsv: copy one to qrels.tsv"
    with pytest.raises(UsageError, match=message):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\n{"_id"', "line 2 is no JSON"),
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\n\n["a"]\n', "line 3 is no JSON object"),
        ("corpus.jsonl", '{"text": "x"}\n', "line 1: _id is missing"),
        ("corpus.jsonl", '{"_id": "a"}\n', "line 1: text is missing"),
        ("queries.jsonl", '{"_id": "a", "text": 3}\n', "line 1: text is missing, or no text"),
        (
            "queries.jsonl",
            '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n',
            "line 2: the _id 'a' was on line 1 already",
        ),
        ("qrels.tsv", "q1\tlamp\n", "line 1 has 2 cells between tabs"),
        ("qrels.tsv", "q1\tlamp\t1\nq1\tferry\thigh\n", "line 2: the grade 'high'"),
        ("qrels.tsv", "q1\tlamp\t1\nq1\tlamp\t2\n", "line 2: 'lamp' has grade 1 for 'q1'"),
        ("qrels.tsv", "", r"none of 4 questions has a relevant document .*it is empty"),
        ("qrels.tsv", "q1\tlamp\t0\n", r"none of 4 questions .*1 questions have no relevant"),
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, file: str, text: str, message: str) -> None:
    folder = corpus(tmp_path / "tiny")
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_corpus(folder)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "tiny")
    (folder / "corpus.jsonl").write_bytes('{"_id": "a", "text": "문서"}'.encode("cp949"))
    with pytest.raises(UsageError, match=r"corpus.jsonl is not UTF-8 \(byte 22\)"):
        read_corpus(folder)


def test_own_questions_that_can_be_judged_are_kept(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "questions.jsonl",
        [
            {"question": "Where?", "answers": ["here", " "], "document": "a.md", "language": "en"},
            {"question": "When?", "answerable": False},
            {"question": " ", "document": "a.md"},
            {"question": "What?", "answers": ["that"]},
        ],
    )
    questions, notes = read_questions(file)
    assert [(one.id, one.document, one.answers) for one in questions] == [
        ("1", "a.md", ("here",)),
        ("4", None, ("that",)),
    ]
    assert notes == (
        "left out: 1 questions that the documents do not answer",
        "left out: 1 empty questions",
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"document": "a.md"}, "line 1: question is missing"),
        ({"question": "x"}, "line 1: neither document nor answers"),
        ({"question": "x", "answers": "y"}, "line 1: answers must be a list of texts"),
        ({"question": "x", "answerable": False}, r"no question .*1 questions .* left out"),
    ],
)
def test_own_questions_that_cannot_be(tmp_path: Path, row: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_questions(lines(tmp_path / "questions.jsonl", [row]))
