"""What holds for the whole house: fronts of few names, quick starts, and no pickle."""

import ast
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("encoder", "generator", "index", "rag", "transformer", "ui")
_NOT_OURS = {"benchmarks", "build", "dist", "tests"}
BANNED_IMPORTS = {"cloudpickle", "dill", "pickle", "shelve", "transformers"}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_front_has_ten_names_at_most_sorted_and_real(package: str) -> None:
    front = importlib.import_module(package)
    names = front.__all__
    assert 0 < len(names) <= 10
    assert list(names) == sorted(names)
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(front, name) is not None


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_importing_rag_loads_no_model_code() -> None:
    heavy = "{'torch', 'faiss', 'gradio', 'sklearn', 'kiwipiepy'}"
    done = _run("-c", f"import rag, sys; print(sorted({heavy} & set(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_help_answers_in_half_a_second() -> None:
    seconds = []
    for _ in range(3):
        began, before = time.perf_counter(), os.times()
        done = _run("-m", "rag.cli", "--help")
        wall, after = time.perf_counter() - began, os.times()
        assert done.returncode == 0, done.stderr
        assert "search" in done.stdout
        # Its own processor time, where the system tells: others may keep the machine busy.
        user = after.children_user - before.children_user
        system = after.children_system - before.children_system
        seconds.append(user + system or wall)
    assert min(seconds) < 0.5


def _sources() -> Iterator[Path]:
    """Every Python file outside tests, benchmarks and what a build leaves."""
    for top in ROOT.iterdir():
        if top.is_file() and top.suffix == ".py":
            yield top
        elif not top.name.startswith(".") and top.name not in _NOT_OURS:
            yield from sorted(top.rglob("*.py"))


def _imported(node: ast.AST) -> list[str]:
    """The dotted names that a statement imports: `from a import b` gives a.b."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [f"{module}.{alias.name}" for alias in names]
        case _:
            return []


def _offences(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name in _imported(node):
            if name.split(".")[0] in BANNED_IMPORTS or name in {"torch.load", "torch.hub"}:
                yield f"imports {name}"
        match node:
            case ast.Attribute(value=ast.Name(id="torch"), attr="load" | "hub" as attribute):
                yield f"uses torch.{attribute}"
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "allows pickle"


def test_no_source_reads_pickle_or_leans_on_the_oracle() -> None:
    sources = list(_sources())
    assert {path.relative_to(ROOT).parts[0] for path in sources} >= {"encoder", "transformer"}
    found = [
        f"{path.relative_to(ROOT)} {offence}" for path in sources for offence in _offences(path)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "import transformers.models",
        "from transformers import AutoModel",
        "from torch import load",
        "torch.load(path)",
        "numpy.load(path, allow_pickle=True)",
    ],
)
def test_each_way_around_is_seen(tmp_path: Path, line: str) -> None:
    path = tmp_path / "source.py"
    path.write_text(line, encoding="utf-8")
    assert len(list(_offences(path))) == 1
