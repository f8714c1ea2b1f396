import math
import shutil
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from filelock import FileLock

from index.analysis import tokens
from index.errors import StorageBusy
from index.lexical import LexicalIndex
from index.records import Entry

TEXTS = [
    "The pump QX-808 runs at 3.5 bar",
    "A pump is serviced every year; the pump log is kept",
    "Holiday rules of the branch office",
    "휴가는 매년 15일이고 학교에서는 다르다",
    "pump pump pump",
    "휴가 신청서를 제출한다",
]


def _entries(texts: list[str], first: int = 1) -> list[Entry]:
    return [Entry(i, 100 + i, text) for i, text in enumerate(texts, first)]


def _apply(index: LexicalIndex, seq: int, entries: list[Entry], gone: list[int]) -> None:
    with index.updating():
        index.apply(seq, [entry.chunk_id for entry in entries] + gone, entries)


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    index = LexicalIndex(tmp_path, "db")
    _apply(index, 5, _entries(TEXTS), [])
    return index


def _bm25(texts: dict[int, str], query: str) -> dict[int, float]:
    """Okapi BM25 with tantivy's constants. One row more: that of the applied `seq`."""
    rows = {key: Counter(tokens(text)) for key, text in texts.items()}
    n = len(rows) + 1
    mean = sum(row.total() for row in rows.values()) / n
    scores: dict[int, float] = {}
    for key, row in rows.items():
        for word, repeated in Counter(tokens(query)).items():
            df = sum(word in other for other in rows.values())
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            tf = row[word]
            if tf:
                part = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * row.total() / mean))
                scores[key] = scores.get(key, 0.0) + repeated * idf * part
    return scores


@pytest.mark.parametrize("query", ["pump", "QX-808 pump pump", "휴가가 며칠인가", "the branch log"])
def test_scores_are_those_of_bm25(index: LexicalIndex, query: str) -> None:
    expected = _bm25(dict(enumerate(TEXTS, 1)), query)
    found = index.search(query, 10)
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-4
    )
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)


def test_particles_do_not_hide_a_word(index: LexicalIndex) -> None:
    assert index.search("학교", 5).ids.tolist() == [4]


def test_a_code_is_found_by_itself_and_by_a_part(index: LexicalIndex) -> None:
    assert index.search("qx-808", 5).ids.tolist() == [1]
    assert index.search("808", 5).ids.tolist() == [1]


def test_chooses_among_documents(index: LexicalIndex) -> None:
    found = index.search("pump", 10)
    everywhere = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    within = index.search("pump", 10, [102, 105, 106, 999])
    assert sorted(within.ids.tolist()) == [2, 5]
    assert within.scores.tolist() == pytest.approx([everywhere[i] for i in within.ids.tolist()])
    assert not index.search("pump", 10, []).ids.size


def test_k_beyond_n_nothing_to_find_and_an_empty_index(index: LexicalIndex, tmp_path: Path) -> None:
    assert len(index.search("pump", 10_000_000).ids) == 3
    assert len(index.search("pump", 1).ids) == 1
    assert not index.search("submarine", 5).ids.size
    assert not index.search("is it the", 5).ids.size
    assert not index.search('"(*:+-', 5).ids.size
    assert not LexicalIndex(tmp_path / "other", "db").search("pump", 5).ids.size
    with pytest.raises(ValueError, match=r"k \(0\) must be at least 1"):
        index.search("pump", 0)


def test_applying_replaces_and_removes(index: LexicalIndex) -> None:
    _apply(index, 9, [Entry(2, 102, "Nothing but a crane")], [5])
    assert index.search("pump", 10).ids.tolist() == [1]
    assert index.search("crane", 10).ids.tolist() == [2]
    assert (index.applied, len(index)) == (9, 5)


def test_another_instance_sees_the_commit(index: LexicalIndex, tmp_path: Path) -> None:
    other = LexicalIndex(tmp_path, "db")
    assert other.applied == 5
    _apply(index, 6, [Entry(7, 107, "crane")], [])
    with other.updating():
        assert other.applied == 6
    assert other.search("crane", 5).ids.tolist() == [7]


def test_another_database_has_an_index_of_its_own(index: LexicalIndex, tmp_path: Path) -> None:
    assert LexicalIndex(tmp_path, "db2").applied == 0


def test_begins_anew_when_deleted_rows_distort_the_statistics(index: LexicalIndex) -> None:
    _apply(index, 6, [], [1, 2])
    index.settle()
    assert (index.applied, len(index)) == (0, 0)
    left = {key: text for key, text in enumerate(TEXTS, 1) if key > 2}
    _apply(index, 6, [Entry(key, 100 + key, text) for key, text in left.items()], [1, 2])
    index.settle()
    assert (index.applied, len(index)) == (6, 4)
    found = index.search("pump", 5)
    assert found.scores.tolist() == pytest.approx(list(_bm25(left, "pump").values()), rel=1e-4)


def test_keeps_what_it_has_while_few_rows_are_deleted(index: LexicalIndex) -> None:
    _apply(index, 6, [], [3])
    index.settle()
    assert (index.applied, len(index)) == (6, 5)


def test_a_lock_under_which_nothing_moves_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.lexical._WAIT_S", 0.05)
    waiting = LexicalIndex(tmp_path, "db")
    message = r"the index .*lexical-db-1-kiwi.* was locked by another process for 0.05 s"
    with FileLock(tmp_path / "lexical.lock"), pytest.raises(StorageBusy, match=message):
        waiting.reset()
    waiting.reset()


def test_waits_while_the_lock_is_put_to_use(
    index: LexicalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.lexical._WAIT_S", 0.3)
    waiting = LexicalIndex(tmp_path, "db")
    locked = threading.Event()

    def work() -> None:
        with index.updating():
            locked.set()
            for seq in range(6, 12):
                index.apply(seq, [], [])
                time.sleep(0.1)

    worker = threading.Thread(target=work)
    worker.start()
    locked.wait()
    with waiting.updating():
        assert waiting.applied == 11
    worker.join()


@pytest.mark.parametrize("damage", ["removed", "overwritten", "truncated"])
def test_a_damaged_folder_is_left_for_a_new_generation(
    index: LexicalIndex, tmp_path: Path, damage: str
) -> None:
    for path in tmp_path.glob("lexical-db-*/1/*.term"):
        if damage == "removed":
            path.unlink()
        else:
            path.write_bytes(b"x" * (path.stat().st_size if damage == "overwritten" else 3))
    again = LexicalIndex(tmp_path, "db")
    assert again.applied == 0
    assert not again.search("pump", 5).ids.size
    _apply(again, 5, _entries(TEXTS), [])
    assert LexicalIndex(tmp_path, "db").search("pump", 5).ids.size == 3
    assert [path.name for path in tmp_path.glob("lexical-db-*/*")] == ["2"]


def test_survives_that_its_folder_is_deleted(index: LexicalIndex, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    with index.updating():
        assert index.applied == 0
        index.apply(5, [], _entries(TEXTS))
    assert index.search("crane pump", 5).ids.size == 3
