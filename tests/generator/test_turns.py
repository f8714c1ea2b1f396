"""Turns: one at a time, in the order of coming."""

import threading
import time
from itertools import pairwise

from generator.turns import Turns


def test_who_waits_longest_is_next() -> None:
    turns, order, threads = Turns(), list[int](), list[threading.Thread]()

    def take(number: int) -> None:
        with turns:
            order.append(number)

    with turns:
        for number in range(8):
            thread = threading.Thread(target=take, args=(number,))
            thread.start()
            threads.append(thread)
            while len(turns._waiting) <= number:
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join(timeout=10)
    assert order == list(range(8))


def test_two_that_ask_again_and_again_alternate() -> None:
    turns, order = Turns(), list[str]()

    def work(name: str) -> None:
        for _ in range(20):
            with turns:
                order.append(name)
                while len(order) < 38 and not turns._waiting:  # both are at work
                    time.sleep(0.0005)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert sorted(order) == ["a"] * 20 + ["b"] * 20
    assert all(first != second for first, second in pairwise(order[:36]))


def test_an_error_passes_the_turn_on() -> None:
    turns = Turns()
    try:
        with turns:
            raise RuntimeError
    except RuntimeError:
        pass
    with turns:
        pass
