"""What cannot be learned from, said with numbers; and the share that is held out."""

import pytest

from encoder.examples import Example, check, labels_of, split, unseen
from transformer.errors import TrainingError
from transformer.runtime import seeded

GOOD = [Example(f"w{i}", "ab"[i % 2]) for i in range(20)]


def test_good_examples_pass() -> None:
    check(GOOD, "classes")
    check([Example(f"w{i}", i / 2) for i in range(4)], "regression")
    check([Example("", "a", "w1"), *(Example("w", "ab"[i % 2], "w") for i in range(4))], "classes")


@pytest.mark.parametrize(
    ("examples", "told"),
    [
        ([], "at least 2 labels, there are none"),
        ([Example("w1", "a")] * 3, "at least 2 labels, all 3 have 'a'"),
        ([*GOOD, Example("w", "c")], "1 of 3 labels have 1 example.* 'c'"),
        ([*GOOD, Example(" \n", "a")], "1 examples have no text, the first is number 21"),
        ([*GOOD, Example("w", " ")], "1 examples have no label, the first is number 21"),
        ([*GOOD, Example("w", "a", "w")], "20 examples lack the second text"),
    ],
)
def test_bad_classes_are_refused(examples: list[Example], told: str) -> None:
    with pytest.raises(TrainingError, match=told):
        check(examples, "classes")


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ((1.0, 2.0, float("nan"), 4.0), "1 examples have no finite number.* number 3: nan is none"),
        ((1.0, 2.0, float("inf"), 4.0), "no finite number"),
        ((1.0, 2.0, "many", 4.0), "'many' is none"),
        ((1.0, 2.0, 3.0), "3 examples are too few for a regression"),
        ((5.0,) * 4, "all 4 examples have the number 5.0"),
    ],
)
def test_bad_numbers_are_refused(labels: tuple[float | str, ...], told: str) -> None:
    with pytest.raises(TrainingError, match=told):
        check([Example("w", label) for label in labels], "regression")


def test_every_label_is_held_out_by_the_same_share_and_learned_from() -> None:
    examples = [Example("w", "a")] * 80 + [Example("w", "b")] * 20 + [Example("w", "c")] * 2
    kept, held = split(examples, 0.1, "classes", seeded(0))
    assert sorted(kept + held) == list(range(102))
    assert sorted(examples[i].label for i in held) == ["a"] * 8 + ["b"] * 2 + ["c"]
    assert split(examples, 0.1, "classes", seeded(0)) == (kept, held)
    assert split(examples, 0.1, "classes", seeded(1)) != (kept, held)


def test_a_text_that_is_learned_from_judges_nothing() -> None:
    assert unseen("abcab", [0, 1], [2, 3, 4]) == [2]
    assert unseen("abab", [0, 1], [2, 3]) == [2, 3]  # all there is


def test_numbers_are_held_out_as_one_group() -> None:
    kept, held = split([Example("w", float(i)) for i in range(50)], 0.2, "regression", seeded(0))
    assert (len(kept), len(held)) == (40, 10)


def test_labels_are_in_order_and_text() -> None:
    assert labels_of([Example("w", "b"), Example("w", 1), Example("w", "b")]) == ("1", "b")
