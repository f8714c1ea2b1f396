"""The measurement itself on a corpus whose right order is known."""

import json
import math
from pathlib import Path

import pytest

from benchmarks import beir, retrieval
from encoder import EncoderConfig
from encoder.checkpoint import save
from tests.builders import encoder_checkpoint

DOCUMENTS = {"d1": "lamp w1", "d2": "garden w4 w5", "d3": "river w7 w8 w9", "d4": ""}
QUERIES = {"q1": "lamp", "q5": "garden", "q9": "river"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    rows = [{"_id": key, "title": "", "text": text} for key, text in DOCUMENTS.items()]
    _write(folder / "corpus.jsonl", rows)
    _write(folder / "queries.jsonl", [{"_id": key, "text": text} for key, text in QUERIES.items()])
    judged = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq5\td2\t2\nq5\td3\t1\n"
    (folder / "qrels.tsv").write_text(judged, encoding="utf-8")
    return tmp_path / "data"


def _write(file: Path, rows: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_only_judged_queries_are_asked_and_grades_count(data: Path) -> None:
    task = beir.read(data / "tiny")
    assert list(task.queries) == ["q1", "q5"]
    # q1 is right; q5 has the better document at rank two. Gains are the grades, log2 discounts.
    found = 2 / math.log2(3) / (2 + 1 / math.log2(3))
    ranking = {"q1": {"d1": 1.0}, "q5": {"d1": 1.0, "d2": 0.5}}
    assert beir.ndcg(task, ranking) == pytest.approx(100 * (1 + found) / 2)


def test_the_products_ranking_is_measured(data: Path, tmp_path: Path) -> None:
    config = EncoderConfig(vocab_size=97, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=64)
    save(encoder_checkpoint(config), tmp_path / "encoder")

    def measured(tasks: list[str]) -> dict[str, object]:
        table = retrieval.measure(
            encoder=tmp_path / "encoder",
            name=str(tmp_path / "encoder"),
            data=data,
            tasks=tasks,
            cache=tmp_path / "cache",
        )
        return dict(table.rows[0])

    row = measured(["tiny"])
    assert (row["documents"], row["queries"]) == (4, 2)
    # By words each query finds exactly one document, the best one.
    best_only = 2 / (2 + 1 / math.log2(3))
    assert row["lexical"] == pytest.approx(100 * (1 + best_only) / 2)
    for side in ("cut", "dense", "fused"):
        figure = row[side]
        assert isinstance(figure, float)
        assert 0 < figure <= 100
    kept = {file: file.read_bytes() for file in (tmp_path / "cache").rglob("*.npy")}
    assert len(kept) >= 2  # vectors, and whose they are
    assert measured(["tiny"]) == row
    assert {file: file.read_bytes() for file in (tmp_path / "cache").rglob("*.npy")} == kept
    assert measured(["absent"])["missing"] == "no such data: name its folder with --data"
