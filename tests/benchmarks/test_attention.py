"""The walk from "let's go" to "vamos": done by hand as the model does it, and told in the docs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close
from typer.testing import CliRunner

from benchmarks import attention, followed
from benchmarks.lets_go import PHRASES, Translator, trained, untrained

_PAGE = Path(__file__).parents[2] / "docs/explanation/attention.md"


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield trained()
    torch.set_num_threads(before)


def test_it_has_learned_its_phrases(translator: Translator) -> None:
    assert [translator.say(english) for english, _ in PHRASES] == [s for _, s in PHRASES]


@pytest.mark.parametrize(
    ("text", "said"), [("let's go", "vamos"), attention.REORDERED, ("i eat", "")]
)
def test_what_is_followed_is_what_the_model_computes(text: str, said: str) -> None:
    translator = untrained(seed=3)
    model, source = translator.model.eval(), translator.source(text)
    read = followed.read(translator, text)
    target = torch.tensor([[translator.marks.begin, *translator.spanish.ids(said)]])
    with torch.inference_mode():
        assert_close(read.vectors, model.encoder(source)[0], atol=1e-5, rtol=1e-5)
        chances = model(source, None, target)[0].softmax(-1)
    written = followed.write(translator, read, said)
    assert_close(written.chances, chances, atol=1e-5, rtol=1e-5)
    assert_close(written.cross.weights.sum(-1), torch.ones(target.shape[1]))
    scaled = (read.self_attention.scores / 2).softmax(-1)  # √4
    assert_close(read.self_attention.weights, scaled)


def test_the_maps_are_full_a_triangle_and_as_wide_as_the_source(translator: Translator) -> None:
    full, triangle, cross = followed.maps(translator, *attention.REORDERED)
    assert all(weight is not None for row in full.weights for weight in row)
    for place, row in enumerate(triangle.weights):
        assert [weight is None for weight in row] == [at > place for at in range(len(row))]
    assert len(cross.asked) == 4
    assert len(cross.asking) == 5
    for each in (full, triangle, cross):
        assert all(sum(w or 0 for w in row) == pytest.approx(1) for row in each.weights)


def test_without_positions_order_is_nothing(translator: Translator) -> None:
    lines = list(attention._order(translator))
    differs, same = (float(line.rpartition(" ")[2]) for line in lines[-2:])
    assert differs > 0.1
    assert same == 0
    assert "pizza come squatch" in lines[2]
    assert list(attention._order(translator)) == lines, "positions are given back"


def _shape(line: str) -> str:
    """A line without its numbers, and without what only numbers decide."""
    return re.sub(r"\s+", " ", re.sub(r"-?\d+\.\d+", "#", line)).strip()


def test_the_page_shows_what_the_command_prints(translator: Translator) -> None:
    blocks = re.findall(r"^```text\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), re.S | re.M)
    shown = [_shape(line) for block in blocks for line in block.splitlines()]
    printed = [_shape(line) for line in attention.told(translator)]
    chosen = re.compile(r"^\S+ #$|^# \D")  # a likely word, or a beam: numbers decide which
    assert [s for s in shown if not chosen.match(s)] == [p for p in printed if not chosen.match(p)]
    assert len(shown) == len(printed)


def test_the_command_prints_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "trained", untrained)
    told = CliRunner().invoke(attention.app, ["--drawings", str(tmp_path / "out")])
    assert told.exit_code == 0, told.output
    assert "# 9 cross-attention" in told.output
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["attention-lets-go.svg", "attention-order.svg"]
