"""The learning rate over a run."""

import pytest

from transformer.schedule import schedule


def test_it_rises_in_a_line_and_falls_to_zero() -> None:
    rates = [schedule(progress / 10, 0.2) for progress in range(11)]
    assert rates[1:] == pytest.approx([0.5, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0])
    assert 0 < rates[0] < 0.01  # the first step teaches something too


def test_without_warm_up_it_begins_at_its_peak() -> None:
    assert [schedule(progress, 0.0) for progress in (0.0, 0.5, 1.0)] == [1.0, 0.5, 0.0]
