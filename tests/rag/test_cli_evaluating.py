"""attest eval: the table, the JSON, and how it says no."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rag import Settings
from rag.cli.evaluating import evaluating
from rag.errors import UsageError
from tests.rag.judged_files import corpus, lines


@pytest.fixture
def home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTEST_HOME", str(settings.home))
    monkeypatch.setenv("ATTEST_ENCODER", settings.encoder)
    monkeypatch.setenv("ATTEST_THREADS", "1")
    return settings.home


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(evaluating, ["retrieval", *map(str, arguments)])


def test_a_folder_is_measured_for_people_and_for_programs(home: Path, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "tiny")
    shown = run(folder)
    assert shown.exit_code == 0
    rows = shown.stdout.splitlines()
    assert rows[0] == f"{folder}: 3 questions; 4 documents in 4 passages"
    assert [row.split()[0] for row in rows[3:7]] == ["by", "lexical", "dense", "fused"]
    assert "nDCG@10" in rows[3]
    assert rows[4].split(maxsplit=1)[1].startswith("100.0 [100.0, 100.0]")
    earlier = tmp_path / "earlier.json"
    asked = run(folder, "--json", "--per-query", "--cache", tmp_path / "cache")
    assert asked.exit_code == 0
    earlier.write_text(asked.stdout, encoding="utf-8")
    body = json.loads(asked.stdout)
    assert [one["side"] for one in body["sides"]] == ["lexical", "dense", "fused"]
    assert len(body["per_query"]) == 9
    again = json.loads(run(folder, "--json", "--against", earlier).stdout)
    assert "per_query" not in again
    (comparison,) = again["comparisons"]
    assert comparison["against"] == str(earlier)
    for side in comparison["sides"]:
        assert (side["queries"], side["better"], side["worse"]) == (3, [], [])
        for found in side["differences"]:
            assert list(found) == [
                "metric", "before_pct", "after_pct", "difference_pct", "low_pct", "high_pct", "p",
            ]  # fmt: skip
            assert (found["difference_pct"], found["p"]) == (0, 1)


def test_the_questions_that_changed_most_are_shown(home: Path, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "tiny")
    body = json.loads(run(folder, "--json", "--per-query").stdout)
    for row in body["per_query"]:
        if row["query_id"] == "q1":  # as if it had been worse then
            row["ndcg_at_10_pct"], row["rank"] = 0, None
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(body), encoding="utf-8")
    shown = run(folder, "--against", earlier)
    assert "lexical, by document, 3 questions" in shown.stdout
    assert "better most, fused, by document:" in shown.stdout
    assert "rank – → 1" in shown.stdout
    assert "green lamp" in shown.stdout
    assert "lamp: The lamp in the hall is green and small." in shown.stdout
    side = json.loads(run(folder, "--json", "--against", earlier).stdout)["comparisons"][0]["sides"]
    (changed,) = side[-1]["better"]
    assert (changed["query"], changed["before_rank"], changed["after_rank"]) == (
        "green lamp", None, 1,
    )  # fmt: skip


def test_what_cannot_be_is_a_usage_error(home: Path, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "tiny")
    for arguments, message in (
        ((folder, "--per-query"), "--per-query is for programs: add --json"),
        ((tmp_path / "nowhere",), "is not there: name a folder in BEIR's layout"),
        ((folder, "--against", "nowhere.json"), "no such file"),
    ):
        refused = run(*arguments)
        assert isinstance(refused.exception, UsageError)
        assert message in str(refused.exception)
    own = lines(tmp_path / "questions.jsonl", [{"question": "who?", "document": "a.md"}])
    refused = run(own)
    assert isinstance(refused.exception, UsageError)
    assert "of the library 'default' (a.md): add them with `attest add`" in str(refused.exception)
