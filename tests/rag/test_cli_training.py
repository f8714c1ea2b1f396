"""Training from the command line: what it prints, what it refuses, and how it goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from rag.cli import training
from rag.errors import AttestError, UsageError
from tests.encoder.learning import texts_file
from tests.generator.test_making import examples_file
from transformer.training import Moment

ROOT = Path(__file__).parents[2]
TINY = ROOT / "configs" / "encoder-tiny.toml"

Train = Callable[..., str]


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """Arguments that make the tiny config tinier still."""
    texts = json.dumps([str(texts_file(tmp_path))])
    settings = [f"data.texts={texts}", "tokenizer.size=110", "contrast.training.steps=6"]
    # What is faster is measured, and two processes on a busy machine may find differently.
    settings += [f"{stage}.training.precision=float32" for stage in ("pretrain", "contrast")]
    return [part for setting in settings for part in ("--set", setting)]


@pytest.fixture
def train(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Train:
    """The command with these arguments; what it printed."""
    monkeypatch.setenv("ATTEST_THREADS", "1")
    app = typer.Typer(add_completion=False)
    app.command()(training.train_encoder)

    def run(*arguments: str | Path) -> str:
        app([str(argument) for argument in arguments], standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_it_prints_the_model_and_its_stages(tmp_path: Path, given: list[str], train: Train) -> None:
    body = json.loads(train(TINY, "-o", tmp_path / "made", *given, "--json"))
    assert set(body) == {"folder", "fingerprint", "parameters", "stages"}
    assert set(body["stages"]) == {"pretrain", "contrast"}
    assert set(body["stages"]["pretrain"]) == {"steps", "minutes", "metrics", "early"}
    assert Path(body["folder"]).is_dir()

    text = train(TINY, "-o", tmp_path / "made", *given)  # finished: told again at once
    assert f"fingerprint {body['fingerprint']}" in text
    assert "pretrain: 40 steps" in text


def test_a_killed_command_goes_on_to_the_same_model(
    tmp_path: Path, given: list[str], train: Train
) -> None:
    whole = json.loads(train(TINY, "-o", tmp_path / "whole", *given, "--json"))
    often = ["--set", "pretrain.training.checkpoint_minutes=1e-9"]
    arguments = [str(TINY), "-o", str(tmp_path / "killed"), *given, *often]
    code = "import typer; from rag.cli import training; typer.run(training.train_encoder)"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "ATTEST_THREADS": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    metrics = tmp_path / "killed.training" / "pretrain" / "metrics.jsonl"
    until = time.monotonic() + 60
    while not (metrics.is_file() and metrics.stat().st_size > 400):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()

    gone_on = json.loads(train(*arguments, "--json"))

    assert gone_on["fingerprint"] == whole["fingerprint"]
    steps = [json.loads(line)["step"] for line in metrics.read_text("utf-8").splitlines()]
    assert steps == list(range(1, 41))


def test_ctrl_c_ends_a_stage_behind_the_step_that_it_came_in() -> None:
    moment = Moment(1, 2.0, 1e-3, 1.0, 64, 0.1, 0.5, {})
    with training.bars(lambda: False)("pretrain") as watch:
        watch(moment)
    with training.bars(lambda: True)("pretrain") as watch, pytest.raises(KeyboardInterrupt):
        watch(moment)  # the loop keeps the run, whatever its watcher raises


def test_errors_are_those_of_the_command_line(
    tmp_path: Path, given: list[str], train: Train
) -> None:
    with pytest.raises(UsageError, match=r"pretrain\.rat: did you mean rate"):
        train(TINY, "-o", tmp_path / "made", *given, "--set", "pretrain.rat=0.2")
    with pytest.raises(UsageError, match=r"none\.toml cannot be read"):
        train(tmp_path / "none.toml", "-o", tmp_path / "made")
    with pytest.raises(AttestError, match=r"exists and is kept"):
        train(TINY, "-o", tmp_path, *given)
    with pytest.raises(AttestError, match=r"texts\.txt: no such file; name texts with data\.texts"):
        train(TINY, "-o", tmp_path / "made")


def test_a_generator_is_trained_by_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_THREADS", "1")
    app = typer.Typer(add_completion=False)
    app.command()(training.train_generator)
    files = {"texts": texts_file(tmp_path), "examples": examples_file(tmp_path)}
    settings = [f"data.{name}={json.dumps([str(file)])}" for name, file in files.items()]
    settings += ["pretrain.training.steps=4", "finetune.training.steps=3"]
    given = [part for setting in settings for part in ("--set", setting)]
    config, made = ROOT / "configs" / "generator-tiny.toml", tmp_path / "made"

    app([str(config), "-o", str(made), *given, "--json"], standalone_mode=False)
    body = json.loads(capsys.readouterr().out)
    assert set(body["stages"]) == {"pretrain", "finetune"}
    assert body["stages"]["finetune"]["steps"] == 3

    app([str(config), "-o", str(made), *given], standalone_mode=False)
    assert f"fingerprint {body['fingerprint']}" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"there is no model 'nothing'|give base"):
        app([str(config), "-o", str(made), "--set", "base=nothing"], standalone_mode=False)
