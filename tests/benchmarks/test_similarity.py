"""The measurement on a few graded pairs, and the real figure of what is not trained."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import baselines, similarity
from benchmarks.passages import SAMPLES
from encoder import EncoderConfig
from encoder.checkpoint import save
from tests.builders import encoder_checkpoint

PUBLIC = SAMPLES.parent.parent / "shared" / "data"
PAIRS = [("lamp w1", "lamp w1", 5.0), ('w4, "w5"', "w4 w6", 3.0), ("w7", "river", 0.0)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "stsb_en").mkdir()
    (tmp_path / "korsts").mkdir()
    quoted = [[left.replace('"', '""'), right.replace('"', '""')] for left, right, _ in PAIRS]
    csv = "".join(
        f'"{left}","{right}",{grade}\n'
        for (left, right), (_, _, grade) in zip(quoted, PAIRS, strict=True)
    )
    tsv = "genre\tfile\tyear\tid\tscore\tsentence1\tsentence2\n" + "".join(
        f"g\tf\ty\ti\t{grade}\t{left}\t{right}\n" for left, right, grade in PAIRS
    )
    for split in ("dev", "test"):
        (tmp_path / "stsb_en" / f"stsb-en-{split}.csv").write_text(csv, encoding="utf-8")
        (tmp_path / "korsts" / f"sts-{split}.tsv").write_text(tsv, encoding="utf-8")
    return tmp_path


def _write_scifact(folder: Path) -> None:
    folder.mkdir()
    documents = [
        {"_id": "1", "title": "w2", "text": "w1"},
        {"_id": "2", "title": "", "text": "w4 w6"},
    ]
    rows = {"corpus": documents, "queries": [{"_id": "q", "text": "w6"}]}
    for name, lines in rows.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    judged = "query-id\tcorpus-id\tscore\nq\t2\t1\n"
    (folder / "qrels.tsv").write_text(judged, encoding="utf-8")


@pytest.mark.parametrize("name", similarity.NAMES)
def test_both_layouts_are_read(data: Path, name: similarity.Name) -> None:
    task = similarity.read(data, name, "dev")
    assert task.left == ("lamp w1", 'w4, "w5"', "w7")
    assert task.right == ("lamp w1", "w4 w6", "river")
    assert task.grades == (5.0, 3.0, 0.0)


def test_the_order_of_cosines_is_what_counts(data: Path) -> None:
    task = similarity.read(data, "stsb", "test")
    assert similarity.spearman(task, lambda *_: np.array([0.3, 0.2, 0.1])) == pytest.approx(100)
    assert similarity.spearman(task, lambda *_: np.array([0.1, 0.2, 0.3])) == pytest.approx(-100)


def test_systems_stand_side_by_side_and_test_sentences_are_passed_over(
    data: Path, tmp_path: Path
) -> None:
    config = EncoderConfig(vocab_size=97, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=64)
    save(encoder_checkpoint(config), tmp_path / "encoder")
    texts = tmp_path / "texts.txt"
    lines = ["w1 w2 lamp w3", "w4 w5 w6 river", "w1 w3 w5 river", *["lamp w1"] * 9] * 3
    texts.write_text("\n".join(lines), encoding="utf-8")
    assert "lamp w1" in similarity.held_sentences(data, similarity.NAMES)
    _write_scifact(data / "scifact")
    table = similarity.measure(encoders=[tmp_path / "encoder"], data=data, texts=texts)
    names = [row["name"] for row in table.rows]
    expected = ["static, mean (texts.txt)", "static, weighted (texts.txt)", "encoder"]
    assert names == ["character n-grams", *expected]
    for row in table.rows:
        assert row["stsb"] == row["korsts"]
        assert isinstance(row["stsb"], float)
        assert -100 <= row["stsb"] <= 100
    assert table.rows[0]["stsb"] == pytest.approx(100)
    assert [row.get("scifact_ndcg") for row in table.rows] == [None, 100, 100, None]
    assert similarity.measure(encoders=[], data=None).rows[0]["missing"]


def test_static_vectors_do_not_read_what_judges_them(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("w1 w2 w3 w4\nw1 w5 w6\n" * 9, encoding="utf-8")
    assert {"w1", "w5"} <= similarity._static(texts, frozenset()).rows.keys()
    kept = similarity._static(texts, frozenset(["w1 w5 w6"])).rows.keys()
    assert {"w1", "w5"} & kept == {"w1"}


@pytest.mark.skipif(not (PUBLIC / "stsb_en").is_dir(), reason="no public data beside the project")
def test_character_n_grams_are_strong() -> None:
    found = {
        name: similarity.spearman(
            similarity.read(PUBLIC, name, "test"), baselines.character_cosines
        )
        for name in similarity.NAMES
    }
    assert found["stsb"] == pytest.approx(69.7, abs=0.6)
    assert found["korsts"] == pytest.approx(66.0, abs=0.6)
