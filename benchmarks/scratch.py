"""`make scratch`: the product on an encoder that was trained here and nowhere else.

    texts -> attest train encoder -> attest add samples/library -> figures beside the packaged model

Every step is a command of the product, and is shown before it runs. Started again, each goes on
where it was ended, and a finished one tells what it did.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table, show
from rag.errors import ModelMissing
from rag.loaders import load, walk
from rag.models import DEFAULT_ENCODER, locate
from rag.settings import FILE, load_settings

ROOT = SAMPLES.parent
PUBLIC = ROOT.parent / "shared" / "data" / "lm_text"
_CONFIGS = ROOT / "configs"
_PRETRAINING = 0.7  # of the time; contrast gets the rest
# The sample documents are so few that more steps, or a larger model, would learn them by heart.
_TOY = ("tokenizer.size=2500", "pretrain.training.steps=400", "contrast.training.steps=200")
_METRICS = ("ndcg_at_10", "recall_at_10", "mrr_at_10")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained on what."""

    texts: tuple[Path, ...]
    config: Path
    settings: tuple[str, ...] = ()  # over the config's
    remark: str = ""


def main(
    text: Annotated[
        Path | None, typer.Option(help="A .txt or .jsonl with a document a line.")
    ] = None,
    hours: Annotated[float, typer.Option(help="Of training, in all.")] = 1.5,
    config: Annotated[
        Path | None, typer.Option(help="What is trained; encoder-en-ko.toml if not given.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="For all that comes out.")] = ROOT / ".scratch",
) -> None:
    """Train an encoder from nothing, put the sample library on it, and measure."""
    if hours <= 0:
        raise typer.BadParameter(f"hours ({hours:g}) must be over 0")
    plan = _plan(text, config, folder.resolve())
    encoder, home = folder.resolve() / "encoder", folder.resolve() / "home"
    _attest("train", "encoder", str(plan.config), "-o", str(encoder), *_settings(plan, hours))
    home.mkdir(exist_ok=True)
    (home / FILE).write_text(f"encoder = {json.dumps(str(encoder))}\n", encoding="utf-8")
    _attest("add", str(SAMPLES / "library"), "--home", str(home))
    show(figures(home, plan), Console())


def _plan(text: Path | None, config: Path | None, folder: Path) -> Plan:
    folder.mkdir(parents=True, exist_ok=True)
    public = tuple(PUBLIC / name for name in ("en_wiki.txt", "ko_sentences.txt"))
    if text is not None or all(file.is_file() for file in public):
        texts = public if text is None else (text.resolve(),)
        return Plan(texts, config or _CONFIGS / "encoder-en-ko.toml")
    return Plan(
        (_sample_texts(folder / "texts.txt"),),
        config or _CONFIGS / "encoder-tiny.toml",
        () if config else _TOY,
        "a toy: it has seen the sample documents alone; make scratch TEXT=file.txt takes more",
    )


def _sample_texts(file: Path) -> Path:
    """The sample library itself, a paragraph a line."""
    texts = [load(document).text for document in walk([SAMPLES / "library"])]
    parts = [" ".join(part.split()) for text in texts for part in text.split("\n\n")]
    file.write_text("".join(f"{part}\n" for part in parts if part), encoding="utf-8")
    return file


def _settings(plan: Plan, hours: float) -> list[str]:
    minutes = 60 * hours
    given = (
        f"data.texts={json.dumps([str(file) for file in plan.texts], ensure_ascii=False)}",
        f"pretrain.training.minutes={_PRETRAINING * minutes:g}",
        f"contrast.training.minutes={(1 - _PRETRAINING) * minutes:g}",
        *plan.settings,
    )
    return [part for setting in given for part in ("--set", setting)]


def figures(home: Path, plan: Plan) -> Table:
    """How well the sample questions find their documents by meaning alone."""
    asked = [str(SAMPLES / "questions.jsonl"), "--home", str(home), "--json"]
    packaged = _is_here(DEFAULT_ENCODER)
    beside = ["--against", DEFAULT_ENCODER] if packaged else []
    cache = ["--cache", str(home.parent / "vectors")]
    told = json.loads(_attest("eval", "retrieval", *asked, *beside, *cache, shown=False))
    rows = [_row("trained here", _dense(told["sides"]), "_pct")]
    if packaged:
        rows.append(_beside(_dense(told["comparisons"][0]["sides"])))
    chance = 100 * min(1, 10 / told["documents"])
    notes = [f"in random order, recall@10 of {told['documents']} documents is {chance:.0f} %"]
    if not packaged:
        notes.append(f"{DEFAULT_ENCODER} is not on this machine: attest models pull")
    return Table(
        name="scratch",
        title=f"{told['queries']} questions on samples/library by meaning alone, per cent",
        rows=tuple(rows),
        notes=(*notes, *[plan.remark] * bool(plan.remark)),
    )


def _dense(sides: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next(s for s in sides if (s["side"], s["relevance"]) == ("dense", "document"))


def _row(encoder: str, side: dict[str, Any], ending: str) -> Row:
    return {"encoder": encoder, **{metric: float(side[metric + ending]) for metric in _METRICS}}


def _beside(side: dict[str, Any]) -> Row:
    before = {each["metric"]: each["before_pct"] for each in side["differences"]}
    return _row(DEFAULT_ENCODER, before, "")


def _is_here(model: str) -> bool:
    try:
        locate(model, load_settings({}).models_dir)
    except ModelMissing:
        return False
    return True


def _attest(*arguments: str, shown: bool = True) -> str:
    """Run a command of the product; this ends where it ends badly.

    Returns:
        what it printed, where that is not shown
    """
    typer.echo(f"$ attest {shlex.join(arguments)}", err=True)
    out = None if shown else subprocess.PIPE
    command = [sys.executable, "-m", "rag.cli", *arguments]
    ran = subprocess.run(command, stdout=out, encoding="utf-8", check=False)
    if ran.returncode:
        raise typer.Exit(ran.returncode)
    return ran.stdout or ""


if __name__ == "__main__":
    typer.run(main)
