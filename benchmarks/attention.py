"""Attention, step by step: "let's go" becomes "vamos", and every number on the way is printed.

python -m benchmarks.attention --drawings docs/images
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor

from benchmarks import followed, weights
from benchmarks.followed import Read, Written
from benchmarks.lets_go import BEGIN, END, PHRASES, Translator, trained
from generator.seq2seq_decoding import translate_by_beams

SOURCE, TARGET = "let's go", "vamos"
ORDERS = "squatch eats pizza", "pizza eats squatch"
REORDERED = "squatch eats red pizza", "squatch come pizza roja"
_LIKELY = 4  # words of the vocabulary that are shown


def told(translator: Translator) -> Iterator[str]:
    """The lines, a heading before every step."""
    source = followed.read(translator, SOURCE)
    first = followed.write(translator, source, "")
    both = followed.write(translator, source, TARGET)
    heard = SOURCE.split()
    yield from _steps_of_the_encoder(source, heard)
    yield from _steps_of_the_decoder(translator, first, heard)
    yield from _the_next_word(translator, both)
    yield from _order(translator)
    yield from _all_at_once(translator)
    yield from _ways_to_choose(translator)


def _steps_of_the_encoder(source: Read, words: Sequence[str]) -> Iterator[str]:
    asked = source.self_attention
    yield "# 1 words as vectors, times √4"
    yield from _vectors(words, source.words)
    yield "# 2 positions, and the sum"
    yield from _vectors([f"place {i}" for i in range(len(words))], source.waves)
    yield from _vectors(words, source.words + source.waves)
    yield "# 3 queries, keys and values"
    for name, vectors in (("query", asked.q), ("key", asked.k), ("value", asked.v)):
        yield from _vectors([f"{name} of {word}" for word in words], vectors)
    yield "# 4 scores: query · key, then divided by √4"
    yield from _grid(words, words, asked.scores)
    yield from _grid(words, words, asked.scores / 2)
    yield "# 5 weights: the softmax of each row"
    yield from _grid(words, words, asked.weights)
    yield "# 6 the values, weighted and summed"
    yield from _vectors(words, asked.mixed)
    yield "# 7 added to what was there and normalised; then the same with the feed-forward layer"
    yield from _vectors(words, source.attended)
    yield from _vectors(words, source.vectors)


def _steps_of_the_decoder(
    translator: Translator, written: Written, heard: Sequence[str]
) -> Iterator[str]:
    yield "# 8 the decoder begins: vector, position, masked self-attention"
    yield from _vectors([BEGIN], written.words + written.waves)
    yield from _grid([BEGIN], [BEGIN], written.masked.weights)
    yield from _vectors([f"{BEGIN} attended"], written.attended)
    yield "# 9 cross-attention: its query, the source's keys"
    yield from _vectors([f"query of {BEGIN}"], written.cross.q)
    yield from _vectors([f"key of {word}" for word in heard], written.cross.k)
    yield from _grid([BEGIN], heard, written.cross.scores / 2)
    yield from _grid([BEGIN], heard, written.cross.weights)
    yield from _vectors(["context"], written.cross.mixed)
    yield "# 10 the output layer: what comes first"
    yield from _likeliest(translator, written.chances[-1])


def _the_next_word(translator: Translator, written: Written) -> Iterator[str]:
    said, heard = [BEGIN, *TARGET.split()], SOURCE.split()
    yield f"# 11 {TARGET} is read as well: masked self-attention, cross-attention, what comes next"
    yield from _grid(said, said, written.masked.weights)
    yield from _grid(said, heard, written.cross.weights)
    yield from _likeliest(translator, written.chances[-1])


def _order(translator: Translator) -> Iterator[str]:
    yield "# 12 the same words in another order"
    for text in ORDERS:
        yield f"{text} -> {translator.say(text)}"
    yield f"largest difference of a word's vector: {_moved(translator):.2f}"
    embedded = translator.model.encoder.embedded
    positions, embedded.positions = embedded.positions, None  # type: ignore[union-attr]
    yield f"the same without positions: {_moved(translator):.2f}"
    embedded.positions = positions  # type: ignore[union-attr]


def _moved(translator: Translator) -> float:
    """By how much the vectors of the three words differ between the two orders, at most."""
    one, other = (followed.read(translator, text).vectors for text in ORDERS)
    return float((one - other.flip(0)).abs().max())


@torch.inference_mode()
def _all_at_once(translator: Translator) -> Iterator[str]:
    text, said = REORDERED
    words = [*said.split(), END]
    ids = [translator.spanish.names.index(word) for word in words]
    source = followed.read(translator, text)
    once = followed.write(translator, source, said).chances
    yield "# 13 chances of each word of a target: in one pass, and step by step"
    for place, token in enumerate(ids):
        alone = followed.write(translator, source, " ".join(words[:place])).chances[-1]
        yield f"{words[place]:<10} {float(once[place, token]):7.4f} {float(alone[token]):7.4f}"


def _ways_to_choose(translator: Translator) -> Iterator[str]:
    yield "# 14 all phrases, greedily; one of them by beams, with log-probability a token"
    right = sum(translator.say(english) == spanish for english, spanish in PHRASES)
    yield f"{right} of {len(PHRASES)} as they were learned"
    marks = translator.marks
    found = translate_by_beams(
        translator.model,
        translator.source(SOURCE),
        begin=marks.begin,
        end=marks.end,
        beams=3,
        max_tokens=4,
    )
    for one in found:
        words = " ".join(translator.spanish.names[i] for i in one.tokens)
        yield f"{one.score:6.2f} {words or '(nothing)'}"


def _vectors(names: Sequence[str], rows: Tensor) -> Iterator[str]:
    for name, row in zip(names, rows.tolist(), strict=True):
        yield f"{name:<20}" + "".join(f" {_number(value)}" for value in row)


def _grid(names: Sequence[str], columns: Sequence[str], rows: Tensor) -> Iterator[str]:
    yield " " * 20 + "".join(f" {column:>8}" for column in columns)
    for name, row in zip(names, rows.tolist(), strict=True):
        yield f"{name:<20}" + "".join(f" {value + 0.0:8.2f}" for value in row)


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:6.2f}"  # no minus before a zero


def _likeliest(translator: Translator, chances: Tensor) -> Iterator[str]:
    found = chances.topk(_LIKELY)
    for chance, token in zip(found.values.tolist(), found.indices.tolist(), strict=True):
        yield f"{translator.spanish.names[token]:<10} {chance:.3f}"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    drawings: Annotated[
        Path | None, typer.Option(help="Write attention-lets-go.svg and -order.svg in here.")
    ] = None,
) -> None:
    """Train a translator of nineteen phrases in seconds, and follow one of them through it."""
    torch.set_num_threads(1)
    translator = trained()
    for line in told(translator):
        typer.echo(line)
    if drawings is not None:
        drawings.mkdir(parents=True, exist_ok=True)
        for name, (text, said) in (("lets-go", (SOURCE, TARGET)), ("order", REORDERED)):
            maps = followed.maps(translator, text, said)
            svg = weights.drawn(maps, f"Attention: {text}, {said}")
            (drawings / f"attention-{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    app()
