"""What kept passages save, and what it costs that they are read alone.

first token   system's words, three passages of about 200 tokens, a question: everything read
              anew, and from kept passages; llama.cpp reads everything anew too
ranking       one question behind 8 and 20 passages, all of them new, and all of them kept
quality       mean log p of what should be answered, in full attention and from kept passages
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.generation import _llama
from benchmarks.passages import library_texts
from benchmarks.rounds import Spread, Timed, alternate, present, timed, times_as_fast
from benchmarks.table import Cell, Row, Table
from generator import Writer
from generator.blocks import Block, Frame, PassageCaches
from generator.decoding import advance
from generator.kept import PASSAGE_BYTES, Kept
from generator.likelihood import likelihoods_behind
from rag import prompts
from rag.metrics import paired

_QUESTION = "How long does the warranty of the garden lamp last, and from when?"
_PASSAGE = 200  # tokens
_TARGETS = {"cold": 4.0, "llama.cpp": 8.0}
_ASKED = 100  # questions of the quality
_SHORT = 8  # words of a short answer at most
_WINDOW = 800  # characters of a passage, about 200 tokens


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with three passages and what should be answered."""

    question: str
    passages: tuple[str, ...]
    quote: str  # the sentence that holds the answer
    answer: str


def measure(*, generator: Path, data: Path | None, rounds: int, threads: int) -> Iterator[Table]:
    """Time to the first token, ranking, and quality where there is covid_qa.

    Args:
        generator: a .gguf file or its folder
        data: folder of public corpora
        rounds: that count
        threads: of each contender
    """
    torch.set_num_threads(threads)
    writer = Writer.load(generator)
    yield first_token(writer, generator, rounds=rounds, threads=threads)
    yield ranking(writer, rounds=rounds, threads=threads)
    if data is not None and (data / "covid_qa").is_dir():
        yield quality(writer, questions(data / "covid_qa", _ASKED))


def first_token(writer: Writer, generator: Path, *, rounds: int, threads: int) -> Table:
    """Time to the first token behind three passages."""
    caches = new_caches(writer)
    passages = texts(writer, 3, _PASSAGE)
    asked = caches.question(_QUESTION)
    prompt = [*caches.frame.head, *chain(*(caches.passage(p)[0] for p in passages)), *asked]

    def cold() -> None:
        advance(writer.model, writer.model.new_cache(len(prompt)), prompt).argmax().item()

    def hot() -> None:
        cache = caches.assemble(passages, len(asked))
        advance(writer.model, cache, asked).argmax().item()

    def llama() -> Timed:
        text = writer.tokenizer.decode(prompt)
        ids = writer.tokenizer.encode(text)
        begin = _llama(generator, text, ids, threads)
        return timed(lambda: begin()(ids))

    hot()  # the passages are kept from here on
    peers, absent = present({"llama.cpp": llama})
    seconds = alternate({"hot": timed(hot), "cold": timed(cold), **peers}, rounds)
    rows = [_row(name, taken, seconds["hot"]) for name, taken in seconds.items()]
    rows += [{"name": name, "missing": why} for name, why in absent.items()]
    title = f"First token behind {len(prompt)} tokens, {threads} threads"
    return Table("first_token", title, tuple(rows), (_memory(caches),))


def ranking(writer: Writer, *, rounds: int, threads: int) -> Table:
    """Time of the votes of one question, from passages that are all new or all kept."""
    rows: list[Row] = []
    for k, tokens in ((8, 120), (8, 200), (20, 120), (20, 200)):
        caches, passages = new_caches(writer), texts(writer, k, tokens)

        def hot(caches: PassageCaches = caches, passages: Sequence[str] = passages) -> None:
            likelihoods_behind(caches, _QUESTION, passages)

        def cold(passages: Sequence[str] = passages) -> None:
            likelihoods_behind(new_caches(writer), _QUESTION, passages)

        hot()
        seconds = alternate({"hot": timed(hot), "cold": timed(cold)}, rounds)
        rows += [
            _row(f"top {k}, {tokens} tokens each: {name}", taken, seconds["hot"])
            for name, taken in seconds.items()
        ]
    asked = len(writer.tokenizer.encode(f" {_QUESTION}"))
    title = f"Votes of a question of {asked} tokens, {threads} threads"
    return Table("kept_ranking", title, tuple(rows))


