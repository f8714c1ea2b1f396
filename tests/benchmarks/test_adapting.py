"""What is said of the gate counts what judged questions say, on each side."""

from benchmarks.adapting import _precision


def test_accepted_ones_are_counted_by_what_they_gained_and_lost() -> None:
    said = _precision(
        [
            {"name": "a", "verdict": "kept"},
            {
                "name": "b",
                "dense_change": "+2.00 [+0.40, +3.80]",
                "fused_change": "-0.40 [-1.10, +0.20]",
            },
            {
                "name": "c",
                "dense_change": "-0.20 [-0.50, -0.05]",
                "fused_change": "+0.10 [-0.40, +0.60]",
            },
        ]
    )
    assert said == (
        "of 2 accepted of 3, on judged questions: dense: 1 gained, 1 lost for certain; "
        "fused: 1 gained, 0 lost for certain"
    )
