"""Free prose: does a cheap score name the passage whose loss a sentence feels most?"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.attention_mass import attention_masses
from benchmarks.table import Row, Table
from generator.attribute import Reading, grouped, read
from generator.blocks import PassageCaches
from index.analysis import content_words
from rag import quoting
from rag.sentences import sentences

_MOST = 4  # passages of a question
_LEAST_WORDS = 6  # of a sentence
_LONGEST = 300  # characters of a sentence
_EACH = 3  # sentences of an answer
_FOLDS = 5
_STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
_FELT = 0.1  # nats a token: below it, no passage is felt


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A sentence and its passages, scored in every way."""

    question: int
    drops: NDArray[np.float64]  # (n,)
    masses: NDArray[np.float64]  # (n, n_layers * h), less their mean over the passages
    mean: NDArray[np.float64]  # (n,) of all heads
    overlap: NDArray[np.float64]
    retrieved: NDArray[np.float64]


def prose(caches: PassageCaches, folder: Path, count: int, encoder: Path | None) -> Table:
    """Top-1 agreement with leaving out, of attention and of what costs nothing."""
    scored = list(_scored(caches, folder, count, encoder))
    ridge = _ridge(scored)
    felt = [i for i, each in enumerate(scored) if each.drops.max() > _FELT]
    ways = {
        "ridge on heads": ridge,
        "mean attention": [each.mean for each in scored],
        "word overlap": [each.overlap for each in scored],
        "retriever score": [each.retrieved for each in scored],
        "chance": None,
    }
    rows = [_row(name, values, scored, felt) for name, values in ways.items()]
    notes = (
        f"{len(scored)} sentences with {_mean([len(each.drops) for each in scored]):.1f} passages; "
        f"felt: {len(felt)} that fall by more than {_FELT:g} nats a token without one",
        f"ridge: {_FOLDS} folds by question; its strength chosen within the folds it learns from",
    )
    return Table("certificates_prose", "Top-1 agreement with leave-one-out", tuple(rows), notes)


def _row(
    name: str,
    values: Sequence[NDArray[np.float64]] | None,
    scored: Sequence[Scored],
    felt: Sequence[int],
) -> Row:
    if values is None:
        hits = np.array([1 / len(each.drops) for each in scored])
    else:
        pairs = zip(values, scored, strict=True)
        hits = np.array([float(one.argmax() == each.drops.argmax()) for one, each in pairs])
    half = 196 * hits.std() / np.sqrt(len(hits))
    return {
        "name": name,
        "all_pct": 100 * float(hits.mean()),
        "plus_minus": float(half),
        "felt_pct": 100 * float(hits[list(felt)].mean()) if felt else None,
    }


def _scored(
    caches: PassageCaches, folder: Path, count: int, encoder: Path | None
) -> Iterator[Scored]:
    from encoder import Embedder

    embedder = None if encoder is None else Embedder.load(encoder)
    done = 0
    for number, (question, passages, said) in enumerate(_asked(folder)):
        sources = [quoting.passage(i, "", text) for i, text in enumerate(passages, start=1)]
        near: NDArray[np.floating] = np.zeros((len(said), len(passages)))
        if embedder is not None:
            near = embedder.embed_queries(said) @ embedder.embed_documents(passages).T
        for sentence, retrieved in zip(said, near, strict=True):
            ids = tuple(caches.tokenizer.encode(sentence))
            masses = attention_masses(caches, question, sources, ids).astype(np.float64)
            own = set(content_words(sentence))
            yield Scored(
                number,
                _drops(caches, question, sources, ids),
                masses - masses.mean(0),
                masses.mean(1),
                np.array([len(own & set(content_words(text))) / len(own) for text in passages]),
                np.asarray(retrieved, np.float64),
            )
            done += 1
            if done == count:
                return


def _drops(
    caches: PassageCaches, question: str, sources: Sequence[str], ids: tuple[int, ...]
) -> NDArray[np.float64]:
    without = [tuple(s for s in sources if s is not source) for source in sources]
    readings = [Reading(some, ids) for some in (tuple(sources), *without)]
    whole, *rest = (float(each.scores.mean()) for each in read(caches, question, readings))
    return whole - np.array(rest)


def _asked(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Question, relevant passages that say different things, sentences of the written answer."""
    texts = {row["_id"]: row["text"] for row in _rows(folder / "corpus.jsonl")}
    answers = {row["_id"]: row["answers"][0] for row in _rows(folder / "answers.jsonl")}
    relevant: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, _ = line.split("\t")
        relevant.setdefault(question, []).append(" ".join(texts[document].split()))
    for row in _rows(folder / "queries.jsonl"):
        own = relevant.get(row["_id"], [])
        passages = [own[group[0]] for group in grouped(own)][:_MOST]
        answer = " ".join(answers[row["_id"]].split())
        said = [answer[start:end] for start, end in sentences(answer)]
        said = [s for s in said if len(s.split()) >= _LEAST_WORDS and len(s) <= _LONGEST]
        said = [s for s in said if content_words(s)][:_EACH]
        if len(passages) > 1 and said:
            yield row["text"], passages, said


def _rows(file: Path) -> Iterator[dict[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _ridge(scored: Sequence[Scored]) -> list[NDArray[np.float64]]:
    """Predicted drops of each sentence, by a fit to the sentences of other questions."""
    fold = [each.question % _FOLDS for each in scored]
    found: list[NDArray[np.float64]] = [np.empty(0)] * len(scored)
    for left_out in range(_FOLDS):
        inside = [each for each, own in zip(scored, fold, strict=True) if own != left_out]
        weights = _fit(inside, _strength(inside))
        for i, each in enumerate(scored):
            if fold[i] == left_out:
                found[i] = each.masses @ weights
    return found


def _strength(scored: Sequence[Scored]) -> float:
    """The one that agrees best on every fourth question, learned from the others."""
    ours = [each for each in scored if each.question % 4]
    rest = [each for each in scored if not each.question % 4]

    def agreement(strength: float) -> float:
        weights = _fit(ours, strength)
        hits = [(each.masses @ weights).argmax() == each.drops.argmax() for each in rest]
        return _mean([float(hit) for hit in hits])

    return max(_STRENGTHS, key=agreement)


def _fit(scored: Sequence[Scored], strength: float) -> NDArray[np.float64]:
    """Weights of heads; masses count in units of their own spread."""
    from sklearn.linear_model import Ridge

    masses = np.concatenate([each.masses for each in scored])
    drops = np.concatenate([each.drops - each.drops.mean() for each in scored])
    spread = masses.std(0) + 1e-9
    fitted = Ridge(alpha=strength, fit_intercept=False).fit(masses / spread, drops)
    return np.asarray(fitted.coef_ / spread, np.float64)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
