"""`attest adapt` from the outside."""

import json
from pathlib import Path
from random import Random

import pytest
import typer
from typer.testing import CliRunner

from rag import Assistant, Settings
from rag.cli.adapting import adapt
from rag.errors import UsageError
from tests.rag.planted import fill, misled_encoder, planted, praise

app = typer.Typer()
app.command()(adapt)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library that was asked about each of its documents."""
    encoder = misled_encoder(tmp_path / "models")
    for name, value in (("ENCODER", encoder), ("GENERATOR", tmp_path / "none"), ("THREADS", 1)):
        monkeypatch.setenv(f"ATTEST_{name}", str(value))
    material = planted(Random(0))
    with Assistant.open(Settings(home=tmp_path / "home")) as attest:
        ids = fill(attest, material.texts)
        praise(attest, material.questions, ids)
    return tmp_path / "home"


def test_adapt_report_and_rollback(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    arguments = ["--home", str(home), "--questions", "log", "--json"]
    done = CliRunner().invoke(app, [*arguments, "-o", str(page)], catch_exceptions=False)
    shape = json.loads(done.stdout)
    assert shape["accepted"] is True
    assert shape["learned_from"]["asked"] > 100
    assert "The library has learned" in page.read_text(encoding="utf-8")
    back = CliRunner().invoke(
        app, ["--home", str(home), "--rollback", "--json"], catch_exceptions=False
    )
    assert json.loads(back.stdout) == {"rolled_back": shape["adapter"]}
    again = CliRunner().invoke(app, ["--home", str(home), "--rollback"], catch_exceptions=False)
    assert again.stdout == "nothing was learned yet\n"


def test_a_folder_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such folder"):
        CliRunner().invoke(
            app, ["--home", str(home), "--queries", "nowhere"], catch_exceptions=False
        )
