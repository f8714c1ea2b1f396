"""Clustering reports beside BERTopic: the same vectors, texts and measures, one run.

    python -m benchmarks.reports DATA [--encoder minilm] [--cache DIR] [--json OUT]

The documents are the test half of newsgroups20 without headers, whole: each one's vector is the
mean of its passages', as in a library. Each contender runs in a process of its own, so that its
memory is its own; the time is the processor's, since wall time tells of the neighbours as well.
"""

import argparse
import gzip
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.coherence import Topics, diversity, npmi
from benchmarks.processes import running
from benchmarks.table import Row, Table, as_json, show

_K = 20
_SEED = 0
_WORD = re.compile(r"(?u)\b\w\w+\b")
_CONTENDERS = ("attest", "bertopic")
_NOTES = (
    "npmi: pairs of each topic's first ten words, in windows of ten words of the texts without "
    "stop words; diversity: different words among those",
    "v_measure and ami, times 100, against the twenty newsgroups; what is in no group is one group",
    "cpu_s: words, grouping and topic words, without encoding and imports; BERTopic's begins with "
    "compiling, as each of its processes does; gb: the process at its highest, imports too",
    "bertopic: as it comes, with UMAP seeded and English stop words; k 20: k-means after UMAP, as "
    "its documentation has it",
)


@dataclass(frozen=True, slots=True)
class Posts:
    """Texts without headers, with the newsgroups that they were posted to."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a contender made of them."""

    groups: tuple[int, ...]  # of each text; -1 for none
    topics: Topics
    cpu_s: float
    wall_s: float


