"""The measurement itself on a library of a few passages."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from benchmarks import corpus, scale
from benchmarks.curve import curve
from benchmarks.scale_library import made, source
from encoder import EncoderConfig
from encoder.checkpoint import save
from tests.builders import encoder_checkpoint

WORDS = 12  # of a passage


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "scifact"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(60, size=WORDS)) for _ in range(20)]
    texts += ["too short", "x" * 300 + " y" * WORDS, texts[0]]
    _write(folder / "corpus.jsonl", texts)
    _write(folder / "queries.jsonl", ["w1 w2", "w3 w4 w5", "w6"])
    return tmp_path / "data"


def _write(file: Path, texts: list[str]) -> None:
    rows = [{"_id": str(i), "title": "", "text": text} for i, text in enumerate(texts)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_passages_are_distinct_and_neither_short_nor_long(data: Path) -> None:
    found = corpus.short_passages(data)
    assert len(set(found)) == len(found) == 20
    assert {len(text.split()) for text in found} == {WORDS}
    assert corpus.short_passages(data) == found
    assert sorted(corpus.questions(data)) == ["w1 w2", "w3 w4 w5", "w6"]


def test_a_library_is_measured_and_kept(data: Path, tmp_path: Path) -> None:
    config = EncoderConfig(vocab_size=97, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=64)
    save(encoder_checkpoint(config), tmp_path / "encoder")

    cache = tmp_path / "cache"
    libraries, searches = scale.measure(
        encoder=tmp_path / "encoder", data=data, cache=cache, sizes=[50]
    )
    (library,) = libraries.rows
    assert library["recall"] == pytest.approx(1.0)  # exact at this size
    for figure in ("database_per_s", "dense_per_s", "lexical_per_s", "open_s", "database_gb"):
        value = library[figure]
        assert isinstance(value, float)
        assert value > 0
    kinds = ("dense, k=10", "dense, k=100", "dense, k=1000", "lexical, k=1000", "hybrid")
    assert [row["name"] for row in searches.rows] == [f"50 {kind}" for kind in kinds]
    assert all(isinstance(row["p50_ms"], float) and row["p50_ms"] > 0 for row in searches.rows)
    given = source(tmp_path / "encoder", data, cache, 50)
    (figures,) = cache.glob("scale-50-*/figures.json")
    before = figures.stat().st_mtime_ns
    assert made(given, 50, cache) == figures.parent
    assert figures.stat().st_mtime_ns == before


def test_without_data_it_says_so(tmp_path: Path) -> None:
    libraries, searches = scale.measure(encoder=tmp_path, data=None, cache=tmp_path, sizes=[50])
    assert "--data" in str(libraries.rows[0]["missing"])
    assert not searches.rows


def test_the_curve_has_a_line_for_each_search() -> None:
    rows: list[dict[str, object]] = [{"name": "10,000 chunks", "open_s": 0.1}]
    for n, ms in (("10,000", 1.0), ("1,000,000", 100.0)):
        rows += [{"name": f"{n} dense, k=1000", "p50_ms": ms}, {"name": f"{n} hybrid", "p50_ms": 5}]
    tree = ET.fromstring(curve({"rows": rows}))
    lines = tree.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    (x1, y1), (x2, y2) = (
        tuple(map(float, point.split(","))) for point in lines[0].attrib["points"].split()
    )
    assert (x1, x2) == (56, 450)
    assert y1 > y2  # slower is higher up
    with pytest.raises(ValueError, match="no search was measured"):
        curve({"rows": []})
