"""Why an answer is as it is: its support, how sure it is, what was looked for and found, how long.

Nothing is told by colour alone: each degree of support has its own sign and word.
"""

from collections.abc import Sequence

from markupsafe import Markup

from rag.reasons import Reason, reason
from rag.records import Answer, Hit
from rag.strength import Strength, strengths
from ui import render
from ui.locale import Texts

_SIGNS: dict[Strength, str] = {"strong": "●", "weak": "◐", "none": "○"}
_STRENGTHS: tuple[Strength, ...] = ("strong", "weak", "none")
_SURE, _FAIRLY = 0.8, 0.6
_PARTS = ("encode", "total", "rerank", "answer", "certificates")


def sign(strength: Strength, words: Texts) -> Markup:
    """How well a sentence is supported, behind it."""
    said = words(f"support.{strength}.long")
    return Markup(
        '<span class="a-support a-{0}" role="img" aria-label="{1}" title="{1}">{2}</span>'
    ).format(strength, said, _SIGNS[strength])


def verdict(answer: Answer, words: Texts) -> Markup:
    """One line: how many sentences are supported how well, and how likely the whole is."""
    of = list(strengths(answer).values())
    parts = [
        Markup('<span class="a-{}">{} {}</span>').format(
            each, _SIGNS[each], words(f"support.{each}", n=of.count(each))
        )
        for each in _STRENGTHS
        if each in of
    ]
    if answer.confidence is not None and not answer.abstained:
        parts.append(_confidence(answer.confidence, words))
    if not parts:
        return Markup("")
    return Markup('<p class="a-verdict">{}</p>').format(render.joined(parts))


def _confidence(value: float, words: Texts) -> Markup:
    degree = "high" if value >= _SURE else "fair" if value >= _FAIRLY else "low"
    return Markup(
        '<span><i class="a-bar" aria-hidden="true"><i style="width:{0}%"></i></i>{1}</span>'
    ).format(
        round(100 * value),
        words("confidence", degree=words(f"confidence.{degree}"), value=f"{value:.0%}"),
    )


def declined(answer: Answer, keys: Sequence[str], words: Texts) -> Markup:
    """Why nothing was answered, and the nearest passages to judge for oneself.

    Args:
        answer: that was declined
        keys: the elements that show these passages
        words: of the page
    """
    why = reason(answer)
    if why is None:
        return Markup("")
    lines = render.joined(Markup("<li>{}</li>").format(line) for line in _reasons(why, words))
    chips = render.joined(
        chip(key, hit, words) for key, hit in zip(keys, why.nearest, strict=False)
    )
    if chips:
        chips = Markup('<h3 class="a-small">{}</h3><ul class="a-chips">{}</ul>').format(
            words("declined.nearest"), chips
        )
    return Markup('<ul class="a-notes">{}</ul>{}').format(lines, chips)


def _reasons(why: Reason, words: Texts) -> list[str]:
    if not why.found:
        return [words("declined.nothing"), words("ask.declined")]
    said = []
    if why.missing:
        listed = ", ".join(f"“{word}”" for word in why.missing)
        said.append(words("declined.missing", words=listed))
    if why.likely is not None:
        said.append(words("declined.likely", value=f"{why.likely:.0%}"))
    elif not why.missing:
        said.append(words("declined.far"))
    return [*said, words("ask.declined")]


def chip(key: str, hit: Hit, words: Texts) -> Markup:
    """A button that shows a passage."""
    place = "" if hit.chunk.page is None else words("page", n=hit.chunk.page)
    below = hit.chunk.heading[-1] if hit.chunk.heading else ""
    title = hit.chunk.document.title
    name = title if below in ("", title) else f"{title} › {below}"
    return Markup(
        '<li><button type="button" class="a-chip" data-source="{}" data-chunk="{}" title="{}">'
        '<span class="a-cut">{}</span><small>{}</small></button></li>'
    ).format(key, hit.chunk.id, name, name, place)


def why(number: int, answer: Answer, words: Texts) -> Markup:
    """What was looked for, what was found with which scores, and how long each part took."""
    if answer.kind in ("catalog", "smalltalk") or not (answer.passages or answer.timings_ms):
        return Markup("")
    facts = [
        (words("why.query"), answer.query or answer.question),
        (words("why.models"), ", ".join(dict.fromkeys(answer.models.values()))),
        (words("why.confidence"), _told_confidence(answer, words)),
        (words("why.timings"), _timings(answer, words)),
    ]
    rows = render.joined(
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(*fact) for fact in facts if fact[1]
    )
    return Markup(
        '<details class="a-whys" data-key="why-{}"><summary>{}</summary><dl>{}</dl>{}</details>'
    ).format(number, words("why.title"), rows, _passages(answer, words))


def _told_confidence(answer: Answer, words: Texts) -> str:
    if answer.confidence is None:
        return words("why.uncalibrated")
    return f"{answer.confidence:.0%}"


def _timings(answer: Answer, words: Texts) -> str:
    took = answer.timings_ms
    return " · ".join(
        words(f"why.took.{part}", time=_time(took[part], words)) for part in _PARTS if part in took
    )


def _time(ms: float, words: Texts) -> str:
    if ms < 1_000:
        return words("why.ms", n=f"{ms:.0f}")
    return words("ask.seconds", seconds=f"{ms / 1_000:.1f}")


def _passages(answer: Answer, words: Texts) -> Markup:
    if not answer.passages:
        return Markup("")
    used: dict[int, list[int]] = {}
    for citation in answer.citations:
        used.setdefault(citation.chunk_id, []).append(citation.marker)
    voted = any(hit.likelihood is not None for hit in answer.passages)
    columns = ["passage", "meaning", "words", *(["vote"] if voted else []), "together", "used"]
    heads = render.joined(
        Markup('<th scope="col">{}</th>').format(words(f"why.{column}")) for column in columns
    )
    rows = render.joined(
        _row(hit, used.get(hit.chunk.id, []), words, voted=voted) for hit in answer.passages
    )
    return Markup(
        '<div class="a-scroll" tabindex="0" role="region" aria-label="{}"><table><thead><tr>{}</tr>'
        "</thead><tbody>{}</tbody></table></div>"
    ).format(words("why.passages"), heads, rows)


def _row(hit: Hit, markers: Sequence[int], words: Texts, *, voted: bool) -> Markup:
    chunk = hit.chunk
    place = "" if chunk.page is None else f" · {words('page', n=chunk.page)}"
    below = f" › {chunk.heading[-1]}" if chunk.heading else ""
    vote = Markup("<td>{}</td>").format(_number(hit.likelihood, 2)) if voted else ""
    return Markup(
        '<tr><th scope="row">{}. {}{}{}</th><td>{}</td><td>{}</td>{}<td>{}</td><td>{}</td></tr>'
    ).format(
        hit.rank,
        chunk.document.title,
        below if below != f" › {chunk.document.title}" else "",
        place,
        _number(hit.dense, 3),
        _number(hit.lexical, 2),
        vote,
        _number(hit.score, 3),
        " ".join(f"[{marker}]" for marker in dict.fromkeys(markers)) or "–",
    )


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
