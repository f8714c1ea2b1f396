"""More vectors than are searched whole: lists in a file, and what changed since in memory."""

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from index.codec import unit
from index.records import Vectors
from index.vector_folder import NONE, VectorFolder
from index.vector_layers import scored
from index.vector_state import EXACT, State
from index.vectors import VectorIndex

D = 32
N = EXACT + 2000

Rows = NDArray[np.float32]


def _rows(n: int, seed: int, dimensions: int = D) -> Rows:
    """Around 200 centres, as float16 keeps them."""
    centres = np.random.default_rng(7).standard_normal((200, dimensions))
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(200, size=n)] + rng.standard_normal((n, dimensions))
    return unit(unit(rows.astype(np.float32)).astype(np.float16))


@pytest.fixture(scope="module")
def rows() -> Rows:
    return _rows(N, 0)


@pytest.fixture(scope="module")
def queries() -> Rows:
    return _rows(20, 1)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> Path:
    """A folder with one file; ids are 10, 20, 30, …"""
    folder = tmp_path_factory.mktemp("built 색인")
    index = VectorIndex(folder, "m", D)
    _apply(index, 5, _ids(np.arange(N)), rows)
    index.save()
    return folder


@pytest.fixture
def index(built: Path, tmp_path: Path) -> VectorIndex:
    for file in built.glob("*.index"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return VectorIndex(tmp_path, "m", D)


def _ids(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    return 10 * (ranks + 1)


def _apply(
    index: VectorIndex, seq: int, ids: NDArray[np.int64], rows: Rows, gone: tuple[int, ...] = ()
) -> None:
    with index.updating():
        index.apply(seq, (*ids.tolist(), *gone), Vectors(ids, rows))


def _nearest(
    ids: NDArray[np.int64], rows: Rows, query: Rows, k: int
) -> tuple[NDArray[np.int64], Rows]:
    cosines = rows @ query
    best = np.lexsort((ids, -cosines))[:k]
    return ids[best], cosines[best]


@pytest.mark.parametrize(("k", "at_least"), [(1, 0.95), (10, 0.95), (100, 0.9), (1000, 0.75)])
def test_finds_nearly_all_and_scores_exactly(
    index: VectorIndex, rows: Rows, queries: Rows, k: int, at_least: float
) -> None:
    assert (index.applied, len(index)) == (5, N)
    recall = []
    for query in queries:
        found = index.search(query, k)
        assert len(found.ids) == k
        cosines = rows[found.ids // 10 - 1] @ query
        assert np.abs(found.scores - cosines).max() < 1e-5
        assert np.array_equal(np.lexsort((found.ids, -found.scores)), np.arange(k))
        recall.append(np.isin(_nearest(_ids(np.arange(N)), rows, query, k)[0], found.ids).mean())
    assert np.mean(recall) > at_least  # with 32 bits a row; real rows have 384 and more


def test_asking_for_a_large_part_misses_nothing(
    index: VectorIndex, rows: Rows, queries: Rows
) -> None:
    found = index.search(queries[0], N // 3)
    expected = _nearest(_ids(np.arange(N)), rows, queries[0], N // 3)[1]
    assert found.scores == pytest.approx(expected, abs=1e-5)
    assert len(index.search(queries[0], 10 * N).ids) == N


def test_the_few_that_are_allowed_are_all_found_in_order(
    index: VectorIndex, rows: Rows, queries: Rows
) -> None:
    chosen = np.random.default_rng(3).choice(N, 20, replace=False)
    allowed = np.concatenate([_ids(chosen), [5, 7, 10 * N + 10]])
    for query in queries:
        found = index.search(query, 1000, allowed)
        ids, cosines = _nearest(_ids(chosen), rows[chosen], query, 20)
        assert np.array_equal(found.ids, ids)
        assert found.scores == pytest.approx(cosines, abs=1e-5)
    assert not index.search(queries[0], 5, np.empty(0, np.int64)).ids.size
    assert not index.search(queries[0], 5, np.array([3])).ids.size


def test_a_wide_filter_gives_as_many_as_asked_for(
    index: VectorIndex, rows: Rows, queries: Rows
) -> None:
    half = _ids(np.arange(0, N, 2))
    recall = []
    for query in queries:
        found = index.search(query, 1000, half)
        assert len(found.ids) == 1000
        assert np.isin(found.ids, half).all()
        recall.append(np.isin(_nearest(half, rows[::2], query, 10)[0], found.ids).mean())
    assert np.mean(recall) > 0.95
    # The lists that a query looks into first hold none of these.
    far = _nearest(_ids(np.arange(N)), rows, queries[0], N)[0][N // 4 :]
    found = index.search(queries[0], 1000, far)
    assert len(found.ids) == 1000
    assert np.isin(found.ids, far).all()


def test_changes_since_the_file_count(
    tmp_path: Path, index: VectorIndex, rows: Rows, queries: Rows
) -> None:
    query = queries[0]
    first, second, third = index.search(query, 3).ids.tolist()
    moved = np.array([second, 10 * N + 10])
    _apply(index, 6, moved, np.stack([-query, query]), gone=(first,))
    assert len(index) == N
    found = index.search(query, N)
    assert len(np.unique(found.ids)) == len(found.ids) == N
    assert found.ids[:2].tolist() == [10 * N + 10, third]
    assert found.ids[-1] == second
    assert first not in found.ids
    assert np.array_equal(index.ids(), np.sort(found.ids))
    only = index.search(query, 5, np.array([first, second, 10 * N + 10])).ids
    assert only.tolist() == [10 * N + 10, second]
    assert found.scores.max() <= 1.0
    # The same once they are in a file, of which the removed row is no part.
    index.save()
    again = VectorIndex(tmp_path, "m", D)
    assert (again.applied, len(again)) == (6, N)
    assert np.array_equal(again.search(query, N).ids, found.ids)
    assert again.search(query, N).scores == pytest.approx(found.scores, abs=1e-3)


def test_an_id_that_comes_twice_is_kept_once(index: VectorIndex, queries: Rows) -> None:
    twice = np.array([7, 7])
    _apply(index, 6, twice, np.stack([-queries[0], queries[0]]))
    assert len(index) == N + 1
    found = index.search(queries[0], 1)
    assert found.ids.tolist() == [7]
    assert found.scores[0] > 0.999


def test_equal_scores_go_by_id(tmp_path: Path, index: VectorIndex, queries: Rows) -> None:
    same = np.repeat(queries[:1], 3, axis=0)
    _apply(index, 6, np.array([9, 3, 6]), same)
    assert index.search(queries[0], 3).ids.tolist() == [3, 6, 9]
    index.save()
    assert VectorIndex(tmp_path, "m", D).search(queries[0], 3).ids.tolist() == [3, 6, 9]


def test_the_same_rows_make_the_same_file(built: Path, tmp_path: Path, rows: Rows) -> None:
    index = VectorIndex(tmp_path, "m", D)
    half = N // 2  # in another order, and in two parts
    _apply(index, 3, _ids(np.arange(half, N)), rows[half:])
    _apply(index, 5, _ids(np.arange(half)), rows[:half])
    index.save()
    assert [path.name for path in tmp_path.glob("*.index")] == [
        path.name for path in built.glob("*.index")
    ]


def test_searches_go_on_while_a_file_is_made(
    tmp_path: Path, rows: Rows, queries: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    index = VectorIndex(tmp_path, "m", D)
    _apply(index, 5, _ids(np.arange(N)), rows)
    index.settle()
    assert index._builder is not None
    expected = _nearest(_ids(np.arange(N)), rows, queries[0], 1)[0]
    while index._builder.is_alive():
        assert index.search(queries[0], 1).ids.tolist() == expected
        assert len(index) == N
    assert index.applied == 5
    assert [path.name[:26] for path in tmp_path.glob("*.index")] == ["dense-m-000000000005-00357"]
    assert index.search(queries[0], 1).ids.tolist() == expected
    assert not caplog.records


def test_what_changed_while_a_file_was_made_is_never_out_of_sight(
    tmp_path: Path, rows: Rows, queries: Rows
) -> None:
    index = VectorIndex(tmp_path, "m", D)
    _apply(index, 5, _ids(np.arange(N)), rows)
    index.settle()
    _apply(index, 6, np.array([7]), queries[:1])
    assert index._builder is not None
    index._builder.join()
    # It is to be told again what came after the file; until then it shows what it had.
    assert index.applied == 5
    assert index.search(queries[0], 1).ids.tolist() == [7]
    _apply(index, 6, np.array([7]), queries[:1])
    assert (index.applied, len(index)) == (6, N + 1)
    assert index.search(queries[0], 1).ids.tolist() == [7]


def test_a_file_that_cannot_be_written_costs_nothing_but_a_warning(
    tmp_path: Path, rows: Rows, queries: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    index = VectorIndex(tmp_path / "taken", "m", D)
    (tmp_path / "taken").touch()
    _apply(index, 5, _ids(np.arange(N)), rows)
    with caplog.at_level(logging.WARNING):
        index.settle()
        assert index._builder is not None
        index._builder.join()
    assert "could not be saved" in caplog.text
    assert len(index.search(queries[0], 10).ids) == 10
    with pytest.raises(OSError, match="taken"):
        index.save()


def test_few_vectors_that_cannot_be_saved_are_searched_all_the_same(
    tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    index = VectorIndex(tmp_path / "taken", "m", D)
    (tmp_path / "taken").touch()
    _apply(index, 5, _ids(np.arange(2000)), rows[:2000])
    index.settle()
    assert "could not be saved" in caplog.text
    assert index.search(rows[7], 1).ids.tolist() == [80]


def test_much_at_once_is_kept_in_files_and_gets_lists_at_the_end(tmp_path: Path) -> None:
    dimensions, n = 8, 100_000
    rows = _rows(n, 0, dimensions)
    index = VectorIndex(tmp_path, "m", dimensions)
    for start in range(0, n, index.block):
        at = np.arange(start, min(n, start + index.block))
        _apply(index, int(at[-1]) + 1, _ids(at), rows[at])
    (file,) = tmp_path.glob("*.index")
    assert file.name.startswith("dense-m-000000065536-00000-")
    expected = _nearest(_ids(np.arange(n)), rows, rows[5], 10)[0]
    assert np.array_equal(index.search(rows[5], 10).ids, expected)  # no list, so exact
    # A process that ends here leaves work to the next one, which does it when it opens.
    again = VectorIndex(tmp_path, "m", dimensions)
    assert again.applied == 65536
    assert again._builder is not None
    again._builder.join()
    assert len(again) == 65536
    (file,) = tmp_path.glob("*.index")
    assert file.name.startswith("dense-m-000000065536-00512-")
    with index.updating():  # takes nothing from a file that is behind it
        assert index.applied == n
    index.save()
    assert VectorIndex(tmp_path, "m", dimensions).applied == n


def test_one_process_takes_over_what_another_has_saved(
    tmp_path: Path, index: VectorIndex, queries: Rows
) -> None:
    behind = VectorIndex(tmp_path, "m", D)
    _apply(index, 6, np.array([7]), queries[:1])
    index.save()
    with behind.updating():
        assert behind.applied == 6
    assert behind.search(queries[0], 1).ids.tolist() == [7]


def test_a_reader_outlives_the_file_that_it_reads(
    tmp_path: Path, index: VectorIndex, queries: Rows
) -> None:
    reader = VectorIndex(tmp_path, "m", D)
    before = [reader.search(query, 100).ids.tolist() for query in queries]
    stop = threading.Event()
    seen: list[list[int]] = []

    def read() -> None:
        while not stop.is_set():
            seen.extend(reader.search(query, 100).ids.tolist() for query in queries)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for seq in range(6, 10):
            _apply(index, seq, np.array([seq]), queries[:1])
            index.save()
    finally:
        stop.set()
        thread.join()
    assert len(list(tmp_path.glob("*.index"))) == 1
    assert seen == before * (len(seen) // len(before))


def test_threads_search_while_another_changes(index: VectorIndex, queries: Rows) -> None:
    failures: list[str] = []
    stop = threading.Event()

    def read(query: Rows) -> None:
        while not stop.is_set():
            ids = index.search(query, 50).ids
            if len(np.unique(ids)) != 50:
                failures.append(f"{len(np.unique(ids))} of 50")

    threads = [threading.Thread(target=read, args=(query,)) for query in queries[:4]]
    for thread in threads:
        thread.start()
    try:
        for seq in range(6, 40):
            _apply(index, seq, np.array([seq]), queries[seq % 20][None], gone=(10 * seq,))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures


@pytest.mark.parametrize("place", ["rows", "ids", "codes", "footer"])
def test_damage_anywhere_is_seen_when_it_is_opened(
    index: VectorIndex, tmp_path: Path, place: str
) -> None:
    (path,) = tmp_path.glob("*.index")
    data = bytearray(path.read_bytes())
    at = {"rows": 1000, "ids": 2 * N * D + 8, "codes": 2 * N * D + 12 * N + 5000, "footer": -9}
    data[at[place]] ^= 1
    path.write_bytes(data)
    assert VectorIndex(tmp_path, "m", D).applied == 0


def test_what_fell_below_the_limit_is_exact_again(
    index: VectorIndex, rows: Rows, queries: Rows
) -> None:
    gone = _ids(np.arange(5000)).tolist()
    with index.updating():
        index.apply(6, gone, Vectors(np.empty(0, np.int64), np.empty((0, D), np.float32)))
    index.settle()
    assert len(index) == N - 5000
    for query in queries:
        expected = _nearest(_ids(np.arange(5000, N)), rows[5000:], query, 100)[0]
        assert np.array_equal(index.search(query, 100).ids, expected)


def test_a_damaged_row_scores_within_bounds() -> None:
    rows = _rows(4, 0).astype(np.float16)
    rows[1], rows[2, 3], rows[3] = np.inf, np.nan, 0
    scores = scored(rows, np.arange(4), unit(_rows(1, 1)[0]))
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 1.01


def test_every_number_of_half_precision_widens_exactly() -> None:
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = numbers[np.isfinite(numbers) & (numbers != 0)].reshape(-1, 1)
    signs = scored(finite, np.arange(len(finite)), np.ones(1, np.float32))
    assert signs == pytest.approx(np.sign(finite[:, 0].astype(np.float32)), abs=1e-6)


def test_files_of_others_are_let_be_or_ignored(tmp_path: Path) -> None:
    folder = VectorFolder(tmp_path, "m", D)
    (tmp_path / "dense-m-a copy-of it-x.index").touch()
    assert folder.newest_seq() == -1
    assert folder.newest(NONE, State.of) is None


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())  # of other tests, in a run of many
    yield
    assert set(threading.enumerate()) <= before
