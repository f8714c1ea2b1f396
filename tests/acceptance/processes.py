"""Processes that share one home, made by forking: what takes seconds to import is there already."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag import Settings
from tests.builders import spelling_encoder

Tell = Callable[..., None]


class Child:
    """A forked process that does some work and tells of it line by line."""

    def __init__(self, work: Callable[[Tell], None]) -> None:
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            _run(work, writer)
        os.close(writer)
        self._lines = os.fdopen(reader, encoding="utf-8")
        self.status: int | None = None

    def kill(self) -> bool:
        """Kills it; whether it was still at work."""
        os.kill(self.pid, signal.SIGKILL)
        self._wait()
        return self.status == -signal.SIGKILL

    def first(self) -> Any:
        """What it says first; waits for that."""
        return json.loads(self._lines.readline())

    def told(self) -> list[Any]:
        """What it said until its end. A line that the kill cut off was not said."""
        lines = list(self._lines)
        self._lines.close()
        if self.status is None:
            self._wait()
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def result(self) -> list[Any]:
        """What it said, of one that must end well."""
        told = self.told()
        assert self.status == 0, told
        return told

    def _wait(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)


def _run(work: Callable[[Tell], None], writer: int) -> None:
    def tell(*values: object) -> None:
        os.write(writer, (json.dumps(values, ensure_ascii=False) + "\n").encode())

    code = 0
    try:
        os.setpgrp()  # a Ctrl-C in the terminal is for the one that started it
        work(tell)
    except BaseException:
        tell("failed", traceback.format_exc())
        code = 1
    os._exit(code)


def homes(folder: Path) -> tuple[Settings, Path]:
    """Settings of a fresh home on a tiny encoder, and a second encoder to move to."""
    import torch

    from index.analysis import tokens

    torch.set_num_threads(1)  # a forked process must not wait for threads that it does not have
    tokens("학교")  # loads the analyser of Korean
    one = spelling_encoder(folder / "one", seed=1, d_model=16)
    two = spelling_encoder(folder / "two", seed=2, d_model=24)
    return Settings(home=folder / "자료 창고", encoder=str(one), threads=1), two
