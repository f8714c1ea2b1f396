"""A config refuses what no generator can be built from, and names the numbers."""

from typing import Any

import pytest

from tests.generator.builders import config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_layers": 0}, r"n_layers \(0\) must be at least 1"),
        ({"vocab_size": -3}, r"vocab_size \(-3\) must be at least 1"),
        ({"n_kv_heads": 4}, r"n_kv_heads \(4\) must divide n_heads \(6\)"),
        ({"head_width": 7}, r"head_width \(7\) must be even for rotary positions"),
    ],
)
def test_bad_numbers_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_odd_heads_are_fine_where_nothing_is_rotated() -> None:
    assert config(head_width=7, positions="learned").head_width == 7
