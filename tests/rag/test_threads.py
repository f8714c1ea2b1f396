"""Threads that stand back: what they run goes on when nobody waits, and behind everything else."""

import asyncio
import os
import sys
import threading
from contextvars import ContextVar

import pytest

from rag.threads import Threads

NAME = ContextVar("NAME", default="nobody")


def priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority of its own there")
def test_they_stand_back_alone() -> None:
    before = priority()
    behind = asyncio.run(Threads(1, "test").run(priority))
    assert behind == min(19, before + 10)
    assert priority() == before


def test_what_is_known_of_the_request_goes_along() -> None:
    async def asked() -> str:
        NAME.set("ann")
        return await Threads(1, "test").run(NAME.get)

    assert asyncio.run(asked()) == "ann"


def test_who_is_cancelled_goes_at_once_and_the_work_comes_to_its_end() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go.wait(30)
        done.set()

    async def asked() -> None:
        waiting = asyncio.create_task(Threads(1, "test").run(work))
        await asyncio.to_thread(begun.wait, 30)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not done.is_set()
        go.set()

    asyncio.run(asked())
    assert done.wait(30)
