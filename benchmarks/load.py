"""Many clients at once on one server: errors, how long each kind of request takes, memory.

    python -m benchmarks.load --minutes 3 --clients 20 [--json load.json]

Starts `attest serve` on this machine over a fresh home with the sample library, and drives it from
this process. Clients send their next request when the last one has been answered.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks import answers
from benchmarks.load_clients import HONEST, Load, Sample, drive
from benchmarks.memory import free_port, wait_for
from benchmarks.passages import SAMPLES
from benchmarks.processes import resident_bytes, running
from benchmarks.table import Row, Table, as_json, show

_HOST = "127.0.0.1"
_ROOT = str(SAMPLES.parent)
_LOOK_S = 1.0  # between two looks at the memory
_SEARCH_MS = 300  # at most, for 95 of 100 searches while an ask runs
_SETTLING = 0.2  # of the time: what is loaded once has been loaded by then

Watched = list[tuple[float, int]]  # seconds since the beginning, bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to."""

    seconds: float
    samples: tuple[Sample, ...]
    memory: tuple[tuple[float, int], ...]

    @property
    def faults(self) -> list[Sample]:
        """Requests that got neither an answer nor an honest "not now"."""
        return [each for each in self.samples if each.error and each.status not in HONEST]

    def resident(self, share: float) -> int:
        """Bytes of the server and its children around a share of the time; a median."""
        at = share * self.seconds
        near = sorted(self.memory, key=lambda look: abs(look[0] - at))[:5]
        return round(statistics.median(size for _, size in near))


def measure(
    environment: Mapping[str, str],
    *,
    clients: int,
    seconds: float,
    pause_s: float = 0.0,
    seed: int = 1,
    questions: Sequence[str],
    texts: Sequence[str],
) -> Result:
    """Serve the home that the environment names, and send it requests for so long."""
    port = free_port()
    command = ["serve", "--host", _HOST, "--port", str(port)]
    # The code beside this file, whichever is installed.
    with running("rag.cli", command, {"PYTHONPATH": _ROOT, **environment}) as program:
        wait_for(program, port, "/ready")
        watched: Watched = []
        load = Load(f"http://{_HOST}:{port}", questions, texts, seconds, pause_s)
        with _watching(program.process.pid, lambda: load.now, watched):
            asyncio.run(drive(load, clients, seed))
        return Result(load.now, tuple(load.samples), tuple(watched))


@contextmanager
def _watching(pid: int, now: Callable[[], float], into: Watched) -> Iterator[None]:
    from threading import Event, Thread

    over = Event()

    def look() -> None:
        while True:
            into.append((now(), resident_bytes(pid)))
            if over.wait(_LOOK_S):
                return

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def table(result: Result) -> Table:
    """A row for each kind of request, and what the memory did."""
    asked = [each for each in result.samples if each.kind == "ask"]
    searched = [each for each in result.samples if each.kind == "search"]
    beside = [each for each in searched if each.asks]
    first = [replace(each, seconds=each.first_s) for each in asked if each.first_s is not None]
    handed = [each for each in result.samples if each.kind == "upload"]
    rows = (
        _row("search", searched),
        {**_row("search while an ask runs", beside), "target_p95_ms": _SEARCH_MS},
        _row("ask, whole", asked),
        _row("ask, to its first words", first),
        _row("upload of a page", handed),
    )
    start, middle, end = (result.resident(share) for share in (_SETTLING, 0.5, 1.0))
    overlap = [each.asks for each in result.samples if each.asks]
    notes = (
        f"{len(result.samples)} requests in {result.seconds:.0f} s, "
        f"{len(result.faults)} faults (errors other than 429 and 503)",
        f"memory of the server: {start / 1e6:.0f} MB after {_SETTLING:.0%} of the time, "
        f"{middle / 1e6:.0f} MB at half, {end / 1e6:.0f} MB at the end",
        f"{len(beside)} of {len(searched)} searches ran while something was asked; "
        f"asks in hand or in line then: {statistics.mean(overlap or [0]):.1f} on average, "
        f"{max(overlap, default=0)} at most",
        *(f"{n} × {kind} {status}: {said}" for (kind, status, said), n in _errors(result)),
    )
    return Table("load", "Load: milliseconds of a request", rows, notes)


def _row(name: str, samples: Sequence[Sample]) -> Row:
    good = sorted(1000 * each.seconds for each in samples if not each.error)
    statuses = Counter(each.status for each in samples if each.error)
    at = (lambda share: good[min(len(good) - 1, int(share * len(good)))]) if good else None
    return {
        "name": name,
        "requests": len(samples),
        "refused": ", ".join(f"{n} × {status}" for status, n in sorted(statuses.items())) or "0",
        "p50_ms": at and at(0.5),
        "p95_ms": at and at(0.95),
        "p99_ms": at and at(0.99),
    }


def _errors(result: Result) -> Sequence[tuple[tuple[str, int, str], int]]:
    said = Counter((each.kind, each.status, each.error[:160]) for each in result.faults)
    return said.most_common(5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two requests")
    parser.add_argument("--home", type=Path, help="copy this home instead of making one")
    parser.add_argument("--json", type=Path, dest="output", help="write the figures here")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="attest-load-") as folder:
        environment = {"ATTEST_HOME": str(Path(folder) / "home")}
        _furnish(Path(folder) / "home", given.home, environment)
        result = measure(
            environment,
            clients=given.clients,
            seconds=60 * given.minutes,
            pause_s=given.pause,
            questions=[row.question for row in answers.read(SAMPLES / "questions.jsonl")],
            texts=[part for file in _plain_files() for part in _paragraphs(file)],
        )
    found = table(result)
    show(found, Console())
    if given.output is not None:
        figures: dict[str, Any] = as_json(found) | {
            "memory": [[round(at, 1), size] for at, size in result.memory],
            "samples": [asdict(each) for each in result.samples],
        }
        given.output.write_text(json.dumps(figures, ensure_ascii=False), encoding="utf-8")
    sys.exit(1 if result.faults else 0)


def _furnish(home: Path, like: Path | None, environment: Mapping[str, str]) -> None:
    if like is not None:
        shutil.copytree(like, home)
        return
    with running("rag.cli", ["add", str(SAMPLES / "library")], environment) as program:
        program.finish()


def _plain_files() -> list[Path]:
    return sorted(file for file in (SAMPLES / "library").rglob("*.md"))


def _paragraphs(file: Path) -> list[str]:
    parts = file.read_text(encoding="utf-8").split("\n\n")
    return [part.strip() for part in parts if len(part) > 80]


if __name__ == "__main__":
    main()
