"""From nothing to the library's commands, in small and from outside, and what can go wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.cli import main

ROOT = Path(__file__).parents[2]
TINY = ROOT / "configs" / "encoder-tiny.toml"
PLANTED = "The copper kettle in the boat shed whistles before every thunderstorm."
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ATTEST_")} | {
    "ATTEST_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
SETTINGS = {
    "tokenizer.size": "900",
    "pretrain.training.steps": "60",
    "contrast.training.steps": "60",
    "contrast.training.evaluate_every": "30",
    # What is faster here is measured, and two runs on a busy machine may find differently.
    "pretrain.training.precision": "float32",
    "contrast.training.precision": "float32",
}


def set_(settings: dict[str, str]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def started(*arguments: str | Path, **more: Any) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "rag.cli", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, **{**streams, **more})


def attest(*arguments: str | Path) -> Any:
    """What a command says with --json; it must end well."""
    process = started(*arguments, "--json")
    out, told = process.communicate()
    assert process.returncode == 0, told
    return json.loads(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("처음부터")


@pytest.fixture(scope="module")
def documents(folder: Path) -> dict[str, str]:
    """Plain sample documents by name, in a folder `library`, and one with a planted sentence."""
    library = folder / "library"
    library.mkdir()
    files = sorted((ROOT / "samples" / "library").rglob("*.*"))
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in files
        if file.suffix in (".md", ".txt") and file.name.isascii() and file.parent.name != "korea"
    }
    texts["kettle.txt"] = PLANTED
    for name, text in texts.items():
        (library / name).write_text(text, encoding="utf-8")
    return texts


@pytest.fixture(scope="module")
def training(folder: Path, documents: dict[str, str]) -> list[str]:
    """Arguments of the command but for the output: every paragraph is a text."""
    paragraphs = [part for text in documents.values() for part in text.split("\n\n")]
    lines = [" ".join(part.split()) for part in paragraphs]
    texts = folder / "texts.txt"
    texts.write_text("\n".join(lines), encoding="utf-8")
    settings = set_({"data.texts": json.dumps(str(texts)), **SETTINGS})
    return ["train", "encoder", str(TINY), *settings]


@pytest.fixture(scope="module")
def encoder(folder: Path, training: list[str]) -> Any:
    """What the command said of the encoder that it made."""
    return attest(*training, "-o", folder / "encoder")


@pytest.fixture(scope="module")
def home(folder: Path, encoder: Any) -> Path:
    """The library on that encoder, as its own attest.toml names it."""
    home = folder / "home"
    home.mkdir()
    named = json.dumps(encoder["folder"], ensure_ascii=False)
    (home / "attest.toml").write_text(f"encoder = {named}\n", encoding="utf-8")
    added = attest("add", folder / "library", "--home", home)
    assert {one["status"] for one in added["documents"]} == {"added"}
    return home


def test_the_model_is_shown(encoder: Any) -> None:
    shown = attest("models", "show", encoder["folder"])
    assert shown["fingerprint"] == encoder["fingerprint"]
    assert (shown["kind"], shown["languages"], shown["licence"]) == ("encoder", [], None)
    assert shown["parameters"] == encoder["parameters"]


def test_a_sentence_is_found_by_its_meaning_alone(home: Path) -> None:
    assert attest("status", "--home", home)["chunks"] > 150
    found = attest("search", PLANTED, "--mode", "dense", "--home", home, "-k", "5")["hits"]
    assert any(PLANTED in hit["text"] for hit in found)


def test_questions_find_their_documents_better_than_chance(
    folder: Path, home: Path, documents: dict[str, str]
) -> None:
    rows = []
    for name, text in documents.items():
        words = text.split()
        for start in range(30, min(len(words) - 12, 150), 40):
            asked = " ".join(words[start : start + 12])
            rows.append({"question": asked, "document": name, "answerable": True})
    questions = folder / "questions.jsonl"
    questions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    told = attest("eval", "retrieval", questions, "--home", home)

    (dense,) = [side for side in told["sides"] if side["side"] == "dense"]
    chance = 100 * sum(1 / rank for rank in range(1, 11)) / len(documents)
    assert dense["queries"] > 30
    assert dense["mrr_at_10_low_pct"] > chance
    assert dense["mrr_at_10_pct"] > 1.5 * chance


def test_the_other_commands_work_on_it(folder: Path, home: Path, encoder: Any) -> None:
    status = attest("status", "--home", home)
    assert encoder["fingerprint"] in json.dumps(status)
    alike = attest("similar", "warranty-terms-2024.md", "--home", home, "-k", "2")
    assert len(alike["hits"]) == 2
    report = attest("report", "--home", home, "-o", folder / "report.html")
    assert report["n_documents"] == status["documents"]["indexed"]
    assert Path(report["html"]).is_file()


def test_a_run_that_was_killed_ends_in_the_same_encoder(
    folder: Path, training: list[str], encoder: Any
) -> None:
    often = set_({"contrast.training.checkpoint_minutes": "1e-9"})
    output = folder / "killed"
    process = started(*training, *often, "-o", output, stderr=subprocess.DEVNULL)
    contrast = folder / "killed.training" / "contrast"
    until = time.monotonic() + 120
    while not ((contrast / "state.safetensors").is_file() and lines(contrast) > 5):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == (-signal.SIGKILL if os.name != "nt" else 1)
    reached = lines(contrast)
    assert 5 < reached < 60
    assert not output.exists()

    gone_on = attest(*training, *often, "-o", output)

    assert gone_on["fingerprint"] == encoder["fingerprint"]
    assert lines(contrast) == 60


def lines(stage: Path) -> int:
    """Whole lines of a stage's metrics."""
    return (stage / "metrics.jsonl").read_text(encoding="utf-8").count("\n")


