"""What the two models made of a question and a passage: the cosine's parts, and the answer's."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from rag.inspecting import Answering, Facts, Inspection, Meeting
from transformer.inspecting import Token
from ui import heat, render
from ui.locale import Texts

_MOST = 4  # tokens that are named
_FELT = 0.1  # nats: below, a sentence makes no difference


def encoder(found: Inspection, words: Texts) -> Markup:
    """How question and passage meet in a cosine, token by token and dimension by dimension."""
    met = found.encoder
    notes = [
        *(() if met.facts.speaks else (words("inspect.unspoken.encoder", name=met.facts.name),)),
        *((words("inspect.taught"),) if met.taught else ()),
        *((words("inspect.left", n=f"{met.left:,}"),) if met.left else ()),
    ]
    return Markup(
        '<section class="i-card"><h2>{}</h2><p class="i-facts">{}</p>{}'
        '<p class="i-cosine"><strong>{}</strong> {}</p>{}{}{}</section>'
    ).format(
        words("inspect.encoder"),
        f"{_facts(met.facts, words)} {words(f'inspect.pooling.{met.pooling}')}",
        _notes(notes),
        f"{met.cosine:.3f}",
        words("inspect.cosine"),
        _shares("passage", met.passage.tokens, met.passage_shares, words),
        _shares("question", met.question.tokens, met.question_shares, words),
        _strips(met, words),
    )


def generator(found: Inspection, chosen: int | None, words: Texts) -> Markup:
    """The answer from the passage alone, and what the chosen one of its tokens rests on."""
    inside = found.generator
    title = words("inspect.generator")
    if inside is None:
        why = words(f"inspect.absent.{found.absent}")
        told = render.told(found.failure, words) if found.failure else ""
        return Markup('<section class="i-card"><h2>{}</h2><p>{} {}</p></section>').format(
            title, why, told
        )
    notes = [
        *(() if inside.facts.speaks else (words("inspect.unspoken", name=inside.facts.name),)),
        *((words("inspect.left", n=f"{inside.left:,}"),) if inside.left else ()),
    ]
    at = _default(inside) if chosen is None else chosen
    body = Markup("<p>{}</p>").format(words("inspect.silent"))
    if 0 <= at < len(inside.answer.answer):
        body = render.joined(
            [_answer(inside, at, words), _looked(inside, at, words), _needed(inside, at, words)]
        )
    return Markup(
        '<section class="i-card"><h2>{}</h2><p class="i-facts">{}</p>{}{}</section>'
    ).format(title, _facts(inside.facts, words), _notes(notes), body)


def _default(inside: Answering) -> int:
    """The token that the passage makes the greatest difference to."""
    needs = inside.answer.needs
    return int(needs.max(axis=1).argmax()) if needs.size else 0


def _facts(facts: Facts, words: Texts) -> str:
    shared = facts.groups < facts.heads
    return " ".join(
        [
            words(
                "inspect.facts.shared" if shared else "inspect.facts",
                name=facts.name,
                layers=facts.layers,
                heads=facts.heads,
                groups=facts.groups,
                width=facts.width,
            ),
            words(f"inspect.positions.{facts.positions}", row=facts.first),
        ]
    )


def _notes(notes: Sequence[str]) -> Markup:
    if not notes:
        return Markup("")
    return Markup('<ul class="a-notes a-pending">{}</ul>').format(
        render.joined(Markup("<li>{}</li>").format(note) for note in notes)
    )


def _shares(key: str, tokens: Sequence[Token], shares: NDArray[np.float32], words: Texts) -> Markup:
    """Each token by how much more or less than the average one it adds."""
    beside = shares - shares.mean()
    most = float(np.abs(beside).max()) or 1.0
    pieces = render.joined(
        _token(token, value / most, words("inspect.adds", token=token.text, n=f"{share:+.4f}"))
        for token, value, share in zip(tokens, beside, shares, strict=True)
    )
    best = [int(at) for at in np.argsort(-shares)[:_MOST]]
    named = ", ".join(f"“{tokens[at].text}” {shares[at]:+.4f}" for at in best)
    return Markup(
        '<h3 class="a-small">{}</h3><p class="i-tokens">{}</p><p class="a-notes">{}</p>'
    ).format(
        words(f"inspect.shares.{key}"),
        pieces,
        words("inspect.most", tokens=named, mean=f"{shares.mean():+.4f}"),
    )


def _token(token: Token, value: float, title: str) -> Markup:
    """A token over its position: blue over 0, orange below, the darker the further."""
    side = "i-up" if value >= 0 else "i-down"
    return Markup(
        '<span class="i-token {}" style="--w:{:.2f}" title="{}"><span>{}</span><small>{}</small>'
        "</span>"
    ).format(side, min(1.0, abs(value)), title, token.text, token.position)


def _strips(met: Meeting, words: Texts) -> Markup:
    asked, read = met.question.vector, met.passage.vector
    rows: Iterable[tuple[str, NDArray[np.float32]]] = (
        (words("inspect.vector.question", norm=f"{met.question.norm:.2f}"), asked),
        (words("inspect.vector.passage", norm=f"{met.passage.norm:.2f}"), read),
        (words("inspect.vector.product", cosine=f"{met.cosine:.3f}"), asked * read),
    )
    strips = render.joined(
        Markup('<p class="i-name">{}</p>{}').format(
            name, heat.strip(values, name, words.entries["inspect.dimension"])
        )
        for name, values in rows
    )
    return Markup(
        '<h3 class="a-small">{}</h3><div class="i-strips">{}<p class="i-told" role="status">{}</p>'
        "</div>"
    ).format(words("inspect.vectors", n=len(asked)), strips, words("inspect.vectors.hint"))


def _answer(inside: Answering, at: int, words: Texts) -> Markup:
    """The answer's tokens as buttons, one of them pressed."""
    answer = inside.answer
    buttons = render.joined(
        Markup(
            '<button type="button" class="i-token" data-send="{}" aria-pressed="{}">'
            "<span>{}</span><small>{}</small></button>"
        ).format(place, str(place == at).lower(), answer.tokens[position].text, position)
        for place, position in enumerate(answer.answer)
    )
    return Markup(
        '<h3 class="a-small">{}</h3><p class="i-quote">{}</p><p class="a-notes">{}</p>'
        '<div class="i-tokens" role="group" aria-label="{}">{}</div><p class="i-chosen">{}</p>'
    ).format(
        words("inspect.answer"),
        answer.text.strip(),
        words("inspect.answer.choose"),
        words("inspect.answer.tokens"),
        buttons,
        words(
            "inspect.chosen",
            token=answer.tokens[answer.answer[at]].text,
            chance=f"{answer.chances[at]:.0%}",
        ),
    )


