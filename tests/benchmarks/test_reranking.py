"""The measurement on a corpus where it is known which vote helps, and its cache."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import reranking
from benchmarks.likelihoods import kept_votes
from encoder import Embedder, EncoderConfig
from encoder.checkpoint import save
from generator import Writer, checkpoint
from generator.blocks import caches_of
from generator.likelihood import likelihoods_behind
from rag.judged import read_corpus
from rag.prompts import SYSTEM
from rag.records import Hit
from rag.rerank import passage
from rag.retrieve import retrieve
from rag.trial import library_of
from tests.builders import encoder_checkpoint
from tests.generator.builders import generator, loaded, tokenizer

pytest.importorskip("ir_measures", reason="ir-measures is in the bench extra")

DOCUMENTS = {"d1": "lamp w1 w2", "d2": "garden w4 w5", "d3": "river lamp w7", "d4": "w9 garden w8"}
QUERIES = {"q1": "lamp w7", "q2": "garden", "q3": "river"}
RELEVANT = {"q1": "d1", "q2": "d2", "q3": "d3"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    rows = [{"_id": key, "title": "", "text": text} for key, text in DOCUMENTS.items()]
    _write(folder / "corpus.jsonl", rows)
    _write(folder / "queries.jsonl", [{"_id": key, "text": text} for key, text in QUERIES.items()])
    judged = "".join(f"{query}\t{document}\t1\n" for query, document in RELEVANT.items())
    (folder / "qrels.tsv").write_text(judged, encoding="utf-8")
    return tmp_path / "data"


def _write(file: Path, rows: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_task_is_measured_and_a_second_run_computes_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = EncoderConfig(vocab_size=97, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=64)
    save(encoder_checkpoint(config), tmp_path / "encoder")
    checkpoint.save(loaded(generator(max_tokens=512), tokenizer()), tmp_path / "generator")

    def measured(most: int) -> dict[str, object]:
        table = reranking.measure(
            encoder=tmp_path / "encoder",
            name=str(tmp_path / "encoder"),
            generator=tmp_path / "generator",
            data=data,
            tasks=["tiny", "none"],
            cache=tmp_path / "cache",
            most=most,
        )
        assert table.rows[1]["missing"] == "no such data: name its folder with --data"
        return dict(table.rows[0])

    row = measured(10)
    assert (row["name"], row["queries"]) == ("tiny", 3)
    assert {"fused", "reranked", "difference", "low", "high", "p"} <= set(row)
    assert measured(2)["queries"] == 2
    monkeypatch.setattr("benchmarks.likelihoods.votes", None)  # would fail if asked
    assert measured(10) == row


def _found(data: Path, folder: Path, query: str) -> tuple[Hit, ...]:
    config = EncoderConfig(vocab_size=97, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=64)
    save(encoder_checkpoint(config), folder / "encoder")
    corpus, embedder = read_corpus(data / "tiny"), Embedder.load(folder / "encoder")
    with library_of(corpus.documents, embedder, "tiny", cache=None) as trial:
        return retrieve(query, collection=trial.collection, embedder=embedder, k=4).hits


def test_a_vote_for_the_right_document_is_a_gain(data: Path, tmp_path: Path) -> None:
    corpus, found = read_corpus(data / "tiny"), _found(data, tmp_path, "w1")
    assert len(found) == 4
    even = [replace(hit, score=1 - 0.01 * place) for place, hit in enumerate(found)]
    hits = dict.fromkeys(QUERIES, even)
    votes = {
        key: np.array([hit.chunk.document.path == RELEVANT[key] for hit in even], np.float32)
        for key in QUERIES
    }

    row = reranking.compared(corpus, hits, votes)

    assert row["reranked"] == 100
    assert row["difference"] == pytest.approx(100 - float(str(row["fused"])))
    assert row["worse"] == 0
    first = found[0].chunk.document.path
    assert row["better"] == sum(document != first for document in RELEVANT.values())
    against = {key: -vote for key, vote in votes.items()}
    assert float(str(reranking.compared(corpus, hits, against)["difference"])) < 0


def test_a_stopped_run_goes_on_from_its_file(data: Path, tmp_path: Path) -> None:
    writer = Writer(loaded(generator(max_tokens=512), tokenizer()))
    hits = _found(data, tmp_path, "w1")
    asked = [("Who?", hits[:3]), ("Why?", hits[1:]), ("Why?", ())]
    caches, cache = caches_of(writer, SYSTEM), tmp_path / "cache"
    expected = [likelihoods_behind(caches, q, [passage(hit) for hit in some]) for q, some in asked]

    (first,) = kept_votes(writer, asked[:1], cache)
    assert first.tolist() == pytest.approx(expected[0].tolist(), abs=1e-5)
    (file,) = cache.iterdir()
    with file.open("a", encoding="utf-8") as lines:
        lines.write('{"half a li')  # a stop in the middle of a write
    for folder in (cache, cache, None):
        for found, votes in zip(kept_votes(writer, asked, folder), expected, strict=True):
            np.testing.assert_allclose(found, votes, atol=1e-5)
