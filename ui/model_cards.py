"""How models, and what a library learned, look."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from index.records import StoredAdapter
from rag.models import ListedModel
from ui import render
from ui.locale import Texts

_MANY = 4  # languages that are named one by one


def cards(
    models: Sequence[ListedModel], at_work: set[str], remote: str | None, words: Texts
) -> Markup:
    """Every model that is known by name, first those at work.

    Args:
        models: of the manifest
        at_work: names of those that read and write for this library
        remote: an engine that writes in the place of a model of this machine
        words: of the page
    """
    known = {each.name for each in models}
    ordered = sorted(models, key=lambda each: (each.name not in at_work, not each.pulled))
    rows = [_card(each, words, works=each.name in at_work) for each in ordered]
    rows = [_own(name, words) for name in sorted(at_work - known)] + rows
    note = Markup("")
    if remote:
        note = Markup('<p class="a-advice" role="note">{}</p>').format(
            words("models.remote", name=remote)
        )
    return Markup('{}<ul class="a-models">{}</ul>').format(note, render.joined(rows))


def _card(model: ListedModel, words: Texts, *, works: bool) -> Markup:
    state = "works" if works and model.pulled else "here" if model.pulled else "absent"
    act = Markup("")
    if not model.pulled:
        act = Markup(
            '<button type="button" class="a-link" data-send="{}" aria-label="{}">{}</button>'
        ).format(model.name, words("models.pull.label", name=model.name), words("models.pull"))
    facts = (
        words(f"models.{model.kind}"),
        _languages(model.languages, words),
        render.size(model.bytes),
        model.licence,
    )
    return Markup(
        '<li class="a-model"><div><strong>{}</strong><span class="a-badge a-model-{}">{}</span>'
        '</div><p>{}</p><p lang="en">{}</p>{}</li>'
    ).format(model.name, state, words(f"models.{state}"), " · ".join(facts), model.description, act)


def _own(name: str, words: Texts) -> Markup:
    """A model of the user's own, known by its path."""
    return Markup(
        '<li class="a-model"><div><strong class="a-cut" title="{0}">{1}</strong>'
        '<span class="a-badge a-model-works">{2}</span></div><p class="a-cut">{0}</p></li>'
    ).format(name, render.file_name(name), words("models.works"))


def _languages(codes: Sequence[str], words: Texts) -> str:
    if len(codes) > _MANY:
        return words("models.languages", n=len(codes))
    return ", ".join(words.entries.get(f"models.in.{code}", code) for code in codes)


def learned(adapters: Sequence[StoredAdapter], words: Texts) -> Markup:
    """What came of the last time that the library learned."""
    active = next((each for each in adapters if each.active), None)
    last = active or (adapters[0] if adapters else None)
    if last is None or not last.report:
        return Markup('<p class="a-none">{}</p>').format(
            words("models.learned" if active else "models.unlearned")
        )
    return report(last.report, words)


def report(made: Mapping[str, Any], words: Texts) -> Markup:
    """What was tried, what it was judged by, before and after, and what came of it."""
    verdict = words("models.accepted" if made["accepted"] else "models.refused")
    rows = render.joined(_evidence(each, words) for each in made["evidence"])
    heads = render.joined(
        Markup('<th scope="col">{}</th>').format(words(f"models.{key}"))
        for key in ("judged_by", "questions", "before", "after", "change")
    )
    table = Markup("")
    if rows:
        table = Markup(
            '<div class="a-scroll" tabindex="0" role="region" aria-label="{}"><table><thead><tr>{}'
            "</tr></thead><tbody>{}</tbody></table></div>"
        ).format(words("models.evidence"), heads, rows)
    return Markup(
        '<div class="a-verdicted a-{}"><strong>{}</strong> {}</div>{}<p class="a-notes">{}</p>'
    ).format(
        "good" if made["accepted"] else "kept",
        verdict,
        render.told(str(made["reason"]), words),
        table,
        words("models.learned_from", n=f"{sum(made['learned_from'].values()):,}"),
    )


def _evidence(each: Mapping[str, Any], words: Texts) -> Markup:
    return render.joined(
        Markup(
            '<tr><th scope="row">{}, {}</th><td>{:,}</td><td>{:.1f}</td><td>{:.1f}</td>'
            "<td>{:+.1f} [{:+.1f}, {:+.1f}]</td></tr>"
        ).format(
            each["kind"],
            words(f"models.by.{side}"),
            each["questions"],
            each[f"{side}_before"],
            each[f"{side}_before"] + change["mean"],
            change["mean"],
            change["low"],
            change["high"],
        )
        for side in ("dense", "fused")
        for change in (each[f"{side}_change"],)
    )
