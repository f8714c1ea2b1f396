"""The report of an adaptation: JSON that can be stored, text, and a page that escapes."""

import json
from dataclasses import replace
from pathlib import Path

from rag.adaptation_report import record, text, write_page
from rag.drift import Drift
from rag.gate import Evidence
from rag.knobs import Knob
from rag.metrics import Difference
from rag.outcome import Adaptation, Example

GAIN = Difference(mean=3.04, low=1.0, high=5.0, p=0.01)
MADE = Adaptation(
    collection="<default>",
    encoder="e5-small",
    kind="query",
    accepted=True,
    reason="better with confidence",
    adapter="0123456789abcdef",
    learned={"asked": 40, "words": 2},
    evidence=(Evidence("judged", 50, 60.0, GAIN, 70.0, GAIN),),
    drift=Drift(0.98, 0.97, 0.5, 0.5),
    coherence=0.98,
    weight=Knob(0.5, 0.6, GAIN, 50),
    vote=None,
    better=(Example("<script>alert(1)</script> 연차?", "before", "after", 40.0),),
    worse=(),
    timings_s={"learn": 1.5},
)


def test_json_is_flat_named_and_can_be_stored() -> None:
    shape = json.loads(json.dumps(record(MADE)))
    assert set(shape) == {
        "collection",
        "encoder",
        "kind",
        "accepted",
        "reason",
        "adapter",
        "learned_from",
        "evidence",
        "drift",
        "coherence",
        "fusion_weight",
        "rerank_weight",
        "better",
        "worse",
        "notes",
        "timings_s",
    }
    assert shape["evidence"][0]["dense_change"]["low"] == 1.0
    assert shape["rerank_weight"] is None


def test_text_begins_with_the_verdict() -> None:
    shown = text(MADE).splitlines()
    assert shown[0] == "The library has learned: better with confidence."
    assert "42 questions: 40 asked, 2 made of key words" in shown[1]
    assert "by meaning 60.0 +3.0 [+1.0, +5.0]" in shown[2]
    kept = replace(MADE, accepted=False, reason="not better")
    assert text(kept).startswith("The library answers as before: not better.")


def test_the_page_escapes_and_brings_its_own_script(tmp_path: Path) -> None:
    write_page(MADE, tmp_path / "deep" / "report.html")
    page = (tmp_path / "deep" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; 연차?" in page
    assert "&lt;default&gt;" in page
    assert 'src="http' not in page
    assert "나아졌음이 확인되어" in page


def test_a_page_without_evidence_can_be_written(tmp_path: Path) -> None:
    write_page(replace(MADE, evidence=(), accepted=False), tmp_path / "report.html")
    assert "이전 상태를" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_reference_names_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/json.md").read_text(encoding="utf-8")
    section = page.split("\n## adapt\n")[1].split("\n## ")[0]
    shape = record(MADE)
    names = {*shape, *shape["evidence"][0], *shape["drift"], *shape["better"][0]}
    names |= {*shape["evidence"][0]["dense_change"], *shape["fusion_weight"]}
    assert {name for name in names if f'"{name}"' not in section} == set()
