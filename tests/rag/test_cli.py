"""The command line from the outside: what stands on stdout and stderr, and the exit code."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rag.conftest import Ran

Run = Callable[..., Ran]


@pytest.fixture
def filled(run: Run, shelf: Path) -> Run:
    """The command line over a library that has read the shelf."""
    assert run("add", shelf, "--json").code == 0
    return run


def test_add_reports_each_file_and_a_summary(run: Run, shelf: Path) -> None:
    ran = run("add", shelf, "--json")

    body = json.loads(ran.out)
    assert ran.code == 0
    assert body["summary"] == {"added": 3}
    assert set(body["documents"][0]) == {"path", "id", "status", "chunks", "reason", "warnings"}
    assert json.loads(run("add", shelf, "--json").out)["summary"] == {"unchanged": 3}


def test_partly_added_is_3_and_nothing_added_is_1(run: Run, tmp_path: Path) -> None:
    good, empty = tmp_path / "good.txt", tmp_path / "empty.txt"
    good.write_text("The gate is green.", encoding="utf-8")
    empty.write_text("", encoding="utf-8")

    assert run("add", good, empty).code == 3
    assert run("add", empty).code == 1
    ran = run("add", good)
    assert ran.code == 0
    assert "unchanged" in ran.out


def test_files_passed_over_in_a_folder_do_not_count(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("The gate is green.", encoding="utf-8")
    (tmp_path / "picture.xyz").write_bytes(b"\x89PNG\x00\x01")
    (tmp_path / "~$plan.docx").write_bytes(b"lock")

    ran = run("add", tmp_path, "--json")

    assert ran.code == 0
    assert json.loads(ran.out)["summary"] == {"added": 1}


def test_search_prints_the_agreed_shape(filled: Run) -> None:
    ran = filled("search", "warranty of the lamp", "-k", "2", "--json")

    body = json.loads(ran.out)
    assert ran.code == 0
    assert set(body) == {"query", "hits", "timings_ms", "weight", "pending", "notes"}
    assert len(body["hits"]) == 2
    assert set(body["hits"][0]) == {
        "rank",
        "score",
        "dense",
        "lexical",
        "likelihood",
        "chunk_id",
        "text",
        "start",
        "end",
        "page",
        "heading",
        "terms",
        "document",
    }
    assert set(body["hits"][0]["document"]) == {"id", "path", "title", "media_type"}


def test_ask_prints_the_answer_with_its_source(filled: Run) -> None:
    ran = filled("ask", "How long does the warranty of the lamp last?", "--mode", "extract")

    assert ran.code == 0
    assert "24 months from delivery. [1]" in ran.out
    assert "warranty.md" in ran.out


def test_ask_as_json_has_the_agreed_shape(filled: Run) -> None:
    question = ("ask", "When does the workshop open?", "--mode", "extract", "--json")
    body = json.loads(filled(*question).out)

    assert {
        "question",
        "answer",
        "mode",
        "abstained",
        "confidence",
        "citations",
        "passages",
        "timings_ms",
        "models",
    } <= set(body)
    assert body["confidence"] is None
    assert set(body["citations"][0]) == {
        "marker",
        "chunk_id",
        "document",
        "quote",
        "start",
        "end",
        "page",
        "answer_start",
        "answer_end",
        "certificate",
        "score",
    }


def test_a_dash_reads_the_question_from_stdin(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("warranty of the lamp\n"))

    assert "warranty.md" in filled("search", "-").out


def test_list_remove_and_status(filled: Run) -> None:
    rows = json.loads(filled("list", "--json").out)["documents"]
    assert set(rows[0]) >= {"id", "path", "title", "media_type", "status", "chunks", "size"}
    assert "warranty.md" in filled("list").out
    assert filled("remove", "warranty.md").code == 0
    assert json.loads(filled("status", "--json").out)["documents"] == {"indexed": 2}
    assert "warranty.md" not in filled("list").out


def test_similar_and_report(filled: Run, tmp_path: Path) -> None:
    assert "hours" in filled("similar", "warranty.md").out
    page = tmp_path / "out" / ".." / "report.html"
    ran = filled("report", "-o", page, "--clusters", "2", "--json")
    body = json.loads(ran.out)
    assert body["n_clusters"] == 2
    assert sum(group["size"] for group in body["clusters"]) == 3
    assert Path(body["html"]).is_file()


def test_an_empty_library_is_no_error(run: Run) -> None:
    assert run("list").code == 0
    assert run("status").code == 0
    ran = run("report", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["n_clusters"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("search", "lamp", "-k", "0"), 2, "k (0) must be at least 1"),
        (("search", "  "), 2, "the question is empty"),
        (("ask", ""), 2, "the question is empty"),
        (("search", "lamp", "-c", "elsewhere"), 1, "elsewhere"),
        (("search", "lamp", "--in", "ghost.txt"), 1, "ghost.txt"),
        (("add", "/nowhere/at/all"), 1, "no such file or folder"),
        (("remove", "ghost.txt"), 1, "ghost.txt"),
        (("similar", "ghost.txt"), 1, "ghost.txt"),
        (("models", "show", "minilmm"), 1, "minilm"),
        (("models", "pull", "nomodel"), 1, "nomodel"),
        (("report", "--clusters", "0"), 2, "clusters (0)"),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(
    filled: Run, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = filled(*arguments)

    assert ran.code == code
    assert ran.out == ""
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err


def test_wrong_words_are_usage_errors(run: Run) -> None:
    assert run("serch", "x").code == 2
    assert run("search").code == 2
    assert run("search", "x", "--mode", "magic").code == 2


def test_a_missing_model_names_the_command_that_brings_it(
    run: Run, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_ENCODER", "minilm")
    monkeypatch.setenv("ATTEST_MODELS_DIR", str(tmp_path / "none"))

    ran = run("add", shelf)

    assert ran.code == 1
    assert "attest models pull minilm" in ran.err


def test_a_broken_model_is_one_line(
    run: Run, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}", encoding="utf-8")
    (broken / "model.safetensors").write_bytes(b"not weights")
    monkeypatch.setenv("ATTEST_ENCODER", str(broken))

    ran = run("add", shelf)

    assert ran.code == 1
    assert "broken" in ran.err
    assert "Traceback" not in ran.err


def test_models_are_listed_with_what_they_are_good_for(run: Run) -> None:
    rows = json.loads(run("models", "list", "--json").out)["models"]

    assert {"minilm", "smollm2"} <= {row["name"] for row in rows}
    assert run("models").out == run("models", "list").out


def test_chat_answers_until_the_input_ends(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("When does the workshop open?\n"))
    monkeypatch.setenv("ATTEST_GENERATOR", "smollm2")

    ran = filled("chat", "--mode", "extract")

    assert ran.code == 0
    assert "8:30" in ran.out


def test_a_database_that_cannot_be_reached_is_one_line_without_its_password(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_DATABASE_URL", "postgresql://me:hidden@127.0.0.1:1/library")
    ran = run("status")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "'library' at 127.0.0.1:1 cannot be worked with" in ran.err
    assert "hidden" not in ran.err
