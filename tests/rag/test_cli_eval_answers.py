"""attest eval answers: the table, the JSON, the rows, and how it says no."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from generator import checkpoint
from rag import Assistant
from rag.cli.evaluating import evaluating
from rag.errors import AttestError, ModelMissing, NotFound, UsageError
from tests.generator.builders import generator, loaded, tokenizer
from tests.rag.judged_files import lines

QUESTIONS = (
    {
        "question": "How long does the warranty of the lamp last?",
        "answers": ["24 months"],
        "document": "warranty.md",
    },
    {"question": "When does the workshop open?", "answers": ["9:00"], "document": "hours.txt"},
    {"question": "연차는 며칠이야?", "answers": ["15일"], "document": "휴가.md"},
    {"question": "Who feeds the zebra?", "answerable": False},
)


@pytest.fixture
def home(library: Assistant, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library that has read the shelf."""
    monkeypatch.setenv("ATTEST_HOME", str(library.settings.home))
    monkeypatch.setenv("ATTEST_ENCODER", library.settings.encoder)
    monkeypatch.setenv("ATTEST_THREADS", "1")
    return library.settings.home


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return lines(tmp_path / "questions.jsonl", QUESTIONS)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(evaluating, ["answers", *map(str, arguments)])


def rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_answers_are_marked_for_people_and_for_programs(home: Path, questions: Path) -> None:
    shown = run(questions, "--mode", "extract")
    assert shown.exit_code == 0, shown.output
    first, _, _, heads, counts, right, *_ = shown.stdout.splitlines()
    assert first.startswith(f"{questions}: 4 questions to the library 'default', ")
    assert heads.split() == ["en", "ko", "all"]
    assert "3 (2 + 1 not there)" in counts
    assert right.startswith("right")
    assert "misquotes             0 of" in shown.stdout

    body = json.loads(run(questions, "--mode", "extract", "--json").stdout)
    assert (body["mode"], body["generator"], body["questions"]) == ("extract", None, 4)
    assert (body["failed"], body["comparison"], body["notes"]) == ([], None, [])
    english, korean, every = body["groups"]
    assert (english["answerable"], english["unanswerable"], every["questions"]) == (2, 1, 4)
    assert english["auroc"] is None
    figures = {one["metric"]: one for one in english["figures"]}
    assert figures["gold_contained"]["mean_pct"] == 50  # nine o'clock is not what stands there
    assert figures["gold_contained"]["n"] == 2
    assert list(figures["seconds"]) == ["metric", "n", "mean_s", "low_s", "high_s"]
    assert {"f1_morphemes", "f1"} <= {one["metric"] for one in korean["figures"]}


