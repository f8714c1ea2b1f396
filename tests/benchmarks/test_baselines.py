"""The baselines on texts whose right order is known."""

import numpy as np
import pytest

from benchmarks.baselines import StaticVectors, character_cosines

TEXTS = [
    *["the cat drinks milk", "the dog drinks milk", "a cat chases mice", "a dog chases mice"] * 5,
    *["the car needs fuel", "the truck needs fuel", "a car has wheels", "a truck has wheels"] * 5,
]


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


def test_characters_in_common_make_texts_alike() -> None:
    left, right = ["a big dog", "a big dog", "a big dog"], ["a big dog", "the dogs", "xyz"]
    same, near, far = character_cosines(left, right)
    assert same == pytest.approx(1)
    assert same > near > far == 0


def test_words_of_the_same_surroundings_get_near_vectors() -> None:
    static = StaticVectors(TEXTS, str.split, dimensions=6)
    cat, dog, truck = static.mean(["cat", "dog", "truck"])
    assert _cosine(cat, dog) > 0.9
    assert _cosine(cat, dog) > _cosine(cat, truck) + 0.3


def test_the_mean_is_over_known_words_and_frequent_ones_can_weigh_less() -> None:
    static = StaticVectors(TEXTS, str.split, dimensions=6)
    cat, milk, both, none = static.mean(["cat", "milk", "cat milk unheard", "unheard"])
    np.testing.assert_allclose(both, (cat + milk) / 2, rtol=1e-5)
    assert not none.any()
    assert static.weights[static.rows["the"]] < static.weights[static.rows["milk"]]
    np.testing.assert_allclose(static.weighted(TEXTS).mean(axis=0), 0, atol=1e-6)


def test_static_vectors_are_the_same_each_time() -> None:
    one, two = (StaticVectors(TEXTS, str.split, dimensions=6) for _ in range(2))
    np.testing.assert_array_equal(one.vectors, two.vectors)
