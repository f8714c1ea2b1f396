"""Entities to tags and back, and how they are scored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder.entities import Entity, Tagged, entities_of, entity_scores, tags_of

KINDS = ("LOC", "PER")
WORDS = [(0, 2), (3, 5), (6, 8), (9, 11)]


def test_tags_begin_and_go_on() -> None:
    entities = [Entity(0, 5, "PER"), Entity(6, 8, "PER")]
    assert tags_of(entities, WORDS, KINDS) == [3, 4, 3, 0]


def test_a_token_belongs_where_most_of_it_lies() -> None:
    assert tags_of([Entity(0, 2, "LOC")], [(0, 3)], KINDS) == [1]
    assert tags_of([Entity(0, 1, "LOC")], [(0, 3)], KINDS) == [0]


def test_an_inside_without_a_beginning_begins() -> None:
    assert entities_of([0, 2, 4, 4], WORDS, KINDS) == (Entity(3, 5, "LOC"), Entity(6, 11, "PER"))


def test_a_token_of_nothing_but_space_breaks_no_entity() -> None:
    offsets = [(0, 2), (3, 3), (3, 5)]
    assert entities_of([1, 2, 2], offsets, KINDS) == (Entity(0, 5, "LOC"),)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=12))
def test_whole_words_come_back(marks: list[tuple[int, bool]]) -> None:
    offsets = [(3 * i, 3 * i + 2) for i in range(len(marks))]
    entities: list[Entity] = []
    for (start, end), (kind, goes_on) in zip(offsets, marks, strict=True):
        if kind == 2:
            continue
        last = entities[-1] if entities else None
        if goes_on and last and last.end == start - 1 and last.kind == KINDS[kind]:
            entities[-1] = Entity(last.start, end, last.kind)
        else:
            entities.append(Entity(start, end, KINDS[kind]))
    assert entities_of(tags_of(entities, offsets, KINDS), offsets, KINDS) == tuple(entities)


def test_scores_count_place_and_kind_together() -> None:
    true = [[Entity(0, 2, "LOC"), Entity(3, 5, "PER")], [Entity(0, 2, "LOC")]]
    told = [[Entity(0, 2, "LOC"), Entity(3, 4, "PER")], []]
    scores = entity_scores(told, true)
    assert scores["precision"] == pytest.approx(1 / 2)
    assert scores["recall"] == pytest.approx(1 / 3)
    assert scores["f1"] == pytest.approx(2 / 5)
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)


@pytest.mark.parametrize(
    "entities",
    [(Entity(0, 4, "LOC"), Entity(3, 5, "PER")), (Entity(4, 9, "LOC"),), (Entity(2, 2, "LOC"),)],
)
def test_entities_that_cannot_be_are_refused(entities: tuple[Entity, ...]) -> None:
    with pytest.raises(ValueError, match="overlaps another one or lies outside the text of 6"):
        Tagged("abcdef", entities)
