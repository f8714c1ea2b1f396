"""Public data as examples: the sizes of their splits, and that nothing gives a label away."""

from pathlib import Path

import pytest

from benchmarks import labelled_data, questioned_data

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not on this machine")


@needs_data
def test_question_types_come_without_their_fine_label() -> None:
    found = labelled_data.trec(DATA)
    assert (len(found.train), len(found.test)) == (5452, 500)
    assert found.train[0].text == "How did serfdom develop in and then leave Russia ?"
    assert {each.label for each in found.test} <= {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}


@needs_data
def test_reviews_are_parted_evenly_and_once() -> None:
    found = labelled_data.nsmc(DATA)
    assert (len(found.train), len(found.test)) == (35_657, 4_000)
    assert not {each.text for each in found.train} & {each.text for each in found.test}
    assert sum(each.label == "good" for each in found.test) == 2_000


@needs_data
def test_alike_sentences_are_pairs() -> None:
    found = labelled_data.stsb(DATA)
    assert (len(found.train), len(found.test)) == (5_749, 1_379)
    assert found.test[0].second == "A girl is brushing her hair."


@needs_data
def test_korean_names_stand_where_they_should() -> None:
    train, test = labelled_data.klue_ner(DATA)
    assert (len(train), len(test)) == (4_000, 1_000)
    first = next(each for each in (*train, *test) if each.text.startswith("경찰은 또 성매매"))
    named = [(first.text[e.start : e.end], e.kind) for e in first.entities]
    assert named[:3] == [("경찰", "OG"), ("박", "PS"), ("32", "QT")]


@needs_data
def test_no_passage_is_both_learned_from_and_judged_on() -> None:
    for found in (questioned_data.korquad(DATA), questioned_data.covid(DATA)):
        judged = {each.passage for each in found.test}
        assert not judged & {each.passage for each in found.train}
        assert found.lost == 0
