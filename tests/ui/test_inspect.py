"""What the Inspect tab says of two models, without a browser."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from rag.inspecting import Inspection
from tests.ui.inspections import HOSTILE, inspection
from tests.ui.test_render import shown
from ui import heat, inspect_cards, inspect_map
from ui.heat import Axis
from ui.inspect_map import Choice
from ui.locale import Texts, texts

EN, KO = texts("en"), texts("ko")


def drawn(weights: NDArray[np.float64], *, causal: bool) -> str:
    axis = [Axis(f"t{i}", i + 5) for i in range(len(weights))]
    told = {"about": "A", "hint": "B", "said": "{row}", "rest": "R"}
    return heat.drawn(weights.astype(np.float32), axis, causal=causal, **told)


def test_a_map_holds_every_weight_and_draws_those_that_can_be_seen() -> None:
    weights = np.array([[0, 1, 0], [0, 0.25, 0.75]])
    made = drawn(weights, causal=True)
    (packed,) = re.findall(r'data-weights="([^"]+)"', made)
    shares = np.frombuffer(base64.b64decode(packed), "<u2").reshape(2, 3) / 65_535
    np.testing.assert_allclose(shares, weights, atol=1e-4)
    shades = dict(re.findall(r'opacity="([\d.]+)" d="([^"]+)"', made))
    assert {shade: path.count("M") for shade, path in shades.items()} == {
        "1": 1,
        "0.5": 1,
        "0.875": 1,
    }
    assert 'class="i-barred"' in made
    assert 'data-gap="0"' in made  # nothing is left out, and no column says so


def test_what_is_not_shown_is_a_column_and_a_map_of_both_ways_has_no_bar() -> None:
    made = drawn(np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0]]), causal=False)
    assert 'class="i-barred"' not in made
    assert int(re.findall(r'data-gap="(\d+)"', made)[0]) > 0


def test_a_long_token_is_cut_and_told_whole() -> None:
    axis = [Axis("x" * 40, 0)]
    made = heat.drawn(
        np.ones((1, 2), np.float32), axis, causal=False, about="", hint="", said="", rest=""
    )
    assert f'data-tokens="[&#34;0 {"x" * 40}' in made
    assert f">{'x' * 13}… <" in made


def test_a_strip_has_a_shade_for_each_side() -> None:
    made = heat.strip(np.array([1.0, 0.0, -0.25], np.float32), "V", "{n}")
    assert re.findall(r'<path class="(i-\w+)" opacity="([\d.]+)" d="M(\d)', made) == [
        ("i-up", "1", "0"),
        ("i-down", "0.5", "2"),
    ]


@pytest.mark.parametrize("words", [EN, KO])
def test_nothing_of_a_text_becomes_markup(words: Texts) -> None:
    found = inspection()
    made = inspect_cards.encoder(found, words) + inspect_cards.generator(found, None, words)
    for view in ("passage", "question", "generator"):
        made += inspect_map.panel(found, Choice(view, 1, 0), words)
    assert "<img" not in made
    assert HOSTILE in shown(made)


def test_a_map_says_where_its_rows_look_and_fits_its_model() -> None:
    found = inspection()
    chosen = inspect_map.fitting(found, Choice("passage", 9, 7))
    assert chosen == Choice("passage", 3, 0)
    text = shown(inspect_map.panel(found, chosen, EN))
    assert "Layer 3, mean of all heads." in text
    assert "a row adds up to 100 %" in text
    assert "what is not shown" not in text
    causal = shown(inspect_map.panel(found, Choice("generator", 4, 3), EN))
    assert "Layer 4, head 3." in causal
    assert "what is not shown" in causal
    assert "the token after" not in causal
    looks = re.findall(r"(\d+)%", text.split("looks at:")[1].split("Point at")[0])
    assert 0 < sum(map(int, looks)) <= 101


def test_shares_of_the_cosine_are_told_with_their_kind_of_positions() -> None:
    text = shown(inspect_cards.encoder(inspection(), EN))
    assert f"{inspection().encoder.cosine:.3f} is the cosine" in text
    assert "Positions are learned" in text
    assert "row 2" in text
    assert "mean of its tokens" in text
    assert "last 1,234 characters" in text
    assert "what this library has learned" in text
    assert "The 8 numbers of each vector" in text


def test_an_answers_token_is_chosen_and_its_two_measures_are_told() -> None:
    made = inspect_cards.generator(inspection(), None, EN)
    assert re.findall(r'data-send="(\d)" aria-pressed="true"', made) == ["2"]  # needs most
    text = shown(made)
    assert "“42” was 97% likely" in text
    assert "Positions are rotary" in text
    assert "1 heads of keys and values" in text
    assert "over 1,000 times likelier with it" in text
    assert "1.6 times likelier without it" in text
    assert "does not prove" in text
    other = shown(inspect_cards.generator(inspection(), 0, EN))
    assert other.count("makes no difference") == 2


def test_a_generator_that_does_not_speak_the_language_says_so() -> None:
    silent = shown(inspect_cards.generator(inspection(speaks=False), None, KO))
    assert "한국어를 하지 못합니다" in silent
    assert "하지 못합니다" not in shown(inspect_cards.generator(inspection(), None, KO))


@pytest.mark.parametrize("absent", ["engine", "missing", "failed"])
def test_where_no_generator_is_looked_into_its_reason_stands(absent: str) -> None:
    found = Inspection("q", "p", inspection().encoder, None, absent, "None of <that> name")  # type: ignore[arg-type]
    text = shown(inspect_cards.generator(found, None, EN))
    assert EN(f"inspect.absent.{absent}") in text
    assert "None of <that> name" in text
    assert inspect_map.fitting(found, Choice("generator", 1, 0)).view == "passage"


def test_an_empty_answer_is_told() -> None:
    found = inspection()
    assert found.generator is not None
    nothing = np.empty((0, 0), np.float32)
    answer = replace(found.generator.answer, answer=range(6, 6), needs=nothing, looks=nothing)
    silent = replace(found, generator=replace(found.generator, answer=answer))
    assert "said nothing" in shown(inspect_cards.generator(silent, None, EN))
