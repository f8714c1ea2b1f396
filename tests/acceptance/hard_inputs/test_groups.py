"""A34, A35, A38 and their like: reports of few documents, of equal ones, and in Korean."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag import Assistant, clusters
from rag.report_map import Layout
from tests.acceptance.hard_inputs.conftest import Ran
from tests.acceptance.hard_inputs.shelf import write

THREE = {
    "a.txt": "Pears ripen in autumn.",
    "b.txt": "버스는 여섯 시에 떠난다.",
    "c.txt": "A red kettle.",
}


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_a34_few_documents_make_few_clusters(attest: Assistant, tmp_path: Path, n: int) -> None:
    attest.add(write(tmp_path / "in", dict(list(THREE.items())[:n])))
    for asked in (None, 1, 5, 1_000):
        page = tmp_path / f"{asked}.html"
        made = attest.report(page if asked in (None, 5) else None, clusters=asked)

        assert made.n_documents == n
        assert len(made.clusters) <= min(n, asked or n)
        assert sum(len(group.documents) for group in made.clusters) == n
        if made.html:
            assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
        if not n:
            assert made.notes == ("no documents",)
        elif asked and asked > len(made.clusters):
            assert any(f"asked {asked}" in note for note in made.notes)


def test_a34_a_report_of_nothing_ends_well(run: Callable[..., Ran]) -> None:
    ran = run("report", "--clusters", "5")
    assert ran.code == 0
    assert "no documents" in ran.out


def test_a35_equal_points_make_no_empty_clusters() -> None:
    two = np.eye(2, 4, dtype=np.float32)
    vectors = two[[i % 2 for i in range(12)]]
    made, again = (clusters.group(vectors, k=5, seed=0) for _ in range(2))

    assert [made.members(c) for c in range(2)] == [list(range(0, 12, 2)), list(range(1, 12, 2))]
    assert len(made.centres) == 2
    assert made.silhouette == pytest.approx(1)
    assert np.array_equal(made.labels, again.labels)
    places, once_more = (
        Layout.of(each, 0).place(each.points, each.labels) for each in (made, again)
    )
    assert not np.isnan(places).any()
    assert np.array_equal(places, once_more)
    one = clusters.group(vectors[::2], k=5, seed=0)
    assert one.members(0) == list(range(6))


def test_a35_equal_texts_in_different_bytes_fall_together(
    attest: Assistant, tmp_path: Path
) -> None:
    texts = ("Season tickets for the car park are sold here.", "Umbrellas are lent on rainy days.")
    for i in range(0, 12, 3):  # in several runs, so that batches are put together differently
        some = {f"{j}.txt": texts[j % 2] + "\n" * (1 + j // 2) for j in range(i, i + 3)}
        attest.add(write(tmp_path / "in", some))
    made = attest.report(clusters=5)

    assert made.n_documents == 12
    assert [len(group.documents) for group in made.clusters] == [6, 6]
    for group in made.clusters:
        assert len({int(row.title) % 2 for row in group.documents}) == 1
    assert all(-1 <= value <= 1 for value in made.metrics.values())
    assert attest.report(clusters=5) == made


def test_a38_words_of_a_cluster_have_no_particles(attest: Assistant, tmp_path: Path) -> None:
    texts = {
        "p1.txt": "시장은 크다. 시장이 멀다. 시장을 지었다. 시장에서 놀았다. 시장의 종.",
        "p2.txt": "호수는 푸르다. 호수가 넓다. 호수를 보았다. 호수에서 헤엄쳤다. 호수의 소리.",
        "p3.txt": "The dogs run. A dog barks. Dogs' bowls. The dog's bed.",
    }
    attest.add(write(tmp_path / "in", texts))
    words = {word for group in attest.report(clusters=3).clusters for word in group.words}

    assert {"시장", "호수"} <= words
    particles = ("은", "이", "을", "에서", "의", "는", "가", "를")
    assert not words & {stem + p for stem in ("시장", "호수") for p in particles}
    assert not words & set(particles)
    assert not {"the", "a"} & words
