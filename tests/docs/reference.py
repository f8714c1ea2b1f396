"""The parts of docs/reference that are made from the program: `python -m tests.docs.reference`.

`make fix` writes them, and a test holds the pages to them.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo
from typer.main import get_command
from typer.testing import CliRunner

from rag.cli import app
from rag.settings import PREFIX, Settings

PAGES = Path(__file__).parents[2] / "docs/reference"
MADE = re.compile(r"(?<=<!-- made from the program -->\n\n).*(?=\n<!-- to here -->)", re.S)
PLACES = {  # defaults that depend on the machine
    "home": "the platform's folder for a user's data",
    "models_dir": "`models` in the default home",
}
KINDS = {bool: "`true` or `false`", int: "whole number", Path: "path", str: "text"}


@cache
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


def command_line() -> str:
    """A heading and the help of each command."""
    return "\n".join(
        f"### {name}\n\n```\n$ {name} --help\n{text.strip()}\n```\n"
        for name, text in commands().items()
    )


def settings() -> str:
    """A row for each setting: its names, its default, what it takes, and what it is."""
    head = ("in `attest.toml`", "in the environment", "default", "takes", "what")
    rows = (
        f"| `{name}` | `{PREFIX}{name.upper()}` | {_default(name, field)} | {_takes(field)} "
        f"| {field.description} |"
        for name, field in Settings.model_fields.items()
    )
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows]) + "\n"


def _default(name: str, field: FieldInfo) -> str:
    if name in PLACES:
        return PLACES[name]
    match field.default:
        case None:
            return "not set"
        case bool(value):
            return f"`{str(value).lower()}`"
        case str(value):
            return f'`"{value}"`'
        case value:
            return f"`{value}`"


def _takes(field: FieldInfo) -> str:
    kind: Any = field.annotation
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return " or ".join(f'`"{choice}"`' for choice in get_args(kind))
    bounds = " ".join(_bounds(field))
    return f"{KINDS[kind]}, {bounds}" if bounds else KINDS[kind]


def _bounds(field: FieldInfo) -> Iterator[str]:
    for bound in field.metadata:
        match bound:
            case Ge(least):
                yield f"from {least}"
            case Le(most):
                yield f"to {most}"


def made() -> dict[Path, str]:
    """Each page that is partly made, as it has to be."""
    parts = {"cli.md": command_line(), "settings.md": settings()}
    pages = {PAGES / name: part for name, part in parts.items()}
    return {
        page: MADE.sub(lambda _, part=part: part, page.read_text(encoding="utf-8"))  # type: ignore[misc]
        for page, part in pages.items()
    }


if __name__ == "__main__":
    for page, text in made().items():
        page.write_text(text, encoding="utf-8")
