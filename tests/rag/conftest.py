"""A tiny library on tiny models: real objects throughout, only small."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag import Assistant, Settings
from tests.builders import spelling_encoder

DOCUMENTS = {
    "warranty.md": (
        "# Warranty\n\nThe warranty of the lamp lasts 24 months from delivery.\n\n"
        "## Batteries\n\nBatteries are covered for 6 months. Keep the receipt.\n"
    ),
    "hours.txt": "The workshop opens at 8:30 on weekdays. On Saturday it stays closed.\n",
    "휴가.md": "# 휴가 규정\n\n연차는 15일이며 3월에 새로 생긴다. 병가는 하루 단위로 쓴다.\n",
}


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that spells: each character is a token, so that any text can be encoded."""
    return spelling_encoder(tmp_path_factory.mktemp("models") / "tiny-encoder")


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small documents."""
    folder = tmp_path_factory.mktemp("shelf")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def settings(tmp_path: Path, encoder_folder: Path) -> Settings:
    """A fresh home on the tiny encoder."""
    return Settings(home=tmp_path / "home", encoder=str(encoder_folder), threads=1)


@pytest.fixture
def attest(settings: Settings) -> Iterator[Assistant]:
    """An assistant over an empty home."""
    with Assistant.open(settings) as opened:
        yield opened


@pytest.fixture
def library(attest: Assistant, shelf: Path) -> Assistant:
    """An assistant that has read the shelf."""
    attest.add(shelf)
    return attest


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Ran]:
    """Run the command line in this process, over a fresh home on the tiny encoder."""
    from rag.cli import main

    monkeypatch.setenv("ATTEST_HOME", str(settings.home))
    monkeypatch.setenv("ATTEST_ENCODER", settings.encoder)
    monkeypatch.setenv("ATTEST_THREADS", "1")

    def run_command(*arguments: str | Path) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, captured.out, captured.err)

    return run_command