def test_every_question_has_a_row_that_can_be_compared_with(
    home: Path, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    assert run(questions, "--mode", "extract", "--out", out).exit_code == 0
    first = rows(out)[0]
    assert (first["id"], first["mode"], first["answerable"]) == ("1", "extract", True)
    assert "24 months" in str(first["answer"])
    assert first["gold_contained_pct"] == 100
    assert first["error"] is None
    again = json.loads(run(questions, "--mode", "extract", "--against", out, "--json").stdout)
    for group in again["comparison"]["groups"]:
        for found in group["differences"]:
            # Also a third that was written and read again; only the time is another.
            assert found["metric"] == "seconds" or (found["difference_pct"], found["p"]) == (0, 1)

    body = rows(out)
    body[0] |= {"right_pct": 0.0, "answer": "As it was then."}  # as if it had been worse
    worse = lines(tmp_path / "worse.jsonl", body)
    shown = run(questions, "--mode", "extract", "--against", worse).stdout
    assert f"against {worse}" in shown
    assert "better most:" in shown
    assert "line 1: How long does the warranty of the lamp last?  [24 months]" in shown
    assert "then: As it was then." in shown
    (changed,) = json.loads(
        run(questions, "--mode", "extract", "--against", worse, "--json").stdout
    )["comparison"]["better"]
    assert (changed["id"], changed["before"]) == ("1", "As it was then.")


def test_another_generator_answers_the_same_questions(
    home: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed in (("one", 0), ("two", 1)):
        model = generator(d_model=64, head_width=16, n_heads=4, d_ff=96, max_tokens=2048, seed=seed)
        checkpoint.save(loaded(model, tokenizer()), tmp_path / name)
    one, two = tmp_path / "one", tmp_path / "two"
    monkeypatch.setenv("ATTEST_GENERATOR", str(one))
    out = tmp_path / "rows.jsonl"
    made = run(questions, "--against", two, "--out", out, "--json")
    assert made.exit_code == 0, made.output
    body = json.loads(made.stdout)
    assert (body["mode"], body["generator"]) == ("auto", str(one))
    assert body["comparison"]["against"] == str(two)
    assert [(row["id"], row["generator"]) for row in rows(out)] == [
        *((str(n), str(one)) for n in range(1, 5)),
        *((str(n), str(two)) for n in range(1, 5)),
    ]
    other = json.loads(run(questions, "--against", "extract", "--json").stdout)
    assert other["comparison"]["against"] == "extract"


def test_a_question_that_fails_is_named_and_stops_nothing(home: Path, tmp_path: Path) -> None:
    long = {"question": "word " * 5000}
    file = lines(tmp_path / "questions.jsonl", [long, *QUESTIONS])
    out = tmp_path / "rows.jsonl"
    made = run(file, "--mode", "extract", "--out", out)
    assert made.exit_code == 3
    assert "1 of 5 questions failed:" in made.stdout
    assert "line 1: word word" in made.stdout
    assert "characters, 20000 are taken: shorten it]" in made.stdout
    assert "20000 are taken" in str(rows(out)[0]["error"])
    assert len(rows(out)) == 5
    compared = run(file, "--mode", "extract", "--against", out)
    assert "note: 1 of 5 questions were not answered in both" in compared.stdout
    refused = run(lines(tmp_path / "long.jsonl", [long]), "--mode", "extract")
    assert isinstance(refused.exception, AttestError)
    assert "none of 1 questions could be answered (extract); the first, line 1" in str(
        refused.exception
    )


def test_what_cannot_be_is_said_before_anything_is_asked(
    home: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Assistant, "ask", lambda _self, question, **_: asked.append(question))
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("{\n", encoding="utf-8")
    strange = lines(tmp_path / "strange.jsonl", [{"id": "1"}])
    for arguments, kind, message in (
        ((tmp_path / "no.jsonl",), UsageError, "is not there: write"),
        ((questions, "--against", "auto"), UsageError, "auto is what is measured (auto, "),
        (
            (questions, "--mode", "extract", "--against", "smollm2"),
            UsageError,
            "mode extract asks no generator, smollm2 would change nothing",
        ),
        ((questions, "--against", "nonesuch"), NotFound, "nonesuch"),
        ((questions, "--against", "old.jsonl"), UsageError, "no such file, to be compared with"),
        ((questions, "--against", damaged), UsageError, "is no JSON, a line a question"),
        ((questions, "--against", strange), UsageError, "is not as `attest eval answers` writes"),
        ((questions, "--out", tmp_path / "no" / "a.jsonl"), UsageError, "make it"),
        (
            (lines(tmp_path / "other.jsonl", [{"question": "q", "document": "x.md"}]),),
            UsageError,
            "(x.md): add them with `attest add`",
        ),
    ):
        refused = run(*arguments)
        assert isinstance(refused.exception, kind), refused.exception
        assert message in str(refused.exception)
    assert asked == []


def test_a_model_that_is_not_there_ends_the_run(
    home: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_MODELS_DIR", str(tmp_path / "models"))
    refused = run(questions)
    assert isinstance(refused.exception, ModelMissing)
    assert "attest models pull smollm2" in str(refused.exception)


def test_nothing_that_is_asked_is_learned_from(
    home: Path, library: Assistant, questions: Path
) -> None:
    assert run(questions, "--mode", "extract").exit_code == 0
    assert library.history() == ()
