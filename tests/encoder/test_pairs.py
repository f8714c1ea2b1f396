"""Pairs out of plain text: what they keep, what they drop, and what may stand in one batch."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder import pairs
from encoder.pairs import Graded, Kind, Making, Pair, Shares, Sources
from transformer.corpus_files import Document
from transformer.runtime import seeded

SIZES = Making(shortest=3, longest=8, crop_deletion=0.0)


def _numbered(n: int) -> str:
    return " ".join(f"w{i}" for i in range(n))


@settings(deadline=None, max_examples=60)
@given(st.integers(6, 60), st.integers(0, 2**31))
def test_crops_are_places_of_the_text_that_do_not_overlap(words: int, seed: int) -> None:
    text = _numbered(words)
    pair = pairs.crops(text, seeded(seed), SIZES)
    left, right = pair.query.split(), pair.positive.split()
    for crop in (left, right):
        assert 3 <= len(crop) <= 8
        assert crop == text.split()[int(crop[0][1:]) :][: len(crop)]
    assert not set(left) & set(right)


def test_crops_come_from_everywhere_in_every_length() -> None:
    rng = seeded(0)
    made = [pairs.crops(_numbered(30), rng, SIZES) for _ in range(300)]
    assert {len(pair.query.split()) for pair in made} == set(range(3, 9))
    assert {len(pair.positive.split()) for pair in made} == set(range(3, 9))
    seen = Counter(word for pair in made for word in f"{pair.query} {pair.positive}".split())
    assert len(seen) == 30


def test_words_of_a_crop_are_deleted() -> None:
    rng, making = seeded(0), Making(shortest=20, longest=20, crop_deletion=0.1)
    made = [pairs.crops(_numbered(40), rng, making) for _ in range(200)]
    kept = sum(len(f"{pair.query} {pair.positive}".split()) for pair in made) / (200 * 40)
    assert kept == pytest.approx(0.9, abs=0.02)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 30), st.floats(0, 0.99), st.integers(0, 2**31))
def test_deletion_keeps_order_and_at_least_a_word(words: int, share: float, seed: int) -> None:
    kept = pairs.deleted(_numbered(words), share, seeded(seed)).split()
    assert kept
    numbers = [int(word[1:]) for word in kept]
    assert numbers == sorted(set(numbers))


def test_nothing_is_deleted_without_a_share() -> None:
    assert pairs.deleted("a  text as it\nstands", 0.0, seeded(0)) == "a  text as it\nstands"


def test_a_context_is_the_document_without_its_sentence() -> None:
    text = "One is here. Two is there! Is three? Four."
    rng = seeded(0)
    made = [pairs.context(text, rng, keep=0.25) for _ in range(200)]
    assert {pair.query for pair in made} == {"One is here.", "Two is there!", "Is three?", "Four."}
    whole = [pair for pair in made if pair.positive == text]
    assert len(whole) / 200 == pytest.approx(0.25, abs=0.1)
    for pair in made:
        assert pair.positive in (text, text.replace(pair.query, "").replace("  ", " ").strip())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("하나다. 둘이다! 셋인가?", 3),
        ('He said "no." She left.', 2),
        ("Version 2.5 is out", 1),
        ("  ", 0),
    ],
)
def test_sentences_end_where_a_mark_and_a_space_stand(text: str, count: int) -> None:
    assert len(pairs.sentences(text)) == count


def test_texts_are_sorted_by_what_they_are_fit_for() -> None:
    short, long = Document("Too short. Yes."), Document(_numbered(6), title="A title")
    sources = Sources(
        documents=[short, long],
        sentences=["one", " ", "two", "one"],
        pairs=[Pair("q", "p")],
        graded=[Graded("l", "r", 1.0)],
    )
    material = pairs.sort(sources, SIZES)
    assert (material.crops, material.titles, material.contexts) == ([long], [long], [short])
    assert material.same == ["one", "two"]
    assert material.pair("titles", 0, seeded(0)) == Pair("A title", _numbered(6))
    assert material.pair("same", 1, seeded(0)) == Pair("two", "two")
    assert material.pair("given", 0, seeded(0)) == Pair("q", "p")
    assert material.pair("graded", 0, seeded(0)) == Pair("l", "r")
    assert material.count("crops") == 1


def test_the_same_text_twice_can_lose_other_words_each_time() -> None:
    making = Making(same_deletion=0.5)
    material = pairs.sort(Sources(sentences=[_numbered(20)]), making)
    pair = material.pair("same", 0, seeded(0))
    assert pair.query != pair.positive


def test_the_same_seed_makes_the_same_pairs() -> None:
    material = pairs.sort(Sources(documents=[Document(_numbered(40) + ". And more.")]), Making())
    kinds: tuple[Kind, ...] = ("crops", "contexts")
    for kind in kinds:
        assert material.pair(kind, 0, seeded(3)) == material.pair(kind, 0, seeded(3))


def test_a_text_stands_once_in_a_batch_and_shares_are_kept() -> None:
    counts: dict[Kind, int] = {"crops": 1000, "titles": 35, "same": 500}
    shares: dict[Kind, float] = {"crops": 3.0, "titles": 1.0, "same": 0.0}
    batches = pairs.epoch(counts, shares, 10, seeded(0))
    assert len(batches) == 103
    for kind, places in batches:
        assert len(set(places)) == len(places) == 10
        assert max(places) < counts[kind]
    kinds = Counter(kind for kind, _ in batches)
    assert kinds["titles"] / 103 == pytest.approx(0.25, abs=0.1)
    assert "same" not in kinds
    crops = [place for kind, places in batches if kind == "crops" for place in places]
    assert len(set(crops)) == len(crops)  # none twice before each came once
    assert pairs.epoch(counts, shares, 10, seeded(0)) == batches
    assert pairs.epoch(counts, shares, 10, seeded(1)) != batches


def test_few_texts_make_a_small_batch() -> None:
    batches = pairs.epoch({"same": 3}, {"same": 1.0}, 10, seeded(0))
    assert [(kind, sorted(places)) for kind, places in batches] == [("same", [0, 1, 2])]


def test_a_share_is_held_out() -> None:
    kept, held = pairs.split(list(range(50)), 0.2, seeded(0))
    assert (len(kept), len(held)) == (40, 10)
    assert sorted(kept + held) == list(range(50))
    assert pairs.split(list(range(50)), 0.2, seeded(0)) == (kept, held)
    assert pairs.split([1, 2, 3], 0.2, torch.Generator()) == ([1, 2, 3], [])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shares(), "shares must be at least 0, and one of them over it"),
        (lambda: Shares(crops=1, same=-1), "'same': -1"),
        (lambda: Making(shortest=9, longest=8), r"shortest \(9\) must be at least 1 and at most"),
        (lambda: Making(crop_deletion=1.0), r"crop_deletion \(1.0\) must be at least 0 and below"),
    ],
)
def test_impossible_settings_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()