def quality(writer: Writer, asked: Sequence[Asked]) -> Table:
    """Mean log p of a token of what should be answered, by full attention and by kept passages."""
    caches = new_caches(writer)
    rows: list[Row] = []
    for kind in ("quote", "answer"):
        some = [each for each in asked if kind == "quote" or _is_short(each.answer)]
        values = np.array([_both(caches, each, getattr(each, kind)) for each in some])
        change = paired(values[:, 0], values[:, 1], rng=np.random.default_rng(0))
        rows.append(
            {
                "name": kind,
                "questions": len(some),
                "full": float(values[:, 0].mean()),
                "kept": float(values[:, 1].mean()),
                "difference": change.mean,
                "low": change.low,
                "high": change.high,
            }
        )
    notes = ("nats a token; difference: mean of the paired ones, its 95 % bootstrap interval",)
    return Table("kept_quality", "Answers behind three passages", tuple(rows), notes)


def questions(folder: Path, most: int) -> list[Asked]:
    """Of covid_qa: the passage around an answer, and two others of its paper, in random order."""
    (file,) = folder.glob("*.json")
    papers = json.loads(file.read_text(encoding="utf-8"))["data"]
    asked = list(chain(*map(_of_paper, papers)))
    order = np.random.default_rng(0).permutation(len(asked))[:most]
    return [asked[i] for i in order]


def _of_paper(paper: dict[str, Any]) -> Iterator[Asked]:
    for paragraph in paper["paragraphs"]:
        text = paragraph["context"]
        for each in paragraph["qas"]:
            answer = each["answers"][0]["text"].strip()
            at = text.find(answer)  # some of the stored places are wrong
            made = None if at < 0 else _around(text, at, answer)
            if made is not None:
                rng = np.random.default_rng(at)
                passages = [made[0], *(text[s : s + _WINDOW] for s in made[2])]
                order = rng.permutation(len(passages))
                shuffled = tuple(passages[i].strip() for i in order)
                yield Asked(each["question"], shuffled, made[1], answer)


def _around(text: str, at: int, answer: str) -> tuple[str, str, tuple[int, int]] | None:
    """The passage and the sentence of an answer, and where two other passages begin."""
    begin = max(text.rfind(mark, 0, at) for mark in (". ", "\n")) + 1
    ends = [end for mark in (". ", "\n") if (end := text.find(mark, at + len(answer) - 1)) >= 0]
    end = min(ends, default=len(text) - 1) + 1
    start = max(0, (begin + end - _WINDOW) // 2)
    others = [s for s in range(0, len(text) - _WINDOW, _WINDOW) if abs(s - start) >= _WINDOW]
    if end - begin > _WINDOW or len(others) < 2:
        return None
    first, second = np.random.default_rng(at + 1).choice(others, 2, replace=False).tolist()
    return text[start : start + _WINDOW], text[begin:end].strip(), (first, second)


def _is_short(answer: str) -> bool:
    return len(answer.split()) <= _SHORT


@torch.inference_mode()
def _both(caches: PassageCaches, asked: Asked, answer: str) -> tuple[float, float]:
    model, before = caches.model, caches.question(asked.question)
    target = caches.tokenizer.encode(answer)
    passages = list(chain(*(caches.passage(text)[0] for text in asked.passages)))
    following = [*before, *target]
    whole = model.hidden(torch.tensor([[*caches.frame.head, *passages, *following]]))
    cache = caches.assemble(asked.passages, len(following))
    alone = model.hidden(torch.tensor([following]), cache)
    full, kept = (_mean(caches, x[0, -len(target) - 1 : -1], target) for x in (whole, alone))
    return full, kept


def _mean(caches: PassageCaches, vectors: torch.Tensor, target: Sequence[int]) -> float:
    scores = caches.model.logits(vectors[None])[0].log_softmax(-1)
    return float(scores[range(len(target)), list(target)].mean())


def new_caches(writer: Writer) -> PassageCaches:
    """Of their own: nothing is kept yet."""
    kept: Kept[Block] = Kept(PASSAGE_BYTES)
    frame = Frame.of_chat(writer, prompts.system(writer))
    return PassageCaches(writer.model, writer.tokenizer, writer.fingerprint, frame, kept)


def texts(writer: Writer, count: int, tokens: int) -> list[str]:
    """Stretches of the sample library of so many tokens."""
    ids = writer.tokenizer.encode("\n\n".join(library_texts()))
    while len(ids) < count * tokens:
        ids += ids[7:]
    return [writer.tokenizer.decode(ids[i * tokens : (i + 1) * tokens]) for i in range(count)]


def _row(name: str, taken: Sequence[float], hot: Sequence[float]) -> Row:
    row: dict[str, Cell] = {"name": name, "ms": Spread.of(1000 * s for s in taken)}
    if taken is not hot:
        row["hot_times_as_fast"] = times_as_fast(hot, taken)
        row["target"] = _TARGETS.get(name)
    return row


def _memory(caches: PassageCaches) -> str:
    kept = caches.kept
    size, most = kept.nbytes / 2**20, PASSAGE_BYTES >> 20
    return f"kept: {len(kept)} entries of {size:.1f} MiB, {most} at most"
