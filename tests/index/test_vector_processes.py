"""Processes that share an index, and those that are ended in the middle of saving it."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from index.vectors import VectorIndex
from tests.index.vector_writer import D, rows


def _start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.index.vector_writer", str(folder)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


def _reached(process: subprocess.Popen[str], seq: int) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= seq:
            return int(line)
    raise AssertionError("it ended by itself")


def _check_whole(index: VectorIndex) -> None:
    assert len(index) == 10 * index.applied
    for seq in {1, index.applied // 2, index.applied} - {0}:
        expected = rows(seq)
        for i in (0, 9):
            found = index.search(expected.rows[i], 1)
            assert found.ids.tolist() == [expected.ids[i]]
            assert found.scores[0] > 0.999


def test_whatever_is_killed_leaves_one_whole_state(tmp_path: Path) -> None:
    folder = tmp_path / "자료 창고"
    for goal in (15, 30, 45):
        writers = [_start(folder) for _ in range(2)]
        try:
            said = max(_reached(writer, goal) for writer in writers)
        finally:
            for writer in writers:
                writer.kill()
                with suppress(BrokenPipeError):
                    writer.communicate()
        index = VectorIndex(folder, "m", D)
        assert index.applied >= said  # nothing that was reported saved is lost
        _check_whole(index)
