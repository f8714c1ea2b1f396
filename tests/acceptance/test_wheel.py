"""The built wheel, without make and without the checkout, gives the same first answer."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import platformdirs
import pytest

from rag.models import DEFAULT_ENCODER

ROOT = Path(__file__).parents[2]
MODELS = platformdirs.user_data_path("attest", appauthor=False) / "models"
QUESTION = "How many days of paid annual leave do full-time staff have?"

pytestmark = pytest.mark.skipif(
    not (MODELS / DEFAULT_ENCODER / "model.safetensors").is_file(),
    reason=f"the model {DEFAULT_ENCODER} is not pulled: attest models pull",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built from a copy so that no build folder is left in it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "samples/", "docs/")):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    build = ["pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(source)]
    subprocess.run([sys.executable, "-m", *build], check=True)
    return next(out.glob("*.whl"))


def first_answer(python: str | Path, home: Path, **environment: str) -> str:
    """What an interpreter with the product answers, from a folder that is not the checkout."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ATTEST_", "PYTHON"))}
    env |= environment

    def attest(*arguments: str) -> str:
        command = [str(python), "-P", "-m", "rag.cli", *arguments, "--home", str(home), "--json"]
        ran = subprocess.run(
            command, cwd=home.parent, env=env, check=True, capture_output=True, encoding="utf-8"
        )
        return ran.stdout

    attest("add", str(ROOT / "samples" / "library" / "handbook" / "leave-policy.md"))
    return str(json.loads(attest("ask", QUESTION, "--mode", "extract"))["answer"])


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    answer = first_answer(sys.executable, tmp_path_factory.mktemp("checkout") / "home")
    assert "26 days" in answer
    return answer


def test_the_files_of_the_wheel_are_enough(wheel: Path, tmp_path: Path, expected: str) -> None:
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
        names = archive.namelist()
    assert {"rag/models.toml", "rag/templates/report.html", "ui/locales/ko.json"} <= set(names)
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"encoder", "generator", "index", "rag", "transformer", "ui"}
    assert not any(name.startswith(("samples/", "benchmarks/", "tests/")) for name in names)

    # What is on PYTHONPATH comes before this environment's own, editable installation.
    env = {"PYTHONPATH": str(unpacked)}
    where = [sys.executable, "-P", "-c", "import rag; print(rag.__file__)"]
    found = subprocess.run(
        where, env=os.environ | env, check=True, capture_output=True, encoding="utf-8"
    )
    assert found.stdout.startswith(str(unpacked))
    assert first_answer(sys.executable, tmp_path / "home", **env) == expected


@pytest.mark.slow
def test_a_bare_environment_needs_nothing_but_the_wheel(
    wheel: Path, tmp_path: Path, expected: str
) -> None:
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = ["pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run([str(python), "-m", *install], check=True, cwd=tmp_path)

    assert first_answer(python, tmp_path / "home") == expected
