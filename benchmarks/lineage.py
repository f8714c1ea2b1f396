"""From one state to attention to the transformer: the same pairs, the same minutes.

    python -m benchmarks.lineage --drawings out
    python -m benchmarks.lineage --data shared/data/ko_en_parallel --drawings out

Without data the pairs are lists of words that are to be said again: nothing but their length
makes them hard. With data they are Korean and English sentences.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from torch import Tensor, nn

from benchmarks import pace
from benchmarks.bleu import bleu, words
from benchmarks.lines import Line, drawn
from benchmarks.parallel import TRAINED, Corpus, Decoder, Sentence, read
from benchmarks.recurrent import Attending, Bottleneck, begin_lstm
from benchmarks.table import Row, Table, as_json, show
from benchmarks.translation import greedy, small
from generator.sampling import Sampling
from generator.seq2seq import Seq2Seq, begin
from generator.seq2seq_decoding import written
from generator.seq2seq_training import Translating
from transformer.progress import bar
from transformer.runtime import seeded
from transformer.tokenizer_training import SPECIALS
from transformer.training import Moment, TrainingConfig, train

_WORDS = [2 * letter for letter in "abcdefghijklmnopqrstuvwxyz"]  # that lists are made of
_SHORTEST, _LONGEST = 2, 21  # words of a list
_LISTS, _CHOOSING, _JUDGED = 20_000, 200, 400
_WIDTH = 256  # of an LSTM's state: with it, all three have about as many parameters
_MOST_SAID = 63  # tokens
_BY_HEART = 500  # pairs of two languages
_TIMED = (8, 16, 32, 64)  # tokens of a sentence
_PARTS = 5  # of the judged sentences, by length, equally many in each
_NOTES = (
    "BLEU of the judged, and of five equal parts of them by the words of the target (mean length)",
    "tokens/s: of source and target, forward and backward, over the whole training",
    "loss: of a token of the pairs that chose the weights, by teacher forcing",
)

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """A model to be."""

    name: str
    make: Callable[[int], nn.Module]  # of a vocabulary's size, with weights to begin with
    decoder: Callable[[nn.Module, Corpus], Decoder]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What training came to."""

    row: Row
    quality: Points  # mean length of sentences, and BLEU of them


def contenders() -> list[Contender]:
    return [
        Contender("LSTM, one state", lambda v: _lstm(Bottleneck(v, 128, _WIDTH)), _stepping),
        Contender("LSTM, attention", lambda v: _lstm(Attending(v, 128, _WIDTH)), _stepping),
        Contender("transformer", _transformer, _greedy),
    ]


def _lstm(model: nn.Module) -> nn.Module:
    begin_lstm(model, seeded(0))
    return model


def _transformer(vocabulary: int) -> nn.Module:
    model = Seq2Seq(small(vocabulary))
    begin(model, seeded(0))
    return model


def _greedy(model: nn.Module, corpus: Corpus) -> Decoder:
    assert isinstance(model, Seq2Seq)
    return greedy(model, corpus)


def _stepping(model: nn.Module, corpus: Corpus) -> Decoder:
    assert isinstance(model, Bottleneck | Attending)
    marks, sampling = corpus.marks, Sampling(max_tokens=_MOST_SAID)

    @torch.inference_mode()
    def decode(source: Tensor, mask: Tensor | None) -> list[list[int]]:
        step = model.stepping(source, mask)
        rows = len(source)
        return written(step, rows, sampling, begin=marks.begin, end=marks.end, rng=seeded(0))

    return decode


def lists(n: int, *, seed: int) -> list[Sentence]:
    """Random words as source and target, as many lists of each length."""
    rng = seeded(seed)
    found = []
    for i in range(n):
        length = _SHORTEST + i % (_LONGEST - _SHORTEST + 1)
        chosen = torch.randint(len(_WORDS), (length,), generator=rng).tolist()
        text = " ".join(_WORDS[word] for word in chosen)
        found.append(Sentence(text, text))
    return found


def measure(
    corpus: Corpus, judged: Sequence[Sentence], config: TrainingConfig
) -> tuple[Table, list[Line]]:
    """Train each with the same budget: a row and a line of quality by length for each."""
    outcomes = [_outcome(each, corpus, judged, config) for each in contenders()]
    title = f"Lineage: {len(corpus.pairs)} pairs learned, {len(judged)} sentences judged"
    table = Table("lineage", title, tuple(outcome.row for outcome in outcomes), _NOTES)
    return table, [Line(str(each.row["name"]), each.quality) for each in outcomes]


