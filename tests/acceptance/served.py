"""`attest serve` as a process of its own, on tiny models, to be killed and started again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from generator import checkpoint
from tests.builders import spelling_encoder
from tests.generator.builders import generator, loaded, tokenizer

_ROOT = Path(__file__).resolve().parents[2]
_START_S = 400.0  # a machine that is busy otherwise takes its time
_END_S = 60.0

PAGE = "The lamp number {0} of the workshop is lit on day {0} of the month. Its colour is red.\n\n"
_FILLER = "It hangs over the bench.\n\n"


def page(number: int, paragraphs: int = 4) -> bytes:
    """A document like no other."""
    text = f"# Note {number}\n\n" + PAGE.format(number) + _FILLER * paragraphs
    return text.encode()


def models(folder: Path) -> dict[str, str]:
    """An encoder that spells, and a generator that writes noise, at some milliseconds a token."""
    encoder = spelling_encoder(folder / "encoder")
    model = generator(d_model=256, head_width=32, n_heads=8, n_layers=6, d_ff=512, max_tokens=4096)
    checkpoint.save(loaded(model, tokenizer(), ends=()), folder / "generator")
    return {"ATTEST_ENCODER": str(encoder), "ATTEST_GENERATOR": str(folder / "generator")}


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers."""

    process: subprocess.Popen[bytes]
    address: str
    said: Path  # its standard error

    def end(self, how: signal.Signals) -> float:
        """End it; the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(_END_S)
        return time.monotonic() - began


@contextmanager
def serving(home: Path, environment: Mapping[str, str]) -> Iterator[Served]:
    """Serve a home until the block ends; models are loaded when it begins."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ATTEST_")}
    ours = {
        "ATTEST_HOME": str(home),
        "ATTEST_PORT": "0",
        "ATTEST_THREADS": "1",
        "PYTHONPATH": str(_ROOT),  # the code beside this file, whichever is installed
    }
    home.mkdir(parents=True, exist_ok=True)
    said = home.parent / f"said-{time.monotonic_ns()}.txt"
    with (
        said.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "rag.cli", "serve"],
            env=kept | ours | dict(environment),
            stderr=stderr,
        ) as process,
    ):
        try:
            address = ""
            soon(lambda: "listens on" in said.read_text("utf-8"), process, said)
            address = said.read_text("utf-8").split("listens on ")[1].split()[0]
            soon(lambda: httpx.get(f"{address}/ready").status_code == 200, process, said)
            yield Served(process, address, said)
        finally:
            process.kill()


def soon(
    true: Callable[[], bool],
    process: "subprocess.Popen[bytes] | None" = None,
    said: Path | None = None,
) -> None:
    """Wait until something is so.

    Raises:
        AssertionError: it did not become so, or the server ended; with what that said.
    """
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and (process is None or process.poll() is None):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError(said.read_text("utf-8") if said is not None else "it took too long")
