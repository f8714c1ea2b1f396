"""The heat map of the Inspect tab, with the sentences that say what it shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from rag.inspecting import Answering, Inspection
from transformer.inspecting import AttentionMap, Token
from ui import heat, render
from ui.heat import Axis
from ui.locale import Texts

View = Literal["passage", "question", "generator"]

_SEEN = 0.005  # of the weights, below which a place to look at is not told
_SHADES = (0.25, 0.5, 0.75, 1.0)  # of the legend


@dataclass(frozen=True, slots=True)
class Choice:
    """What is looked at."""

    view: View = "passage"
    layer: int = 1
    head: int = 0  # 0: the mean of all


def map_of(found: Inspection, view: View) -> AttentionMap:
    """The map of a view; the passage's where there is no generator."""
    if view == "generator" and found.generator is not None:
        return found.generator.answer.attention
    return found.encoder.question_map if view == "question" else found.encoder.passage_map


def fitting(found: Inspection, choice: Choice) -> Choice:
    """The choice, within what the model of its view has."""
    seen = map_of(found, choice.view)
    view: View = choice.view
    if view == "generator" and found.generator is None:
        view = "passage"
    head = choice.head if choice.head <= seen.heads else 0
    return Choice(view, min(max(1, choice.layer), seen.layers), head)


def panel(found: Inspection, choice: Choice, words: Texts) -> Markup:
    """The map, what it shows, and a legend of its shades."""
    seen = map_of(found, choice.view)
    weights = seen.of(choice.layer - 1, choice.head - 1 if choice.head else None)
    inside = found.generator if choice.view == "generator" else None
    head = words("inspect.head.mean") if not choice.head else words("inspect.head", n=choice.head)
    where = words("inspect.where", layer=choice.layer, head=head)
    picture = heat.drawn(
        weights,
        _axis(seen.tokens, inside),
        causal=inside is not None,
        about=f"{words(f'inspect.view.{choice.view}')} · {where}",
        hint=words("inspect.hint"),
        said=words.entries["inspect.cell"],
        rest=words("inspect.rest"),
    )
    return Markup('<p class="i-what"><strong>{}</strong> {}</p>{}{}{}{}').format(
        where,
        words(f"inspect.what.{choice.view}"),
        _looks(weights, seen.tokens, words, ahead=inside is None),
        picture,
        _legend(weights, words),
        _left(found, choice.view, seen, words),
    )


def _axis(tokens: Sequence[Token], inside: Answering | None) -> list[Axis]:
    if inside is None:
        return [Axis(token.text, token.position) for token in tokens]
    stretches = (("i-question", inside.answer.question), ("i-answer", inside.answer.answer))
    return [
        Axis(
            token.text,
            token.position,
            next((kind for kind, at in stretches if token.position in at), "i-passage"),
        )
        for token in tokens
    ]


def _looks(
    weights: NDArray[np.float32], tokens: Sequence[Token], words: Texts, *, ahead: bool
) -> Markup:
    """Where the rows look on average, by where that stands to them."""
    m, kept = len(tokens), weights[:, 1:]
    near = np.array([[b.position - a.position for b in tokens] for a in tokens])
    shares = {
        "self": kept[near == 0].sum() / m,
        "before": kept[near == -1].sum() / m,
        "after": kept[near == 1].sum() / m if ahead else 0.0,
        "first": kept[:, 0].sum() / m if tokens[0].position == 0 else 0.0,
        "last": kept[:, -1].sum() / m if ahead else 0.0,
        "rest": weights[:, 0].sum() / m,
    }
    names = {"first": tokens[0].text, "last": tokens[-1].text}
    told = [
        words(f"inspect.looks.{key}", share=f"{share:.0%}", token=names.get(key, ""))
        for key, share in sorted(shares.items(), key=lambda each: -each[1])
        if share >= _SEEN
    ]
    return Markup('<p class="i-looks">{} {}</p>').format(words("inspect.looks"), " · ".join(told))


def _legend(weights: NDArray[np.float32], words: Texts) -> Markup:
    most = heat.darkest(weights)
    bands = render.joined(
        Markup('<li><i style="opacity:{}"></i>{}</li>').format(shade, _percent(most * shade**2))
        for shade in _SHADES
    )
    return Markup('<ul class="i-legend" aria-label="{}">{}</ul>').format(
        words("inspect.legend"), bands
    )


def _left(found: Inspection, view: View, seen: AttentionMap, words: Texts) -> Markup:
    """That a map does not show all that was read."""
    if view == "generator" and found.generator is not None:
        whole = len(found.generator.answer.passage)
        at = found.generator.answer.passage
        n = sum(token.position in at for token in seen.tokens)
    else:
        read = found.encoder.question if view == "question" else found.encoder.passage
        whole, n = len(read.tokens), len(seen.tokens)
    if n == whole:
        return Markup("")
    return Markup('<p class="a-notes">{}</p>').format(words("inspect.part", n=n, whole=whole))


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.095 else f"{share:.1%}"
