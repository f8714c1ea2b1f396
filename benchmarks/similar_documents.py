"""Documents like a document: same topic, the same in another language, and how long it takes.

python -m benchmarks.similar_documents DATA [--cache DIR] [--documents 1500] [--speed]
"""

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.table import Row, Table, show
from encoder import Embedder
from index import Catalog, Collection, Model, NewDocument
from index.records import Chunk
from rag import Settings
from rag.centring import centre_of, centred
from rag.loaded import LoadedModels
from rag.reading import cut
from rag.records import ExtractedText
from rag.similar import Asked, find, scores_of
from rag.vector_cache import embedded

Rows = NDArray[np.float32]

_PAIRS = ("jhe-koen-dev", "jhe-koen-eval", "korean-english-park.dev", "korean-english-park.test")
_EACH = 720  # pairs of a file
_K = 10
_LARGE = 10_000  # documents
_CHUNKS = 4  # of each
_DIMENSIONS = 384
_ASKED = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="folder of public corpora")
    parser.add_argument("--cache", type=Path, help="keeps vectors")
    parser.add_argument("--documents", type=int, default=1500, help="of newsgroups20")
    parser.add_argument("--encoder", default="e5-small")
    parser.add_argument("--speed", action="store_true", help="nothing else")
    given = parser.parse_args()
    console = Console(width=140)
    show(Table("speed", "One document against many", tuple(speed())), console)
    if given.speed:
        return
    embedder = LoadedModels(Settings(threads=1)).embedder(given.encoder)
    pairs = tuple(translations(given.data, embedder, given.cache))
    show(Table("translations", "Korean and English sentences, acc@1", pairs), console)
    topics = tuple(same_topic(given.data, embedder, given.cache, given.documents))
    show(Table("topics", "newsgroups20, same group among the first ten", topics), console)


def same_topic(data: Path, embedder: Embedder, cache: Path | None, n: int) -> Iterator[Row]:
    """Of posts without their headers: the share of the ten nearest that are of the same group."""
    with gzip.open(data / "newsgroups20" / "test.jsonl.gz", "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    posts = Random(0).sample(posts, min(n, len(posts)))
    labels, encoded, owners = list[str](), list[str](), list[int]()
    for post in posts:
        text = post["text"].partition("\n\n")[2].strip()
        if text:
            parts = cut(ExtractedText(text, "a", "text/plain"), "a.txt", embedder).encoded
            encoded += parts
            owners += [len(labels)] * len(parts)
            labels.append(post["label"])
    rows, of = embedded(encoded, embedder, cache), np.asarray(owners, np.int64)
    groups = np.asarray(labels)
    for name, made in _prepared(rows):
        found = [
            float((groups[_nearest(made, of, own)] == groups[own]).mean())
            for own in range(len(labels))
        ]
        yield {
            "vectors": name,
            "documents": len(labels),
            "chunks": len(rows),
            "precision_at_10_pct": 100 * float(np.mean(found)),
        }
    firsts = np.stack([rows[of == own].mean(axis=0) for own in range(len(labels))])
    means = centred(firsts, firsts.mean(axis=0))
    cosines = means @ means.T
    np.fill_diagonal(cosines, -2)
    top = np.argsort(-cosines, axis=1)[:, :_K]
    yield {
        "vectors": "mean of each document, centred",
        "documents": len(labels),
        "chunks": len(rows),
        "precision_at_10_pct": 100 * float((groups[top] == groups[:, None]).mean()),
    }


def translations(data: Path, embedder: Embedder, cache: Path | None) -> Iterator[Row]:
    """Each sentence finds its translation among all of the other language, or does not."""
    folder = data / "ko_en_parallel"
    for name in _PAIRS:
        sides = [
            (folder / f"{name}.{language}").read_text(encoding="utf-8").split("\n")
            for language in ("ko", "en")
        ]
        whole = [pair for pair in zip(*sides, strict=True) if all(map(str.strip, pair))][:_EACH]
        korean, english = (embedded(side, embedder, cache) for side in zip(*whole, strict=True))
        middle = np.concatenate([korean, english]).mean(axis=0)
        for kind, left, right in (
            ("as they are", korean, english),
            ("centred", centred(korean, middle), centred(english, middle)),
            ("centred by language", _by_itself(korean), _by_itself(english)),
        ):
            cosines = left @ right.T
            own = np.arange(len(whole))
            yield {
                "pairs": f"{name} ({len(whole)})",
                "vectors": kind,
                "ko_to_en_pct": 100 * float((cosines.argmax(axis=1) == own).mean()),
                "en_to_ko_pct": 100 * float((cosines.argmax(axis=0) == own).mean()),
            }


def speed() -> Iterator[Row]:
    """A library of random vectors, asked as the product asks."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(200, _DIMENSIONS))
    with TemporaryDirectory() as folder, Catalog(Path(folder)) as catalog:
        model = Model("random", "0" * 64, _DIMENSIONS)
        collection = Collection.open(catalog, "default", model)
        for number in range(_LARGE):
            rows = _unit(topics[number % 200] + rng.normal(size=(_CHUNKS, _DIMENSIONS)))
            collection.add(_document(number), rows)
        collection.catch_up()
        asked_rows = [
            _unit(topics[i] + rng.normal(size=(_CHUNKS, _DIMENSIONS))) for i in range(_ASKED)
        ]
        everything = collection.vectors()
        centre = centre_of(catalog, "default")
        all_rows = centred(everything.rows, centre)
        took, worked, agreed = list[float](), list[float](), list[float]()
        for own in asked_rows:
            asked = Asked("asked", own, ())
            began, cpu = time.perf_counter(), time.process_time()
            found = find(asked, collection, catalog, k=_K)
            worked.append(1000 * (time.process_time() - cpu))
            took.append(1000 * (time.perf_counter() - began))
            exact = scores_of(centred(own, centre), all_rows, everything.documents)
            best = {key for key, _ in exact[:_K]}
            agreed.append(len(best & {match.document_id for match in found}) / _K)
        yield {
            "documents": _LARGE,
            "chunks": _LARGE * _CHUNKS,
            "asked": len(asked_rows),
            "ms_median": median(took[1:]),
            "ms_most": max(took[1:]),
            "ms_first": took[0],
            "cpu_ms_median": median(worked[1:]),
            "top_10_as_exact_pct": 100 * float(np.mean(agreed)),
        }


def _by_itself(rows: Rows) -> Rows:
    return centred(rows, rows.mean(axis=0))


def _prepared(rows: Rows) -> Sequence[tuple[str, Rows]]:
    return (("as they are", rows), ("centred", _by_itself(rows)))


def _nearest(rows: Rows, owners: NDArray[np.int64], own: int) -> list[int]:
    mine = owners == own
    found = scores_of(rows[mine], rows[~mine], owners[~mine])
    return [key for key, _ in found[:_K]]


def _document(number: int) -> NewDocument:
    chunks = tuple(Chunk(f"part {i}", 10 * i, 10 * i + 6, None, (), 3) for i in range(_CHUNKS))
    text = "    ".join(chunk.text for chunk in chunks)
    name = f"{number}.txt"
    return NewDocument(name, name, "text/plain", f"{number:064}", len(text), text, chunks)


def _unit(rows: NDArray[np.float64]) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()
