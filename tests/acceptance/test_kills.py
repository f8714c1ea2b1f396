import os

import pytest

from tests.acceptance import kills, soak

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")


def test_some_kills_lose_nothing() -> None:
    kills.run(kills=8, seed=3)


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing() -> None:
    kills.run(kills=200, seed=1)


def test_processes_share_a_home() -> None:
    done = soak.run(seconds=5)
    assert all(done.values()), done


@pytest.mark.slow
def test_processes_share_a_home_for_two_minutes() -> None:
    done = soak.run(seconds=120)
    assert all(done.values()), done
