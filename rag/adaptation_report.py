"""An adaptation as JSON, as text for a terminal, and as one HTML page that needs nothing else."""

import html as escaping
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from rag.downloads import write_aside
from rag.gate import Evidence
from rag.knobs import Knob
from rag.metrics import Difference
from rag.outcome import Adaptation, Example

Json = dict[str, Any]

_ORIGINS = {
    "asked": "asked",
    "given": "given with judgements",
    "title": "made of titles",
    "heading": "made of headings",
    "sentence": "made of sentences",
    "words": "made of key words",
    "written": "written by the generator",
}


def record(made: Adaptation) -> Json:
    """What `attest adapt --json` prints, and what is stored beside what was learned."""
    return {
        "collection": made.collection,
        "encoder": made.encoder,
        "kind": made.kind,
        "accepted": made.accepted,
        "reason": made.reason,
        "adapter": made.adapter,
        "learned_from": dict(made.learned),
        "evidence": [_evidence(each) for each in made.evidence],
        "drift": asdict(made.drift),
        "coherence": made.coherence,
        "fusion_weight": _knob(made.weight),
        "rerank_weight": _knob(made.vote),
        "better": [asdict(each) for each in made.better],
        "worse": [asdict(each) for each in made.worse],
        "notes": list(made.notes),
        "timings_s": dict(made.timings_s),
    }


def text(made: Adaptation) -> str:
    """The same for people, one thing a line."""
    lines = [verdict(made), f"learned from {_origins(made)}"]
    lines += [_weighed(each) for each in made.evidence]
    for name, knob in (("meaning beside words", made.weight), ("generator's vote", made.vote)):
        if knob is not None:
            lines.append(
                f"{name}: {knob.before:g} → {knob.after:g} (best other setting: "
                f"{_change(knob.change)} on {knob.questions} questions)"
            )
    for title, examples in (("better", made.better), ("worse", made.worse)):
        lines += [f"{title}: {_line(each)}" for each in examples]
    lines += [f"note: {note}" for note in made.notes]
    lines.append(f"took {sum(made.timings_s.values()):.0f} s")
    return "\n".join(lines)


def verdict(made: Adaptation) -> str:
    """What came of it, in a sentence."""
    if made.accepted:
        return f"The library has learned: {made.reason}."
    return f"The library answers as before: {made.reason}."


def write_page(made: Adaptation, output: Path) -> None:
    """One HTML page with all of it."""
    source = resources.files("rag").joinpath("templates/adaptation.html").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(source).render(
        made=made,
        verdict=verdict(made),
        origins=_origins(made),
        change=_change,
        plot=_plot(made) if made.evidence else "",
    )
    write_aside(output, page.encode())


def _plot(made: Adaptation) -> str:
    """Differences with their intervals, as a piece of HTML that brings its own script."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, colour in (("dense", "#1f6feb"), ("fused", "#b3261e")):
        differences = [getattr(each, name) for each in made.evidence]
        figure.add_scatter(
            x=[each.mean for each in differences],
            y=[escaping.escape(f"{each.kind} ({each.questions})") for each in made.evidence],
            mode="markers",
            name={"dense": "by meaning", "fused": "fused"}[name],
            marker={"size": 11, "color": colour},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [each.high - each.mean for each in differences],
                "arrayminus": [each.mean - each.low for each in differences],
            },
        )
    figure.add_vline(x=0, line_width=1, line_color="#777")
    figure.update_layout(
        template="plotly_white",
        height=160 + 70 * len(made.evidence),
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        xaxis_title="points of nDCG, after - before, with 95 % intervals",
        yaxis={"autorange": "reversed"},
        scattermode="group",
    )
    options = {"displaylogo": False}
    return str(figure.to_html(full_html=False, include_plotlyjs=True, config=options))


def _origins(made: Adaptation) -> str:
    parts = [f"{count} {_ORIGINS[origin]}" for origin, count in made.learned.items()]
    return f"{sum(made.learned.values())} questions: {', '.join(parts)}"


def _evidence(each: Evidence) -> Json:
    return {
        "kind": each.kind,
        "questions": each.questions,
        "dense_before": each.dense_before,
        "dense_change": asdict(each.dense),
        "fused_before": each.fused_before,
        "fused_change": asdict(each.fused),
    }


def _weighed(each: Evidence) -> str:
    return (
        f"{each.kind} ({each.questions} questions held out): by meaning "
        f"{each.dense_before:.1f} {_change(each.dense)}, fused {each.fused_before:.1f} "
        f"{_change(each.fused)}"
    )


def _knob(knob: Knob | None) -> Json | None:
    return None if knob is None else asdict(knob)


def _change(difference: Difference) -> str:
    return f"{difference.mean:+.1f} [{difference.low:+.1f}, {difference.high:+.1f}]"


def _line(example: Example) -> str:
    return f"{example.change:+.0f} {example.question!r}: {example.before!r} → {example.after!r}"
