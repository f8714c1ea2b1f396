"""Tokens a second: our generator beside llama.cpp, same GGUF file, same token ids."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from benchmarks import speed
from benchmarks.passages import library_texts
from benchmarks.rounds import Missing, Timed
from benchmarks.table import Row, Table
from generator import Writer
from generator.decoding import advance

LLAMA = "llama.cpp"
_PREFILL = 512
_HELD, _STEPS = 500, 64  # tokens in the context before the first step that counts, and steps
_PREFILL_TARGETS = {LLAMA: 2.5}

Feed = Callable[[Sequence[int]], int]  # takes tokens in, gives the likeliest to follow
Begin = Callable[[], Feed]  # with an empty context


def measure(*, generator: Path, rounds: int, threads: int) -> Table:
    """Rates of taking in a prompt, and of going on after one token by token.

    Args:
        generator: a .gguf file or its folder
        rounds: that count
        threads: of each contender
    """
    torch.set_num_threads(threads)
    writer = Writer.load(generator)
    text = "\n\n".join(library_texts())
    ids = writer.tokenizer.encode(text)

    def race(timing: Callable[[Begin, Sequence[int]], Timed], work: int) -> speed.Race:
        return speed.Race(
            "tok_per_s",
            work,
            timing(_attest(writer), ids),
            {LLAMA: lambda: timing(_llama(generator, text, ids, threads), ids)},
            _PREFILL_TARGETS if timing is _prefill else {},
        )

    prefill = speed.run(race(_prefill, _PREFILL), rounds)
    decode = speed.run(race(_decode, _STEPS), rounds)
    return Table(
        "generation",
        f"Generation: {generator.name}, {threads} threads",
        (
            *_named(f"prefill {_PREFILL}", prefill),
            *_named(f"decode {_STEPS} after {_HELD}", decode),
        ),
        ("both are fed the same token ids, and the highest logit is read after each time",),
    )


def _prefill(begin: Begin, ids: Sequence[int]) -> Timed:
    def run() -> float:
        feed = begin()
        began = perf_counter()
        feed(ids[:_PREFILL])
        return perf_counter() - began

    return run


def _decode(begin: Begin, ids: Sequence[int]) -> Timed:
    def run() -> float:
        feed = begin()
        feed(ids[:_HELD])
        began = perf_counter()
        for token in ids[_HELD : _HELD + _STEPS]:
            feed([token])
        return perf_counter() - began

    return run


def _attest(writer: Writer) -> Begin:
    def begin() -> Feed:
        cache = writer.model.new_cache(_HELD + _STEPS)
        return lambda tokens: int(advance(writer.model, cache, tokens).argmax())

    return begin


def _llama(generator: Path, text: str, ids: Sequence[int], threads: int) -> Begin:
    """Its own defaults but for the threads; logits only of the last token that it is fed.

    Raises:
        Missing: it cannot read the model, or would be fed other tokens.
    """
    import llama_cpp

    model = llama_cpp.Llama(
        str(_gguf(generator)),
        n_ctx=1024,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )
    if model.tokenize(text.encode(), add_bos=False) != list(ids):
        raise Missing("it reads the text as other tokens, so that the work would differ")

    def feed(tokens: Sequence[int]) -> int:
        model.eval(tokens)
        row = llama_cpp.llama_get_logits_ith(model.ctx, -1)  # waits until it has computed
        return int(np.ctypeslib.as_array(row, shape=(model.n_vocab(),)).argmax())

    def begin() -> Feed:
        model.reset()  # type: ignore[no-untyped-call]
        return feed

    return begin


def _gguf(generator: Path) -> Path:
    files = [generator] if generator.is_file() else sorted(generator.glob("*.gguf"))
    if len(files) != 1:
        raise Missing(f"it reads one .gguf file; {generator} has {len(files)}")
    return files[0]


def _named(work: str, rows: Sequence[Row]) -> list[Row]:
    return [{**row, "name": f"{work}: {row['name']}"} for row in rows]