Refused = Callable[..., str]


@pytest.fixture
def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], training: list[str]
) -> Refused:
    """Runs the training command: what it says in its one line, of a run that must not be done."""
    for name in os.environ:
        if name.startswith("ATTEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ATTEST_THREADS", "1")

    def run(output: Path, settings: dict[str, str], *, code: int = 1) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*training, *set_(settings), "-o", str(output)])
        told = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
        assert ended.value.code == code, told
        assert told[-1].startswith("attest: ")
        assert not any("Traceback" in line for line in told)
        return told[-1]

    return run


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"pretrain.training.step": "3"}, "pretrain.training.step: did you mean steps?"),
        ({"pretrain.length": "65"}, "pretrain.length (65) is over encoder.max_tokens (64)"),
        ({"contrast.max_tokens": "65"}, "contrast.max_tokens (65) is over encoder.max_tokens (64)"),
        ({"tokenizer.size": "0"}, "tokenizer: size (0) must be at least 1"),
    ],
)
def test_a_setting_that_cannot_be(
    refused: Refused, tmp_path: Path, setting: dict[str, str], message: str
) -> None:
    assert message in refused(tmp_path / "made", setting, code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "texts.txt: no such file; name texts with data.texts"),
        ("", "there is no text in what data.texts names: "),
        ("jackdaws love my big sphinx of quartz", "a vocabulary of 20 has no room for words"),
        ("one two three four " * 50, "the text is too little for a vocabulary of 60: it gives"),
    ],
)
def test_texts_that_cannot_teach_and_then_can(
    refused: Refused, tmp_path: Path, content: str | None, message: str
) -> None:
    texts = tmp_path / "texts.txt"
    if content is not None:
        texts.write_text(content, encoding="utf-8")
    size = "60" if content and "four" in content else "20"
    settings = {"data.texts": json.dumps(str(texts)), "tokenizer.size": size}
    assert message in refused(tmp_path / "made", settings)
    # Nothing has learned yet: another mistake is met, and not that the settings are others.
    assert "no such file" in refused(tmp_path / "made", {"data.texts": '"none.txt"'})


def test_pairs_in_a_language_that_the_vocabulary_lacks(refused: Refused, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    row = {"query": "연차 휴가는 며칠인가요?", "positive": "연차 휴가는 스무 날입니다."}
    pairs.write_text(json.dumps(row), encoding="utf-8")
    told = refused(tmp_path / "made", {"data.pairs": json.dumps(str(pairs))})
    assert "data.pairs: the model's vocabulary lacks" in told
    assert not (tmp_path / "made.training" / "pretrain").exists()  # before the hour, not after it


def test_a_loss_that_is_no_number_and_then_is(
    refused: Refused, tmp_path: Path, training: list[str], encoder: Any
) -> None:
    told = refused(tmp_path / "made", {"contrast.training.learning_rate": "1e6"})
    assert "the loss is nan" in told
    assert "Lower learning_rate (1e+06)" in told
    assert not (tmp_path / "made").exists()
    # The first stage is kept, and the advice can be followed.
    assert attest(*training, "-o", tmp_path / "made")["fingerprint"] == encoder["fingerprint"]


def test_an_output_that_exists(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years", encoding="utf-8")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for output in (tmp_path / "mine", tmp_path / "file", Path(tmp_path.anchor)):
        assert f"{output} exists and is kept: give another folder" in refused(output, {})
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "mine", "thesis.txt"]
    assert (tmp_path / "mine" / "thesis.txt").read_text(encoding="utf-8") == "years"


@pytest.mark.skipif(os.name == "nt", reason="this system has no such limit")
def test_a_disk_that_is_full(tmp_path: Path, training: list[str]) -> None:
    import resource

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    process = started(*training, "-o", tmp_path / "made", preexec_fn=little)
    _, told = process.communicate()

    assert process.returncode == 1, told
    assert "state.safetensors cannot be written" in told.splitlines()[-1]
    assert "make room, and start it again to go on" in told.splitlines()[-1]
    assert "Traceback" not in told
    assert not (tmp_path / "made").exists()
    assert not list(tmp_path.rglob("*.tmp"))
