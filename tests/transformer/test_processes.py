"""Several processes on one node and on two: the numbers of one, and a clear end where one dies."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.transformer.sorting import Sorting, config
from transformer import processes
from transformer.checkpoint import read_tensors
from transformer.errors import TrainingError
from transformer.processes import Processes
from transformer.training import Trained, train

ROOT = Path(__file__).parents[2]
LAUNCH = ["-m", "torch.distributed.run"]
SORTING = ["-m", "tests.transformer.sorting"]
PATIENCE_S = (
    300  # a minute where the machine is busy; a process that waits for the dead takes longer
)
EVERY = "checkpoint_minutes=1e-9"  # a checkpoint at each step


@contextmanager
def _started(*command: str, **place: str) -> Iterator[subprocess.Popen[str]]:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
        **place,
    }
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _two(folder: Path, *settings: str) -> tuple[int, str]:
    """Exit code and output of two processes on one node."""
    node = [*LAUNCH, "--standalone", "--nproc-per-node=2", *SORTING, str(folder), *settings]
    with _started(*node) as run:
        told, _ = run.communicate(timeout=PATIENCE_S)
    return run.returncode, told


def _two_nodes(folders: Sequence[Path], *settings: str) -> list[tuple[int, str]]:
    """Of two nodes with a process each, which find each other by address and port."""
    first = ["--master-addr=127.0.0.1", f"--master-port={_free_port()}"]
    where = [*LAUNCH, "--nnodes=2", "--nproc-per-node=1", *first]

    def node(rank: int) -> list[str]:
        return [*where, f"--node-rank={rank}", *SORTING, str(folders[rank]), *settings]

    with _started(*node(0)) as one, _started(*node(1)) as other:
        told = [run.communicate(timeout=PATIENCE_S)[0] for run in (one, other)]
    return [(one.returncode, told[0]), (other.returncode, told[1])]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _alone(folder: Path, **settings: object) -> Trained:
    """In this process, with as many threads as each of several has."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return train(Sorting(), config(**settings), folder)
    finally:
        torch.set_num_threads(before)


def _lines(folder: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [{k: v for k, v in line.items() if k != "minutes"} for line in lines]


def _assert_near(folder: Path, other: Path) -> None:
    mine, theirs = _lines(folder), _lines(other)
    assert [line["step"] for line in mine] == [line["step"] for line in theirs]
    for left, right in zip(mine, theirs, strict=True):
        assert left["tokens"] == right["tokens"]
        assert left["loss"] == pytest.approx(right["loss"], abs=1e-5)
        assert left["metrics"] == pytest.approx(right["metrics"], abs=1e-4)


def test_it_is_alone_where_nobody_started_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    alone = processes.joined()
    assert (alone.first, alone.size, alone.told({"a": 1})) == (True, 1, {"a": 1})
    alone.require_work(1)


@pytest.mark.parametrize("size", ["2", "many"])
def test_half_of_what_torchrun_says_is_refused(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(TrainingError, match=rf"one of {size} processes .*start them with torchrun"):
        processes.joined()


def test_a_step_has_a_batch_for_each_process() -> None:
    Processes(1, 3).require_work(4)
    with pytest.raises(TrainingError, match=r"accumulate \(2\) .* 3 processes: set .* multiple"):
        Processes(1, 3).require_work(2)


def test_two_processes_reach_the_bits_of_one(tmp_path: Path) -> None:
    """With a batch of a step each, the sums are the same ones."""
    _alone(tmp_path / "one", accumulate=2)
    # Told what torchrun tells; without it the test takes half the time.
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    command = [*SORTING, str(tmp_path / "two"), "accumulate=2"]
    with (
        _started(*command, **place, RANK="0") as first,
        _started(*command, **place, RANK="1") as last,
    ):
        told = [run.communicate(timeout=PATIENCE_S)[0] for run in (first, last)]
    assert (first.returncode, last.returncode) == (0, 0), told
    assert _lines(tmp_path / "two") == _lines(tmp_path / "one")
    states = [read_tensors(tmp_path / name / "state.safetensors")[0] for name in ("one", "two")]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.slow
def test_a_run_goes_on_in_more_processes_and_in_fewer(tmp_path: Path) -> None:
    whole, changing = tmp_path / "whole", tmp_path / "changing"
    _alone(whole, accumulate=4)
    # One process, killed behind step 7; two, behind step 15; then one to the end.
    killed = subprocess.run(
        [sys.executable, *SORTING, str(changing), "accumulate=4", EVERY, "kill=7"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=PATIENCE_S,
        check=False,
    )
    assert killed.returncode < 0
    code, _ = _two(changing, "accumulate=4", EVERY, "kill=15")
    assert code != 0
    assert _lines(changing)[-1]["step"] == 15
    _alone(changing, accumulate=4)
    _assert_near(changing, whole)


@pytest.mark.slow
def test_two_nodes_reach_the_bits_of_one_also_behind_a_killed_process(tmp_path: Path) -> None:
    _alone(tmp_path / "one", accumulate=2)
    shared = [tmp_path / "two"] * 2
    ends = _two_nodes(shared, "accumulate=2", EVERY, "die=14")
    assert [code for code, _ in ends] == [1, 1]  # within the time limit: nobody waits for the dead
    assert re.search(r"process 0 of 2 lost the others: .*last checkpoint", ends[0][1])
    for code, told in _two_nodes(shared, "accumulate=2"):
        assert code == 0, told
    assert _lines(tmp_path / "two") == _lines(tmp_path / "one")


@pytest.mark.slow
def test_what_nodes_do_not_share_is_refused(tmp_path: Path) -> None:
    apart = [tmp_path / "a", tmp_path / "b"]
    (first, _), (second, told) = _two_nodes(apart, "accumulate=2")
    assert (first, second) == (1, 1)
    assert re.search(r"process 1 of 2 does not see it: give an output folder that all", told)
    (_, _), (_, told) = _two_nodes([tmp_path / "c"] * 2, "accumulate=2", "more=310")
    assert re.search(r"batches of an epoch: 50 in process 1 of 2, 12 in the first one", told)
