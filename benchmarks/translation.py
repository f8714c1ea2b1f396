"""Korean to English by an encoder–decoder from nothing: learned by heart, then held out.

    python -m benchmarks.translation --data shared/data/ko_en_parallel

The first shows that all parts work: 500 pairs are given back. The second shows what a few thousand
sentences teach a model of a language pair: next to nothing, and the figure says so.
"""

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from torch import Tensor

from benchmarks.bleu import bleu
from benchmarks.parallel import HELD_OUT, LONGEST, TRAINED, Corpus, Decoder, read
from benchmarks.table import Row, Table, as_json, show
from generator.sampling import Sampling
from generator.seq2seq import Seq2Seq, begin, set_dropout
from generator.seq2seq_config import Seq2SeqConfig
from generator.seq2seq_decoding import translate
from generator.seq2seq_training import Translating
from transformer.progress import bar
from transformer.runtime import seeded
from transformer.training import Trained, TrainingConfig, train

_DATA = Path("../shared/data/ko_en_parallel")
_BY_HEART = 500  # pairs
_NOTES = (
    "BLEU: words and marks, whatever their case, one reference, no smoothing",
    f"by heart: the first {_BY_HEART} pairs of {TRAINED[0]}, measured on themselves",
    f"held out: learned from {', '.join(TRAINED)}; measured on {HELD_OUT}, weights chosen by the "
    "likelihood of 200 other pairs",
)


def small(vocabulary: int) -> Seq2SeqConfig:
    """Two layers each, normalised before their parts."""
    return Seq2SeqConfig(
        vocab_size=vocabulary,
        d_model=128,
        n_heads=4,
        d_ff=512,
        encoder_layers=2,
        decoder_layers=2,
        max_tokens=LONGEST,
        pre_norm=True,
    )


def greedy(model: Seq2Seq, corpus: Corpus) -> Decoder:
    """The likeliest token at every step."""
    marks, sampling = corpus.marks, Sampling(max_tokens=LONGEST)

    def decode(source: Tensor, mask: Tensor | None) -> list[list[int]]:
        return translate(
            model, source, mask, sampling, begin=marks.begin, end=marks.end, rng=seeded(0)
        )

    return decode


def measure(data: Path, *, minutes: float, steps: int | None = None) -> Table:
    """Two models, each trained for so many minutes."""
    sentences = read(data, TRAINED[0])[:_BY_HEART]
    rows = [_by_heart(Corpus(sentences, sentences, 3000), minutes, steps)]
    every = [each for name in TRAINED for each in read(data, name)]
    rows.append(_held_out(Corpus(every, read(data, HELD_OUT), 8000), minutes, steps))
    return Table("translation", "Korean to English, from nothing", tuple(rows), _NOTES)


def _by_heart(corpus: Corpus, minutes: float, steps: int | None) -> Row:
    model = Seq2Seq(small(corpus.tokenizer.size))
    task = Translating(model, corpus.pairs, [], corpus.marks, smoothing=0.0)
    done = _trained(model, task, minutes, steps, dropout=0.0)
    said = corpus.translations(greedy(model, corpus), corpus.trained)
    score = bleu(said, [each.target for each in corpus.trained])
    return _row("by heart", corpus, done) | {"pairs": len(corpus.pairs), "BLEU_learned": score}


def _held_out(corpus: Corpus, minutes: float, steps: int | None) -> Row:
    model = Seq2Seq(small(corpus.tokenizer.size))
    cut = max(1, min(200, len(corpus.pairs) // 10))
    task = Translating(model, corpus.pairs[cut:], corpus.pairs[:cut], corpus.marks)
    done = _trained(model, task, minutes, steps, dropout=0.2)
    meant = [each.target for each in corpus.held_out]
    some = corpus.trained[cut : cut + _BY_HEART]
    learned = corpus.translations(greedy(model, corpus), some)
    said = corpus.translations(greedy(model, corpus), corpus.held_out)
    return _row("held out", corpus, done) | {
        "pairs": len(corpus.pairs) - cut,
        "BLEU_learned": bleu(learned, [each.target for each in some]),
        "unseen": len(meant),
        "BLEU_unseen": bleu(said, meant),
        "loss": -done.metrics["log_likelihood"],
    }


def _trained(
    model: Seq2Seq, task: Translating, minutes: float, steps: int | None, *, dropout: float
) -> Trained:
    begin(model, seeded(0))
    set_dropout(model, dropout)
    config = TrainingConfig(
        minutes=minutes, steps=steps, learning_rate=2e-3, precision="float32", evaluate_every=100
    )
    with tempfile.TemporaryDirectory() as folder, bar("translation") as watch:
        return train(task, config, Path(folder), watch=watch)


def _row(name: str, corpus: Corpus, done: Trained) -> dict[str, str | int | float]:
    return {
        "name": name,
        "vocabulary": corpus.tokenizer.size,
        "steps": done.steps,
        "minutes": done.minutes,
    }


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    minutes: Annotated[float, typer.Option(help="Of training, for each of the two.")] = 4.0,
    steps: Annotated[int | None, typer.Option(help="At most so many, to repeat a run.")] = None,
    data: Annotated[Path, typer.Option(help="Folder of ko_en_parallel.")] = _DATA,
    output: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
) -> None:
    """Train two encoder–decoders from nothing, and translate."""
    if not (data / f"{TRAINED[0]}.ko").is_file():
        raise typer.BadParameter(f"{data} holds no {TRAINED[0]}.ko: name a folder with --data")
    table = measure(data, minutes=minutes, steps=steps)
    show(table, Console(width=None if Console().is_terminal else 160))
    if output is not None:
        figures = {table.name: as_json(table)}
        output.write_text(json.dumps(figures, ensure_ascii=False, indent=2), encoding="utf-8")


if __name__ == "__main__":
    app()
