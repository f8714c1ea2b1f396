"""What a library practises on: what judges is kept apart, and what is right is known."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from index.records import AskedQuestion
from rag import Assistant, Settings
from rag.loaded import ORIGIN
from rag.practice import Shelf, document_judges, from_log, judges
from rag.questions import Gathered, gather, given


@pytest.fixture
def shelved(library: Assistant) -> Shelf:
    return Shelf(library.opened("default"), library.encoders.of("default"), 0.5)


def _gathered(library: Assistant, shelved: Shelf) -> Gathered:
    return gather(
        library,
        "default",
        shelved,
        source="both",
        queries=None,
        writer=None,
        stop=lambda: False,
        rng=Random(0),
    )


def test_two_wordings_of_a_question_are_on_one_side() -> None:
    asked = [f"How long does part {number} of the warranty last?" for number in range(60)]
    again = [f"the warranty of part {number}: how long does it last" for number in range(60)]
    sides = [judges(text) for text in asked]
    assert sides == [judges(text) for text in again]
    assert 5 < sum(sides) < 28
    assert judges("who?") in (True, False)  # no content word is left of it


def test_of_two_passages_of_a_document_the_better_thumb_counts(shelved: Shelf) -> None:
    first, second = list(shelved.document_of)[:2]
    document = shelved.document_of[first]
    shelved.document_of[second] = document
    for up, opened in ((first, second), (second, first)):
        asked = AskedQuestion(
            text="q", language="en", asked_at="", times=1, up=(up,), opened=(up, opened), down=()
        )
        (question,) = from_log([asked], shelved)
        assert question.grades == {document: 2}


def test_every_passage_is_looked_at_where_that_is_asked(shelved: Shelf) -> None:
    texts = ["How long does the warranty last?"]
    (quick,) = shelved.find(texts, shelved.embedder)
    (exact,) = shelved.find(texts, shelved.embedder, shelved.vectors.rows)
    assert exact.dense.ids.tolist() == quick.dense.ids.tolist()
    assert exact.dense.scores == pytest.approx(quick.dense.scores, abs=1e-3)
    turned = shelved.find(texts, shelved.embedder, -shelved.vectors.rows)[0]
    assert turned.dense.ids.tolist() == exact.dense.ids.tolist()[::-1]


def test_what_the_encoder_does_not_speak_teaches_it_nothing(
    tmp_path: Path, encoder_folder: Path, shelf: Path
) -> None:
    english = tmp_path / "english"
    shutil.copytree(encoder_folder, english)
    (english / ORIGIN).write_text('{"base": "minilm"}', encoding="utf-8")
    found = {}
    for encoder in (encoder_folder, english):
        settings = Settings(home=tmp_path / "homes" / encoder.name, encoder=str(encoder), threads=1)
        with Assistant.open(settings) as attest:
            attest.add(shelf)
            for text in ("연차 휴가는 며칠인가요?", "How long does the warranty last?"):
                attest.catalog.remember("default", text)
            embedder = attest.encoders.of("default")
            found[encoder] = _texts(
                _gathered(attest, Shelf(attest.opened("default"), embedder, 0.5))
            )
    assert "휴가" in found[encoder_folder]
    assert "warranty" in found[english]
    assert "휴가" not in found[english]


def test_documents_are_known_by_their_names(
    library: Assistant, shelved: Shelf, tmp_path: Path
) -> None:
    twin = tmp_path / "a-twin.txt"  # sorts before the one that it repeats
    twin.write_bytes(Path(_path(library, "hours.txt")).read_bytes())
    library.add(twin)
    questions = {"whole": _path(library, "hours.txt"), "stem": "hours", "twin": "a-twin.txt"}
    for name, rows in (
        ("corpus", [{"_id": document, "text": "…"} for document in questions.values()]),
        ("queries", [{"_id": key, "text": f"When, {key}?"} for key in questions]),
    ):
        lines = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    qrels = "\n".join(f"{key}\t{document}\t1" for key, document in questions.items())
    (tmp_path / "qrels.tsv").write_text(qrels, encoding="utf-8")
    found = given(shelved, tmp_path, library.documents())
    hours = library.find("hours.txt").id
    assert [question.grades for question in found] == [{hours: 1}] * 3


def test_no_document_judges_and_teaches(library: Assistant, shelved: Shelf) -> None:
    gathered = _gathered(library, shelved)
    assert all(document_judges(d) for each in gathered.probes for d in each.grades)
    assert not any(document_judges(d) for each in gathered.learned for d in each.grades)


def _texts(gathered: Gathered) -> str:
    sides = (gathered.learned, gathered.judged, gathered.open, gathered.probes)
    return " ".join(question.text for side in sides for question in side)


def _path(library: Assistant, name: str) -> str:
    return library.find(name).path
