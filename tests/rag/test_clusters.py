import numpy as np
import pytest

from rag.clusters import Grouping, group
from rag.report_map import Layout
from rag.report_sizes import shares
from rag.report_themes import themes


def groups(sizes: list[int], *, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    """Points around axes, one axis a group, at unit length."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.tile(np.eye(12)[i], (n, 1)) for i, n in enumerate(sizes)])
    rows = rows + noise * rng.normal(size=rows.shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def sizes(found: Grouping) -> list[int]:
    return [int((found.labels == c).sum()) for c in range(len(found.centres))]


@pytest.mark.parametrize("shared", [0.0, 3.0])
def test_clear_groups_are_found_largest_first(shared: float) -> None:
    vectors = groups([3, 6, 4]) + np.float32(shared)  # a direction that all have in common
    found = group(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), seed=0)

    assert sizes(found) == [6, 4, 3]
    assert set(found.members(0)) == set(range(3, 9))
    assert found.silhouette is not None
    assert found.silhouette > 0.7


@pytest.mark.parametrize("k", [None, 5])
def test_large_groups_are_found_by_their_neighbourhoods(k: int | None) -> None:
    vectors = groups([120, 90, 60, 50, 30], noise=0.15)
    found = group(vectors, k=k, seed=0, outliers="assign")

    assert sizes(found) == [120, 90, 60, 50, 30]
    assert set(found.members(4)) == set(range(320, 350))


def test_density_finds_the_number_and_leaves_the_rest_out() -> None:
    rng = np.random.default_rng(1)
    alone = rng.normal(size=(20, 12))
    vectors = np.concatenate([groups([100, 80, 60], noise=0.05), alone]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = group(vectors, seed=0, method="density")

    assert sizes(found)[:3] == pytest.approx([100, 80, 60], abs=12)
    assigned = group(vectors, seed=0, method="density", outliers="assign")
    assert (assigned.labels >= 0).all()


def test_what_is_near_to_nothing_is_an_outlier_until_it_is_assigned() -> None:
    vectors = np.concatenate([groups([60, 60], noise=0.02), np.eye(12)[[7, 9]]])
    vectors = vectors.astype(np.float32)
    kept = group(vectors, k=2, seed=0)
    assigned = group(vectors, k=2, seed=0, outliers="assign")

    assert {120, 121} <= set(np.flatnonzero(kept.labels < 0).tolist())
    assert (assigned.labels >= 0).all()
    assert sum(sizes(assigned)) == 122


def test_every_vector_is_in_exactly_one_group() -> None:
    vectors = np.random.default_rng(3).normal(size=(30, 8)).astype(np.float32)
    found = group(vectors, k=5, seed=0)

    assert sorted(i for c in range(5) for i in found.members(c)) == list(range(30))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("k", [None, 1, 5])
def test_few_vectors(n: int, k: int | None) -> None:
    vectors = groups([1] * n) if n else np.empty((0, 12), np.float32)
    found = group(vectors, k=k, seed=0)

    assert sum(sizes(found)) == n
    assert len(found.centres) <= n
    assert np.isfinite(Layout.of(found, 0).place(found.points, found.labels)).all()


@pytest.mark.parametrize("each", [6, 60])
def test_two_distinct_points_give_two_groups(each: int) -> None:
    found = group(groups([each, each], noise=0.0), k=5, seed=0)

    assert sizes(found) == [each, each]
    assert found.silhouette == pytest.approx(1)
    assert np.isfinite(Layout.of(found, 0).place(found.points, found.labels)).all()


@pytest.mark.parametrize("n", [40, 400])
def test_equal_seeds_give_equal_groups(n: int) -> None:
    vectors = np.random.default_rng(4).normal(size=(n, 8)).astype(np.float32)
    first, second = (group(vectors, seed=1) for _ in range(2))

    assert np.array_equal(first.labels, second.labels)
    one, other = (Layout.of(each, 1).place(each.points, each.labels) for each in (first, second))
    assert np.array_equal(one, other)


def test_other_vectors_find_the_group_that_they_belong_to() -> None:
    found = group(groups([6, 5, 4]), k=3, seed=0)

    assert found.nearest(groups([1, 1, 1], seed=9)).tolist() == [0, 1, 2]


def test_clouds_of_the_map_do_not_overlap() -> None:
    found = group(groups([80, 60, 40, 20], noise=0.1), k=4, seed=0, outliers="assign")
    layout = Layout.of(found, 0)
    placed = layout.place(found.points, found.labels)

    nearest = np.linalg.norm(placed[:, None] - layout.places[None], axis=2).argmin(axis=1)
    assert (nearest == found.labels).all()


@pytest.mark.parametrize("counts", [[1, 1, 1], [7, 13, 29, 1], [1] * 7, [1000, 1], [5], [0, 3]])
def test_shares_add_up_to_a_hundred(counts: list[int]) -> None:
    parts = shares(counts)

    assert round(sum(parts), 6) == 100
    assert parts == pytest.approx([100 * n / sum(counts) for n in counts], abs=0.1)


def test_shares_of_nothing() -> None:
    assert shares([]) == []
    assert shares([0, 0]) == [0, 0]


def test_alike_groups_are_one_theme() -> None:
    centres = np.repeat(np.eye(3, 12), 3, axis=0) + 0.1 * np.random.default_rng(0).normal(
        size=(9, 12)
    )
    centres = (centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float32)

    assert themes(centres) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert themes(centres[:5]) == []
