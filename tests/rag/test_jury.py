"""The generator as a judge: what questions find is graded by how well it explains them."""

import numpy as np
import pytest

from generator import Writer
from generator.likelihood import likelihoods
from rag import Assistant
from rag.jury import explained
from rag.knobs import fused_hits, vote_knob, weight_knob
from rag.practice import Found, Question, Shelf, passage
from tests.generator.builders import generator, loaded, tokenizer

QUESTIONS = tuple(
    Question(text, "asked")
    for text in ("How long does the warranty last?", "When does the workshop open?")
)


@pytest.fixture(scope="module")
def writer() -> Writer:
    return Writer(loaded(generator(max_tokens=512), tokenizer()))


@pytest.fixture
def shelved(library: Assistant) -> Shelf:
    opened = library.opened("default")
    return Shelf(opened, library.encoders.of("default"), 0.5)


def _found(shelf: Shelf) -> list[Found]:
    return shelf.find([each.text for each in QUESTIONS], shelf.embedder)


def test_the_same_lists_have_the_same_value(shelved: Shelf, writer: Writer) -> None:
    found = _found(shelved)
    before, after = explained(shelved, QUESTIONS, found, found, writer)
    for old, new in zip(before, after, strict=True):
        assert old.shape == (2,)
        assert (old == new).all()
        assert ((old >= 0) & (old <= 1)).all()


def test_grades_are_likelihoods_stretched_over_what_was_found(
    shelved: Shelf, writer: Writer
) -> None:
    found = _found(shelved)
    turned = shelved.again(found, np.stack([-each.vector for each in found]))
    (before, _), (after, _) = explained(shelved, QUESTIONS, found, turned, writer)
    first, last = found[0].dense.ids[:3].tolist(), turned[0].dense.ids[:3].tolist()
    fused = [*shelved.ranked(found[0], "fused")[:3], *shelved.ranked(turned[0], "fused")[:3]]
    read = sorted({*first, *last, *fused})
    texts = [passage(chunk) for chunk in shelved.collection.chunks(read)]
    scores = likelihoods(writer, QUESTIONS[0].text, texts)
    grades = (scores - scores.min()) / (scores.max() - scores.min())
    grade = dict(zip(read, grades.tolist(), strict=True))
    discounts = 1 / np.log2([2, 3, 4])
    ideal = np.sort(grades)[::-1][:3] @ discounts
    for value, ids in ((before, first), (after, last)):
        assert value[0] == pytest.approx([grade[key] for key in ids] @ discounts / ideal, abs=1e-3)


def test_few_judged_questions_turn_no_knob(shelved: Shelf, writer: Writer) -> None:
    found, rng = _found(shelved), np.random.default_rng(0)
    assert weight_knob(shelved, QUESTIONS, found, rng) is None
    assert vote_knob(shelved, QUESTIONS, found, writer, now=0.0, weight=0.5, rng=rng) is None


def test_a_vote_is_measured_on_judged_questions(shelved: Shelf, writer: Writer) -> None:
    (document,) = {shelved.document_of[key] for key in _found(shelved)[0].lexical.ids[:1].tolist()}
    judged = [Question(QUESTIONS[0].text, "given", {document: 1})] * 30
    found = _found(shelved)[:1] * 30
    knob = vote_knob(
        shelved, judged, found, writer, now=0.0, weight=0.5, rng=np.random.default_rng(0)
    )
    assert knob is not None
    assert knob.questions == 30
    assert (knob.after > 0) == knob.change.better


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_vote_is_taken_on_the_list_that_there_is_going_to_be(
    shelved: Shelf, weight: float
) -> None:
    (found, _) = _found(shelved)
    hits = fused_hits(shelved, found, weight)
    assert [hit.chunk.id for hit in hits] == shelved.ranked(found, "fused", weight)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert shelved.ranked(found, "fused", 0.0) != shelved.ranked(found, "fused", 1.0)
