"""What the encoders from nothing are trained on: all of it, and no sentence that judges them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.nothing import Language, run


def _written(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Each of two languages with one sentence that is learned from and judged on."""
    data = tmp_path / "data"
    for split, rows in (("train", "learned,judged,3"), ("dev", "a,b,4"), ("test", "judged,c,1")):
        _written(data / "stsb_en" / f"stsb-en-{split}.csv", rows)
    _written(data / "lm_text" / "en_wiki.txt", "Tea. A drink.", "No title here")
    documents = [json.dumps({"_id": "1", "title": "Green", "text": "leaves"})]
    _written(data / "scifact" / "corpus.jsonl", *documents)
    _written(data / "scifact" / "queries.jsonl", '{"_id": "q", "text": "asked"}')
    _written(data / "scifact" / "qrels.tsv", "query-id\tcorpus-id\tscore", "q\t1\t1")
    _written(data / "squad_nqg" / "tgt-test.txt", "what is it ?")
    _written(data / "squad_nqg" / "src-test.txt", "it is tea .")
    for split, rows in (("dev", "4\t가\t나"), ("test", "1\t차\t잔")):
        _written(data / "korsts" / f"sts-{split}.tsv", "head", f"g\tf\ty\ti\t{rows}")
    klue = [{"premise": "물", "hypothesis": "불"}]
    _written(data / "klue" / "klue-nli-v1.1_dev.json", json.dumps(klue))
    _written(data / "lm_text" / "ko_sentences.txt", "배운 문장", "차", "물")
    (data / "nsmc").mkdir()
    reviews = "".join(json.dumps({"text": text}) + "\n" for text in ("재미있다", "불", " "))
    (data / "nsmc" / "reviews.jsonl.gz").write_bytes(gzip.compress(reviews.encode()))
    return data


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_english_is_laid_out_without_what_judges_it(data: Path, tmp_path: Path) -> None:
    run(Language.en, data, tmp_path / "out")
    assert _rows(tmp_path / "out" / "texts.jsonl") == [
        {"title": "Tea", "text": "A drink."},
        {"text": "No title here"},
        {"title": "Green", "text": "leaves"},
        {"text": "learned"},
    ]
    assert _rows(tmp_path / "out" / "pairs.jsonl") == [
        {"query": "what is it ?", "positive": "it is tea ."}
    ]
    assert _rows(tmp_path / "out" / "judged.jsonl") == [{"left": "a", "right": "b", "grade": 4}]


def test_korean_is_laid_out_without_what_judges_it(data: Path, tmp_path: Path) -> None:
    run(Language.ko, data, tmp_path / "out")
    assert _rows(tmp_path / "out" / "texts.jsonl") == [{"text": "배운 문장"}, {"text": "재미있다"}]
    assert not (tmp_path / "out" / "pairs.jsonl").exists()
    assert _rows(tmp_path / "out" / "judged.jsonl") == [{"left": "가", "right": "나", "grade": 4}]
