"""A corpus as a library that was asked, and the curve that is drawn of it."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.lines import Line, drawn
from benchmarks.replay import NAME, replay
from rag.settings import Settings
from tests.builders import spelling_encoder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [{"_id": f"d{i}", "title": "", "text": f"passage number {i}"} for i in range(6)]
    questions = [{"_id": f"q{i}", "text": f"which is number {i}"} for i in range(6)]
    for name, lines in (("corpus.jsonl", rows), ("queries.jsonl", questions)):
        text = "\n".join(json.dumps(line) for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    qrels = "\n".join(f"q{i}\td{i}\t1" for i in range(6))
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_a_question_is_asked_or_judges_and_never_both(corpus: Path, tmp_path: Path) -> None:
    encoder = spelling_encoder(tmp_path / "tiny")
    settings = Settings(encoder=str(encoder), threads=1)
    with replay(corpus, settings, cache=None, seed=1) as library:
        judged = {each.text for each in library.judged}
        assert len(library.log) == len(judged) == 3
        assert not judged & set(library.log)
        library.ask(library.log)
        assert library.assistant.catalog.count_asked(NAME) == 3
        shelf = library.shelf()
        found = shelf.find([each.text for each in library.judged], shelf.embedder)
        dense, fused = library.values(shelf, found)
        assert dense.shape == fused.shape == (3,)
        assert fused.mean() > 50  # the number of each is a word of its own


def test_lines_are_drawn_and_named() -> None:
    line = Line("a < b", ((0.0, 60.0), (100.0, 65.0)))
    svg = drawn([line], across="asked", up="nDCG")
    assert svg.startswith("<svg")
    assert "a &lt; b" in svg
    assert svg.count("<circle") == 2
    with pytest.raises(ValueError, match="no line to draw"):
        drawn([], across="asked", up="nDCG")


def test_ticks_are_round_numbers_around_all_points() -> None:
    svg = drawn([Line("a", ((0.0, 66.4), (809.0, 94.1)))], across="asked", up="nDCG")
    shown = [float(each.replace(",", "")) for each in re.findall(r">([\d,]+)</text>", svg)]
    assert shown == [60, 70, 80, 90, 100, 0, 500, 1000]
