"""What the documentation says of commands, settings and shapes is what the product does."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rag.cli import app
from rag.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "samples/README.md"]
REFERENCE = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def commands() -> dict[str, str]:
    """Every command with what its --help prints, as `attest search` -> text."""
    found: dict[str, str] = {}

    def walk(command: Any, path: list[str]) -> None:
        ran = CliRunner().invoke(app, [*path, "--help"], prog_name="attest")
        assert ran.exit_code == 0
        found[" ".join(["attest", *path])] = ran.output
        for name, child in getattr(command, "commands", {}).items():
            walk(child, [*path, name])

    walk(get_command(app), [])
    return found


def shell_lines(page: Path) -> list[str]:
    blocks = re.findall(r"^```(?:sh|console|)\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("attest ", "make "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = commands()
    for line in shell_lines(page):
        words = line.split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), line
        else:
            assert " ".join(words[:2]) in known, line
            flags = [word.split("=")[0] for word in words if word.startswith("-")]
            own = known.get(" ".join(words[:3])) or known[" ".join(words[:2])]
            assert all(flag in own for flag in flags), line


def test_every_command_stands_in_the_reference_with_its_help() -> None:
    for name, text in commands().items():
        assert f"$ {name} --help\n{text.strip()}\n" in REFERENCE, name


def test_every_setting_stands_in_the_reference_with_its_default() -> None:
    for name, field in Settings.model_fields.items():
        row = re.search(rf"^\| `{name}` \|.*$", REFERENCE, re.M)
        assert row, name
        assert f"ATTEST_{name.upper()}" in row[0]
        if field.default_factory is None:
            assert f"`{field.default}`" in row[0] or field.default is None, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
