"""Whose turn it is: first come, first served."""

import threading
from collections import deque
from types import TracebackType


class Turns:
    """A lock that is given to who has waited longest.

    Held for one pass through a model at a time, it lets several answers grow side by side: a
    short one need not wait for a long one, and none waits for ever. A plain lock is mostly taken
    again by the thread that has just released it.
    """

    def __init__(self) -> None:
        self._inner = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._inner:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            mine.acquire()  # released by who had the turn before
        except BaseException:  # interrupted: the turn is not lost with who was to have it
            with self._inner:
                given = mine not in self._waiting
                if not given:
                    self._waiting.remove(mine)
            if given:
                self._pass_on()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._inner:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
