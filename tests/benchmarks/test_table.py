import json
from io import StringIO

from rich.console import Console

from benchmarks.rounds import Spread
from benchmarks.table import Table, as_json, show

TABLE = Table(
    "speed",
    "Speed [of two]",
    (
        {"name": "ours", "texts_per_s": Spread(9.5, 10.25, 123.4)},
        {"name": "theirs", "missing": "not installed"},
    ),
    ("a note [with brackets]",),
)


def test_people_see_medians_with_their_spread_and_what_is_missing() -> None:
    out = StringIO()
    show(TABLE, Console(file=out, width=120))
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "Speed [of two]" in lines
    assert "name texts per s missing" in lines
    assert "ours 10.2 (9.50–123)" in lines
    assert "theirs not installed" in lines
    assert "a note [with brackets]" in lines


def test_json_keeps_whole_numbers() -> None:
    assert json.loads(json.dumps(as_json(TABLE))) == {
        "title": "Speed [of two]",
        "rows": [
            {"name": "ours", "texts_per_s": {"min": 9.5, "median": 10.25, "max": 123.4}},
            {"name": "theirs", "missing": "not installed"},
        ],
        "notes": ["a note [with brackets]"],
    }
