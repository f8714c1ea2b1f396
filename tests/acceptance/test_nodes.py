"""Every stage goes on in several processes to the numbers of one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.acceptance.stages import RUN, STAGES
from transformer.journal import Moment, read

ROOT = Path(__file__).parents[2]


class Stop(Exception):
    """What ends a run behind its second step."""


def _until_second(moment: Moment) -> None:
    if moment.step == 2:
        raise Stop


def _lines(folder: Path) -> list[dict[str, object]]:
    file = "metrics.jsonl"
    return read(folder / file if (folder / file).exists() else folder / RUN / file)


@pytest.mark.slow
def test_every_stage_goes_on_in_two_processes_to_the_numbers_of_one(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for stage in STAGES:
            stage(tmp_path / "one" / stage.__name__, lambda _: None)
            with pytest.raises(Stop):
                stage(tmp_path / "two" / stage.__name__, _until_second)
    finally:
        torch.set_num_threads(threads)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, "-m", "tests.acceptance.stages", str(tmp_path / "two")],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for stage in STAGES:
        one, two = (_lines(tmp_path / name / stage.__name__) for name in ("one", "two"))
        assert [line["step"] for line in two] == [1, 2, 3, 4, 5, 6]
        for mine, theirs in zip(two, one, strict=True):
            for name in ("loss", "metrics", "gradient_norm"):
                assert mine[name] == pytest.approx(theirs[name], abs=1e-4), (stage, mine["step"])
            assert (mine["tokens"], mine["flops"]) == (theirs["tokens"], theirs["flops"])
