"""Answers behind fewer of their sources: against a pass of its own for every subset."""

from itertools import chain

import numpy as np
import pytest
import torch

from generator import Generator, Writer
from generator.attribute import Read, Reading, Scores, grouped, read, subsets, up_to_parting
from generator.blocks import Frame, PassageCaches
from generator.kept import Kept
from tests.generator.builders import generator, loaded, tokenizer
from transformer import LengthError

SOURCES = ("The bell hangs in the hall.", "hello", "Nobody rings it at night.")
ANSWER = tuple(b"In the hall")
INSTEAD = (tuple(b"In no way"), tuple(b"In the mill"))


def caches(model: Generator | None = None) -> PassageCaches:
    of = model or generator(max_tokens=512)
    writer = Writer(loaded(of, tokenizer()))
    frame = Frame.of_chat(writer, "Answer from the passages.")
    return PassageCaches(of, writer.tokenizer, writer.fingerprint, frame, Kept(1 << 24))


@torch.inference_mode()
def naive(of: PassageCaches, reading: Reading) -> Read:
    """One reading by itself, behind a cache of its own."""
    asked = of.question("Where?")
    tokens = [*asked, *reading.answer]
    cache = of.assemble(reading.sources, len(tokens))
    logits = of.model(torch.tensor([tokens]), cache)[0].log_softmax(-1)
    own = logits[len(asked) - 1 : -1]
    scores = own[range(len(reading.answer)), list(reading.answer)].numpy()
    gaps = []
    for other in reading.instead:
        pairs = zip(reading.answer, other, strict=False)
        part = next(i for i, (a, b) in enumerate(pairs) if a != b)
        gaps.append(float(own[part, other[part]] - scores[part]))
    return Read(scores, tuple(gaps))


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_all_subsets_at_once_are_what_each_is_by_itself(positions: str) -> None:
    of = caches(generator(max_tokens=512, positions=positions))
    readings = [Reading(tuple(SOURCES[i] for i in some), ANSWER, INSTEAD) for some in subsets(3)]
    readings.append(Reading(SOURCES[::-1], ANSWER[:6]))  # another order, another length

    found = read(of, "Where?", readings)

    for one, reading in zip(found, readings, strict=True):
        alone = naive(of, reading)
        np.testing.assert_allclose(one.scores, alone.scores, atol=1e-4)
        assert one.gaps == pytest.approx(alone.gaps, abs=1e-4)


def test_many_readings_go_through_in_parts_and_come_back_in_order() -> None:
    of = caches()
    readings = [Reading(SOURCES[i % 3 :], ANSWER[: 1 + i % 11]) for i in range(120)]
    found = read(of, "Where?", readings)
    for i in (0, 37, 118):
        (alone,) = read(of, "Where?", [readings[i]])
        np.testing.assert_allclose(found[i].scores, alone.scores, atol=1e-4)
        assert found[i].gaps == ()


def test_the_same_is_found_every_time() -> None:
    readings = [Reading(tuple(SOURCES[i] for i in some), ANSWER, INSTEAD) for some in subsets(3)]
    first, again = (read(caches(), "Where?", readings) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert (a.scores == b.scores).all()
        assert a.gaps == b.gaps


def test_what_cannot_be_scored_is_said() -> None:
    of = caches(generator(max_tokens=128))
    assert read(of, "Where?", []) == []
    with pytest.raises(ValueError, match="no token has no likelihood"):
        read(of, "Where?", [Reading(SOURCES, ())])
    with pytest.raises(LengthError, match="over the generator's limit of 128"):
        read(of, "Where?", [Reading(SOURCES, ANSWER * 9)])


def test_few_sources_are_scored_in_every_subset_and_many_in_some() -> None:
    assert subsets(0) == ((),)
    assert len(subsets(4)) == len(set(subsets(4))) == 16
    some = subsets(5)
    assert len(some) == len(set(some)) == 12
    assert {(), (2,), (0, 1, 3, 4), (0, 1, 2, 3, 4)} <= set(some)
    assert len(subsets(4, few=3)) == 10


def test_copies_are_one_group_and_rows_of_a_table_are_not() -> None:
    texts = (
        "The bell hangs in the old hall.",
        "Nobody rings it at night.",
        "As is known, the old bell hangs in the hall of the mill.",
        "The pump moves 40 litres a minute at most.",
        "The pump moves 50 litres a minute at most.",
        "the bell hangs in the OLD hall",
        "연차는 15일이다.",
        "연차는 15일이다.",
    )
    assert grouped(texts) == ((0, 2, 5), (1,), (3,), (4,), (6, 7))
    assert grouped(()) == ()


def scores(by_subset: dict[tuple[int, ...], float], declining: tuple[float, ...] = ()) -> Scores:
    return Scores(tuple(by_subset), tuple(by_subset.values()), declining)


def test_the_best_without_a_source_says_whether_it_was_needed() -> None:
    table = scores({(): -3, (0,): -0.5, (1,): -2.5, (0, 1): -0.25})
    assert table.drop(0) == 2.25
    assert table.drop(1) == 0.25
    assert table.shortfall(0) == 0.25
    assert table.shortfall(1) == 2.25
    assert table.necessary(0, margin=1)
    assert not table.necessary(1, margin=1)
    assert table.sufficient(0, margin=1)
    assert not table.sufficient(1, margin=1)
    # A third one that disturbs does not make a source needed.
    disturbed = scores({(): -3, (0,): -1, (1,): -0.5, (0, 1): -0.5, (1, 2): -2, (0, 1, 2): -0.5})
    assert disturbed.drop(0) == 0


def test_declining_without_a_source_makes_it_needed_and_alone_makes_it_too_little() -> None:
    means = {(): -0.5, (0,): -0.5, (1,): -0.5, (0, 1): -0.5}
    table = scores(means, (2, -1, 1, -1))
    assert table.necessary(0, margin=1)
    assert not table.necessary(1, margin=1)
    assert table.sufficient(0, margin=1)
    assert not table.sufficient(1, margin=1)
    assert not scores(means, (2, 1, 1, 1)).necessary(0, margin=1)  # declined all the same


def test_an_answer_is_cut_where_another_parts_from_it() -> None:
    assert up_to_parting((1, 2, 3, 4), (1, 2, 9)) == (1, 2, 3)
    with pytest.raises(ValueError, match="must part within both"):
        up_to_parting((1, 2), (1, 2, 3))


def test_a_source_that_is_not_there_changes_nothing() -> None:
    of, other = caches(), caches()
    readings = [Reading(SOURCES[:1], ANSWER), Reading(SOURCES, ANSWER)]
    together = read(of, "Where?", readings)
    (alone,) = read(other, "Where?", readings[:1])
    np.testing.assert_allclose(together[0].scores, alone.scores, atol=1e-4)
    assert len(set(chain(together[1].scores.tolist(), alone.scores.tolist()))) > len(ANSWER)