def _outcome(
    contender: Contender, corpus: Corpus, judged: Sequence[Sentence], config: TrainingConfig
) -> Outcome:
    model = contender.make(corpus.tokenizer.size)
    task = Translating(
        model, corpus.pairs, (corpus.held_out_pairs or corpus.pairs)[:_CHOOSING], corpus.marks
    )
    tokens = 0
    with tempfile.TemporaryDirectory() as folder, bar(contender.name) as shown:

        def watch(moment: Moment) -> None:
            nonlocal tokens
            tokens += moment.tokens
            shown(moment)

        done = train(task, config, Path(folder), watch=watch)
    said = corpus.translations(contender.decoder(model, corpus), judged)
    quality = _by_length(said, [each.target for each in judged])
    row: dict[str, str | int | float] = {
        "name": contender.name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": done.steps,
        "tokens/s": tokens / (60 * done.minutes),
        "loss": -done.metrics["log_likelihood"],
        "BLEU": bleu(said, [each.target for each in judged]),
    }
    row |= {f"{at:.0f} words": score for at, score in quality}
    return Outcome(row, quality)


def _by_length(said: Sequence[str], meant: Sequence[str]) -> Points:
    """Mean length and BLEU of equal parts, from the shortest sentences to the longest."""
    counts = [len(words(text)) for text in meant]
    order = sorted(range(len(meant)), key=counts.__getitem__)
    cuts = [round(len(order) * i / _PARTS) for i in range(_PARTS + 1)]
    points = []
    for start, stop in pairwise(cuts):
        part = order[start:stop]
        mean = sum(counts[i] for i in part) / len(part)
        points.append((mean, bleu([said[i] for i in part], [meant[i] for i in part])))
    return tuple(points)


def listed() -> tuple[Corpus, list[Sentence]]:
    """Lists to learn from, and others to be judged by."""
    size = len(SPECIALS) + 3 * len(_WORDS)  # a word is a piece or two
    corpus = Corpus(lists(_LISTS, seed=1), lists(_CHOOSING + _JUDGED, seed=2), size)
    return corpus, corpus.held_out[_CHOOSING:]  # the others choose the weights


def translated(data: Path) -> tuple[Corpus, list[Sentence]]:
    """Sentences to learn by heart and be judged by: of others, minutes teach next to nothing."""
    corpus = Corpus(read(data, TRAINED[0])[:_BY_HEART], [], 3000)
    return corpus, corpus.trained


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    minutes: Annotated[float, typer.Option(help="Of training, for each model.")] = 3.0,
    data: Annotated[
        Path | None, typer.Option(help="Folder of ko_en_parallel; lists of words if not given.")
    ] = None,
    drawings: Annotated[
        Path | None, typer.Option(help="Write quality.svg and pace.svg in here.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
) -> None:
    """Train an LSTM with one state, one with attention, and the transformer, for equal minutes."""
    if data is not None and not (data / f"{TRAINED[0]}.ko").is_file():
        raise typer.BadParameter(f"{data} holds no {TRAINED[0]}.ko: name a folder with --data")
    console = Console(width=None if Console().is_terminal else 160)
    corpus, judged = listed() if data is None else translated(data)
    config = TrainingConfig(
        minutes=minutes, learning_rate=2e-3, precision="float32", evaluate_every=100
    )
    quality, lines = measure(corpus, judged, config)
    show(quality, console)
    makers = {each.name: each.make for each in contenders()}
    speed, rates = pace.measure(makers, lengths=_TIMED)
    show(speed, console)
    if drawings is not None:
        drawings.mkdir(parents=True, exist_ok=True)
        for name, svg in (
            ("quality", drawn(lines, across="words of the sentence", up="BLEU")),
            ("pace", drawn(rates, across="tokens of the sentence", up="tokens/s, training")),
        ):
            (drawings / f"{name}.svg").write_text(svg, encoding="utf-8")
    if output is not None:
        figures = {table.name: as_json(table) for table in (quality, speed)}
        output.write_text(json.dumps(figures, ensure_ascii=False, indent=2), encoding="utf-8")


if __name__ == "__main__":
    app()