def _looked(inside: Answering, at: int, words: Texts) -> Markup:
    """Where the model looked when it foretold the token, mean over all layers and heads."""
    answer = inside.answer
    looks = answer.looks[at]
    own = looks[answer.passage.start : answer.passage.stop]
    most = float(own.max(initial=0)) or 1.0
    pieces = render.joined(
        _token(
            token,
            share / most,
            words("inspect.looked.token", token=token.text, share=f"{share:.2%}"),
        )
        for token, share in zip(
            answer.tokens[answer.passage.start : answer.passage.stop], own, strict=True
        )
    )
    told = words(
        "inspect.looked.where",
        passage=f"{own.sum():.0%}",
        question=f"{looks[answer.question.start : answer.question.stop].sum():.0%}",
        answer=f"{looks[answer.answer.start :].sum():.0%}",
        system=f"{looks[: answer.passage.start].sum():.0%}",
        first=f"{looks[0]:.0%}",
    )
    return Markup(
        '<h3 class="a-small">{}</h3><p class="i-tokens">{}</p><p class="a-notes">{}</p>'
    ).format(words("inspect.looked"), pieces, told)


def _needed(inside: Answering, at: int, words: Texts) -> Markup:
    """How much likelier the token is with each sentence than without it."""
    needs = inside.answer.needs[at]
    most = max(float(needs.max(initial=0)), 1.0)
    rows = render.joined(
        Markup(
            '<li><span>{}</span><i class="a-bar" aria-hidden="true"><i style="width:{}%"></i></i>'
            "<small>{}</small></li>"
        ).format(piece, round(100 * max(0.0, float(need)) / most), _factor(float(need), words))
        for piece, need in zip(inside.pieces, needs, strict=True)
    )
    return Markup(
        '<h3 class="a-small">{}</h3><ul class="i-needs">{}</ul><p class="a-notes">{}</p>'
    ).format(words("inspect.needed"), rows, words("inspect.needed.what"))


def _factor(need: float, words: Texts) -> str:
    if abs(need) < _FELT:
        return words("inspect.need.none")
    times = math.exp(min(abs(need), 7.0))
    n = f"{times:.1f}" if times < 10 else f"{times:,.0f}"
    if abs(need) >= math.log(1000):
        n = words("inspect.need.over", n="1,000")
    return words("inspect.need.up" if need > 0 else "inspect.need.down", n=n)
