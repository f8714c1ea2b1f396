import numpy as np
import pytest

from rag.clusters import characteristic_words, cluster


def groups(sizes: list[int], *, noise: float = 0.05, seed: int = 0) -> np.ndarray:
    """Points around axes, one axis a group, at unit length."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.tile(np.eye(8)[i], (n, 1)) for i, n in enumerate(sizes)])
    rows = rows + noise * rng.normal(size=rows.shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_clear_groups_are_found_largest_first() -> None:
    found = cluster(groups([3, 6, 4]), [["w"]] * 13, k=None, seed=0)

    assert [len(c.members) for c in found.clusters] == [6, 4, 3]
    assert set(found.clusters[0].members) == set(range(3, 9))
    assert found.silhouette is not None
    assert found.silhouette > 0.7


def test_every_document_is_in_exactly_one_cluster() -> None:
    vectors = np.random.default_rng(3).normal(size=(30, 8)).astype(np.float32)
    found = cluster(vectors, [["w"]] * 30, k=5, seed=0)

    assert sorted(i for c in found.clusters for i in c.members) == list(range(30))
    assert found.map.shape == (30, 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_documents(n: int) -> None:
    found = cluster(
        groups([1] * n) if n else np.empty((0, 8), np.float32), [["w"]] * n, k=5, seed=0
    )

    assert sum(len(c.members) for c in found.clusters) == n
    assert len(found.clusters) <= n


def test_two_distinct_points_give_two_clusters() -> None:
    vectors = groups([6, 6], noise=0.0)
    found = cluster(vectors, [["w"]] * 12, k=5, seed=0)

    assert [len(c.members) for c in found.clusters] == [6, 6]
    assert np.isfinite(found.map).all()


def test_equal_seeds_give_equal_clusters() -> None:
    vectors = np.random.default_rng(4).normal(size=(40, 8)).astype(np.float32)
    first, second = (cluster(vectors, [["w"]] * 40, k=6, seed=1) for _ in range(2))

    assert [c.members for c in first.clusters] == [c.members for c in second.clusters]


def test_words_of_a_group_are_those_that_the_others_lack() -> None:
    named = characteristic_words([["rent", "rent", "report"], ["whale", "sea", "report"]])

    assert named[0][0] == "rent"
    assert set(named[1][:2]) == {"whale", "sea"}
    assert named[0][-1] == "report"
