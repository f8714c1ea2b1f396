"""`python -m benchmarks.adapting`: what adapting gains on public corpora, and what the gate says.

    replay     nDCG@10 on judged questions against how many others were asked before, as SVG
    verdicts   every corpus and seed: the gate's verdict beside what judged questions say

Settings are those of the product. The judged questions are never seen by what is judged.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.lines import Line, drawn
from benchmarks.replay import NAME, Replay, replay
from benchmarks.table import Row, Table, as_json, show
from rag.adapting import adapt, learn
from rag.adapting_run import Practice, Wish
from rag.errors import AttestError
from rag.metrics import Difference, paired
from rag.practice import Question
from rag.questions import Source
from rag.settings import Settings, load_settings

_ASKED = (0, 25, 50, 100, 200, 400, 800)
_CORPORA = (
    "scifact",
    "cranfield",
    "cisi",
    "autorag_ko",
    "msmarco_sample",
    "asqa_sample",
    "hotpotqa_sample",
)
_SIDES = ("dense", "fused")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

Data = Annotated[Path, typer.Option(help="Folder of public corpora.")]
Encoder = Annotated[str, typer.Option(help="Name or folder.")]
Cache = Annotated[Path | None, typer.Option(help="Keeps vectors between runs.")]
Corpora = Annotated[list[str] | None, typer.Option("--task", help="A corpus; may be repeated.")]
Out = Annotated[Path | None, typer.Option("--json", help="Keep the figures there.")]


@app.command("replay")
def replay_(
    data: Data,
    encoder: Encoder = "minilm",
    cache: Cache = None,
    task: Corpora = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the curves there.")] = None,
    out: Out = None,
) -> None:
    """nDCG@10 against the number of questions asked; the gate is not asked."""
    rows: list[Row] = []
    for name in task or ("scifact", "msmarco_sample"):
        with replay(data / name, _settings(encoder), cache=cache, seed=0) as library:
            rows += _curve(name, library)
    note = "unlabelled questions of others; intervals of paired differences to 0 asked, 95 %"
    _finish(Table("replay", f"Questions asked and nDCG@10, {encoder}", tuple(rows), (note,)), out)
    if svg is not None:
        svg.write_text(drawn(_lines(rows), across="questions asked", up="nDCG@10"), "utf-8")


@app.command()
def verdicts(
    data: Data,
    encoder: Encoder = "minilm",
    korean: Annotated[str, typer.Option(help="The encoder of Korean corpora.")] = "e5-small",
    cache: Cache = None,
    task: Corpora = None,
    seeds: Annotated[int, typer.Option(help="Splits of each corpus.")] = 3,
    source: Annotated[Source, typer.Option(help="What is learned from.")] = "both",
    out: Out = None,
) -> None:
    """The gate's verdict beside the truth."""
    rows: list[Row] = []
    for name in task or _CORPORA:
        settings = _settings(korean if name.endswith("_ko") else encoder)
        for seed in range(seeds):
            with replay(data / name, settings, cache=cache, seed=seed) as library:
                rows.append(_verdict(name, seed, library, source))
                show(Table("verdicts", name, tuple(rows[-1:])), Console(stderr=True))
    _finish(Table("verdicts", "Adapting, and the gate", tuple(rows), (_precision(rows),)), out)


def _curve(name: str, library: Replay) -> Iterator[Row]:
    shelf, texts = library.shelf(), [each.text for each in library.judged]
    before = shelf.find(texts, shelf.embedder)
    base = library.values(shelf, before)
    for asked in (n for n in _ASKED if n <= len(library.log)):
        values = base
        if asked:
            practice = Practice(library.assistant, NAME, Wish(minutes=30), watch=_unwatched)
            _, new = learn(practice, [Question(text, "asked") for text in library.log[:asked]])
            values = library.values(shelf, shelf.again(before, new.embed_queries(texts)))
        yield {"name": f"{name} {asked}", **_sides(base, values)}


def _verdict(name: str, seed: int, library: Replay, source: Source) -> Row:
    library.ask(library.log)
    shelf, texts = library.shelf(), [each.text for each in library.judged]
    before = shelf.find(texts, shelf.embedder)
    base = library.values(shelf, before)
    row: dict[str, str | float | int | None] = {"name": name, "seed": seed}
    try:
        made = adapt(library.assistant, Wish(source, seed=seed), watch=_unwatched)
    except AttestError as error:
        return row | {"verdict": "refused", "why": str(error)}
    new = library.assistant.catalog.active_adapter(NAME)
    row["verdict"] = "accepted" if made.accepted else "kept"
    row["seconds"] = sum(made.timings_s.values())
    row["why"] = made.reason
    if new is not None:
        asking = library.assistant.encoders.asking(NAME)
        row |= _sides(base, library.values(shelf, shelf.again(before, asking.embed_queries(texts))))
    return row


def _sides(base: np.ndarray, values: np.ndarray) -> dict[str, float | str]:
    cells: dict[str, float | str] = {}
    for side, old, new in zip(_SIDES, base, values, strict=True):
        difference = paired(old, new, rng=np.random.default_rng(0))
        cells |= {side: float(new.mean()), f"{side}_change": _text(difference)}
    return cells


def _precision(rows: Sequence[Row]) -> str:
    """How many accepted ones truly gained, and how many made it worse for certain."""
    accepted = [row for row in rows if "dense_change" in row]
    said = []
    for side in _SIDES:
        changes = [str(row[f"{side}_change"]) for row in accepted]
        gained = sum(float(change.split()[0]) > 0 for change in changes)
        worse = sum(float(change.rpartition(" ")[2].rstrip("]")) < 0 for change in changes)
        said.append(f"{side}: {gained} gained, {worse} lost for certain")
    return f"of {len(accepted)} accepted of {len(rows)}, on judged questions: {'; '.join(said)}"


def _text(each: Difference) -> str:
    return f"{each.mean:+.2f} [{each.low:+.2f}, {each.high:+.2f}]"


def _lines(rows: Sequence[Row]) -> list[Line]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        name, _, asked = str(row["name"]).rpartition(" ")
        for side in _SIDES:
            lines.setdefault(f"{name}, {side}", []).append((float(asked), float(str(row[side]))))
    return [Line(name, tuple(points)) for name, points in lines.items()]


def _settings(encoder: str) -> Settings:
    return load_settings({"encoder": encoder})


def _unwatched(_what: str, _share: float) -> None:
    """Nobody looks."""


def _finish(table: Table, out: Path | None) -> None:
    show(table, Console())
    if out is not None:
        text = json.dumps({table.name: as_json(table)}, ensure_ascii=False, indent=2)
        out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    app()
