"""Config files: what is written comes out typed, and whatever nobody knows is refused by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from encoder import EncoderConfig
from transformer.configuring import build, read
from transformer.errors import ConfigError
from transformer.training import TrainingConfig


@dataclass(frozen=True, slots=True)
class Inner:
    steps: int
    rate: float = 0.1


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    name: str = "plain"
    kind: Literal["one", "two"] = "one"
    on: bool = False
    ratios: tuple[float, float] = (0.0, 1.0)
    texts: tuple[Path, ...] = ()
    limit: int | None = None
    more: Inner | None = None

    def __post_init__(self) -> None:
        if self.limit == 13:
            raise ValueError("limit (13) is unlucky")


def _file(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_tables_become_dataclasses_and_lists_tuples(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        """
        name = "한글"
        ratios = [1, 0.5]
        texts = ["a.txt", "b.txt"]
        [inner]
        steps = 3
        [more]
        steps = 4
        rate = 1
        """,
    )
    assert build(Outer, read(path), "") == Outer(
        Inner(3),
        name="한글",
        ratios=(1.0, 0.5),
        texts=(Path("a.txt"), Path("b.txt")),
        more=Inner(4, 1.0),
    )


def test_settings_given_beside_the_file_win(tmp_path: Path) -> None:
    path = _file(tmp_path, "[inner]\nsteps = 3\n")
    given = [
        "inner.steps=5",
        "inner.rate=2e-4",
        "kind=two",
        'name = "a = b"',
        "on=true",
        "ratios=[0.1, 0.9]",
        "more.steps=1",
    ]
    assert build(Outer, read(path, given), "") == Outer(
        Inner(5, 2e-4), "a = b", "two", True, (0.1, 0.9), more=Inner(1)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nam": "x"}, "unknown setting nam: did you mean name"),
        ({"qqqq": 1}, "unknown setting qqqq: known are inner, name"),
        ({"inner": {"steps": 1, "stpes": 2}}, r"unknown setting inner\.stpes: did you mean steps"),
        ({"inner": {}}, "inner lacks steps"),
        ({"inner": {"steps": 1.5}}, r"inner\.steps \(1.5\) must be a whole number"),
        ({"inner": {"steps": True}}, r"inner\.steps \(True\) must be a whole number"),
        ({"inner": 3}, r"inner \(3\) must be a table"),
        ({"kind": "three"}, r"kind \('three'\) must be one of one, two"),
        ({"on": "yes"}, r"on \('yes'\) must be true or false"),
        ({"name": 3}, r"name \(3\) must be text"),
        ({"ratios": [1.0]}, "ratios holds 1 values and must hold 2"),
        ({"ratios": [1.0, "x"]}, r"ratios\[1\] \('x'\) must be a number"),
        ({"texts": 3}, r"texts\[0\] \(3\) must be"),
        ({"ratios": 0.5}, r"ratios \(0.5\) must be a list"),
        ({"limit": "x"}, r"limit \('x'\) must be a whole number"),
        ({"limit": 13}, r"limit \(13\) is unlucky"),
    ],
)
def test_what_cannot_be_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(Outer, {"inner": {"steps": 1}, **settings}, "")


def test_the_configs_of_models_and_of_training_are_read() -> None:
    shape = {"vocab_size": 9, "d_model": 4, "n_layers": 1, "n_heads": 2, "d_ff": 8, "max_tokens": 8}
    assert build(EncoderConfig, shape, "encoder").head_width == 2
    with pytest.raises(ConfigError, match=r"encoder: n_heads \(3\) must divide d_model \(4\)"):
        build(EncoderConfig, {**shape, "n_heads": 3}, "encoder")
    assert build(TrainingConfig, {"minutes": 1, "betas": [0.9, 0.95]}, "training").betas[1] == 0.95
    with pytest.raises(ConfigError, match=r"training: a run needs a budget"):
        build(TrainingConfig, {}, "training")
    with pytest.raises(ConfigError, match=r"unknown setting training\.learning_rat"):
        build(TrainingConfig, {"learning_rat": 1e-3}, "training")


def test_a_lone_value_is_a_list_of_one(tmp_path: Path) -> None:
    table = read(_file(tmp_path, "inner.steps = 3"), ["texts=a.txt"])
    assert build(Outer, table, "").texts == (Path("a.txt"),)


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("a = ", [], "is not TOML"),
        ("a = 1", ["b"], "'b' must read key=value"),
        ("a = 1", [".b=1"], "must read key=value"),
        ("a = 1", ["a.b=1"], "a is a value, no table"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    tmp_path: Path, text: str, given: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read(_file(tmp_path, text), given)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read"):
        read(tmp_path / "none.toml")
