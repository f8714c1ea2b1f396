"""Threads for work that takes long: they let everything else on this machine's cores go first."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

_NICE = 10  # a tenth of the share of a thread that does not stand back


def stand_back() -> None:
    """Have this thread, and those that it starts, yield the processor to whoever is quick.

    On Linux, where a thread has a priority of its own; elsewhere it would be the whole process's.
    It cannot be taken back: a thread that stands back must do nothing else afterwards.
    """
    if sys.platform == "linux":
        own = threading.get_native_id()
        with suppress(OSError):  # a sandbox may forbid it
            now = os.getpriority(os.PRIO_PROCESS, own)
            os.setpriority(os.PRIO_PROCESS, own, now + _NICE)


class Threads:
    """A few threads that stand back, for what is awaited.

    Args:
        count: so many; further work waits for one
        name: as a listing of threads shows it
    """

    def __init__(self, count: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(count, name, initializer=stand_back)

    async def run(self, work: Callable[[], T]) -> T:
        """Whoever is cancelled goes at once; work that has begun still comes to its end."""
        return await asyncio.wrap_future(self._pool.submit(copy_context().run, work))
