from itertools import count

import pytest

from benchmarks import rounds, speed
from benchmarks.rounds import Missing, Spread, alternate, present, rate, times_as_fast


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_PAUSE_S", 0.0)


def test_contenders_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    clock = count(1)

    def contender(name: str) -> float:
        order.append(name)
        return float(next(clock))

    seconds = alternate({"a": lambda: contender("a"), "b": lambda: contender("b")}, 2)
    assert order == ["b", "a", "a", "b", "b", "a"]
    assert seconds == {"a": [3.0, 6.0], "b": [4.0, 5.0]}


def test_a_ratio_is_taken_within_each_round() -> None:
    # The second round was twice as slow for both: that is no difference between them.
    assert times_as_fast([1.0, 2.0], [3.0, 6.0]) == Spread(3.0, 3.0, 3.0)
    assert rate(10, [1.0, 2.0, 5.0]) == Spread(2.0, 5.0, 10.0)


def test_what_cannot_take_part_says_why() -> None:
    def not_installed() -> rounds.Timed:
        raise ModuleNotFoundError("No module named 'peer'", name="peer")

    def without_a_file() -> rounds.Timed:
        raise Missing("no model: name one")

    made, absent = present({"a": not_installed, "b": without_a_file, "c": lambda: lambda: 1.0})
    assert list(made) == ["c"]
    assert absent == {"a": "not installed (No module named 'peer')", "b": "no model: name one"}


def test_a_race_has_a_row_for_everyone() -> None:
    def absent() -> rounds.Timed:
        raise Missing("no model")

    race = speed.Race(
        "texts_per_s", 8, lambda: 2.0, {"slow": lambda: lambda: 4.0, "gone": absent}, {"slow": 1.5}
    )
    assert speed.run(race, 1) == [
        {"name": "attest", "texts_per_s": Spread(4.0, 4.0, 4.0)},
        {
            "name": "slow",
            "texts_per_s": Spread(2.0, 2.0, 2.0),
            "attest_times_as_fast": Spread(2.0, 2.0, 2.0),
            "target": 1.5,
        },
        {"name": "gone", "missing": "no model"},
    ]
