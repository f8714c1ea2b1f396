"""The tutorial on the samples, run as it stands: its commands print what it says they print."""

import re
from collections.abc import Iterator
from pathlib import Path
from shlex import split

import platformdirs
import pytest
from typer.testing import CliRunner

from rag.cli import app
from rag.models import DEFAULT_ENCODER, DEFAULT_GENERATOR, manifest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tutorials/ten-minutes.md").read_text(encoding="utf-8")
MODELS = platformdirs.user_data_path("attest", appauthor=False) / "models"
READER = "/home/you/attest"  # the checkout of whoever reads


def steps() -> Iterator[tuple[str, str]]:
    """Each command that is shown with its output, and the output."""
    yield from re.findall(r"^```sh\nattest ([^\n]+)\n```\n\n```text\n(.*?)^```", PAGE, re.S | re.M)


def pattern(output: str) -> str:
    """What matches an output of which lines are left out."""
    return re.escape(output).replace("…\\\n", r"(?:.*\n)*?")


def test_left_out_lines_match_any_and_others_only_themselves() -> None:
    assert re.fullmatch(pattern("a.\n…\nc\n"), "a.\nb\nb\nc\n")
    assert not re.fullmatch(pattern("a.\n…\nc\n"), "ab\nc\n")
    assert len(list(steps())) > 8


@pytest.mark.slow
@pytest.mark.skipif(
    not all(
        (MODELS / name / file.name).is_file()
        for name in (DEFAULT_ENCODER, DEFAULT_GENERATOR)
        for file in manifest()[name].files
    ),
    reason="the default models are not pulled: attest models pull",
)
def test_the_tutorial_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    home = tmp_path / ".demo"
    monkeypatch.setenv("ATTEST_HOME", str(home))
    for command, output in steps():
        words = [word.replace(".demo", str(home)) for word in split(command)]
        ran = CliRunner().invoke(app, words, prog_name="attest")
        assert ran.exit_code == 0, command
        printed = ran.stdout.replace(str(home), f"{READER}/.demo").replace(str(ROOT), READER)
        assert re.fullmatch(pattern(output), printed), f"attest {command}\n{printed}"