def read(data: Path) -> Posts:
    """The test half; posts that hold nothing but a header are left out."""
    from rag.loaders.cleaning import clean, is_blank

    with gzip.open(data / "newsgroups20" / "test.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = [(clean(row["text"].partition("\n\n")[2])[0], row["label"]) for row in rows]
    kept = [(text, label) for text, label in found if not is_blank(text)]
    return Posts(tuple(text for text, _ in kept), tuple(label for _, label in kept))


def vectors_of(texts: Sequence[str], encoder: Path, cache: Path | None) -> NDArray[np.float32]:
    """The mean of each text's passages, (n, d), at unit length."""
    from encoder import Embedder
    from rag.reading import cut
    from rag.records import ExtractedText
    from rag.vector_cache import embedded

    embedder = Embedder.load(encoder)
    parts = [cut(ExtractedText(text, "post", "text/plain"), "post.txt", embedder).encoded
             for text in texts]  # fmt: skip
    rows = embedded([text for part in parts for text in part], embedder, cache)
    ends = np.cumsum([len(part) for part in parts])
    means = np.stack([rows[end - len(part) : end].mean(axis=0)
                      for part, end in zip(parts, ends, strict=True)])  # fmt: skip
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def measure(
    *, data: Path, encoder: Path, cache: Path | None, contenders: Sequence[str] = _CONTENDERS
) -> Table:
    """Two rows a contender: twenty groups, and as many as it finds.

    Args:
        data: the folder with newsgroups20
        encoder: a checkpoint folder
        cache: keeps vectors between runs
        contenders: of attest and bertopic
    """
    posts = read(data)
    words = [_WORD.findall(text.lower()) for text in posts.texts]
    stops = _stop_words()
    reference = [[word for word in text if word not in stops] for text in words]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.npy"
        np.save(given, vectors_of(posts.texts, encoder, cache))
        for name in contenders:
            for k in (_K, 0):
                if name == "bertopic" and find_spec("bertopic") is None:
                    rows.append({"name": name, "missing": "pip install 'attest[bench]'"})
                    break
                found, gigabytes = _raced(name, k, data, given)
                rows.append(_row(name, k, found, gigabytes, posts, reference))
    return Table(
        "reports", f"Reports of {len(posts.texts)} posts, {encoder.name}", tuple(rows), _NOTES
    )


def _row(
    name: str, k: int, found: Found, gb: float, posts: Posts, reference: Sequence[Sequence[str]]
) -> Row:
    from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

    groups = np.array(found.groups)
    return {
        "name": f"{name}, {f'k {k}' if k else 'k free'}",
        "groups": len(set(groups[groups >= 0].tolist())),
        "left_out_pct": 100 * float((groups < 0).mean()),
        "npmi": npmi(found.topics, reference),
        "diversity": diversity(found.topics),
        "v_measure": 100 * float(v_measure_score(posts.labels, groups)),
        "ami": 100 * float(adjusted_mutual_info_score(posts.labels, groups)),
        "cpu_s": found.cpu_s,
        "wall_s": found.wall_s,
        "gb": gb,
    }


def _raced(name: str, k: int, data: Path, given: Path) -> tuple[Found, float]:
    told = given.with_name(f"{name}-{k}.json")
    arguments = [str(data), "--contender", name, "--k", str(k), "--vectors", str(given)]
    with running("benchmarks.reports", [*arguments, "--json", str(told)], {}) as program:
        program.finish()
        gigabytes = program.usage.peak_gb
    return Found(**json.loads(told.read_text(encoding="utf-8"))), gigabytes


def _contend(name: str, k: int, data: Path, given: Path) -> Found:
    texts = read(data).texts
    vectors: NDArray[np.float32] = np.load(given, allow_pickle=False)
    return (_attest if name == "attest" else _bertopic)(texts, vectors, k)


def _attest(texts: Sequence[str], vectors: NDArray[np.float32], k: int) -> Found:
    for needed in ("scipy.sparse", "sklearn.cluster", "sklearn.decomposition", "sklearn.metrics"):
        import_module(needed)  # before the clock starts, as BERTopic's are

    from rag.clusters import group
    from rag.topics import topic_words, words_of

    cpu, wall = time.process_time(), time.perf_counter()
    found = group(vectors, k=k or None, seed=_SEED)
    members = [found.members(c) for c in range(len(found.centres))]
    topics = topic_words([words_of(text) for text in texts], members)
    return Found(
        tuple(found.labels.tolist()),
        topics,
        time.process_time() - cpu,
        time.perf_counter() - wall,
    )


def _bertopic(texts: Sequence[str], vectors: NDArray[np.float32], k: int) -> Found:
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import CountVectorizer

    bertopic, umap = import_module("bertopic"), import_module("umap")
    parting: dict[str, Any] = {"hdbscan_model": KMeans(k, random_state=_SEED)} if k else {}
    cpu, wall = time.process_time(), time.perf_counter()
    model = bertopic.BERTopic(
        umap_model=umap.UMAP(
            n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=_SEED
        ),
        vectorizer_model=CountVectorizer(stop_words="english"),
        **parting,
    )
    groups, _ = model.fit_transform(list(texts), embeddings=vectors)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    topics = [
        [word for word, _ in words if word]
        for key, words in sorted(model.get_topics().items())
        if key >= 0
    ]
    return Found(tuple(map(int, groups)), topics, cpu, wall)


def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def main() -> None:
    from rag.models import locate
    from rag.settings import load_settings

    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports")
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", default="minilm", help="name or folder")
    parser.add_argument("--cache", type=Path, help="keep vectors here")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--contender", choices=_CONTENDERS, help="run this one alone")
    parser.add_argument("--k", type=int, default=_K, help="groups; 0: as many as there are")
    parser.add_argument("--vectors", type=Path, help="of the documents, for --contender")
    given = parser.parse_args()
    if given.contender and given.vectors and given.json:
        found = _contend(given.contender, given.k, given.data, given.vectors)
        body = {name: getattr(found, name) for name in Found.__slots__}
        given.json.write_text(json.dumps(body), encoding="utf-8")
        return
    encoder = locate(given.encoder, load_settings({}).models_dir)
    contenders = (given.contender,) if given.contender else _CONTENDERS
    table = measure(data=given.data, encoder=encoder, cache=given.cache, contenders=contenders)
    show(table, Console(width=None if sys.stdout.isatty() else 160))
    if given.json:
        text = json.dumps({table.name: as_json(table)}, indent=2)
        given.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
