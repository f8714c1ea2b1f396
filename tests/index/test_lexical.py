import shutil
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock

from index.errors import StorageBusy
from index.lexical import LexicalIndex
from index.records import Entry
from tests.index.library import TEXTS, bm25


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
    assert found.scores.tolist() == pytest.approx(list(bm25(left, "pump").values()), rel=1e-4)


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


def test_goes_on_where_a_process_was_killed_just_before_its_commit(
    index: LexicalIndex, tmp_path: Path
) -> None:
    """What was deleted is in a file by then, under the name that the next deletion gives it."""
    (folder,) = tmp_path.glob("lexical-db-*/1")
    committed = (folder / "meta.json").read_bytes()
    _apply(index, 6, [], [3])
    assert list(folder.glob("*.del"))
    (folder / "meta.json").write_bytes(committed)
    again = LexicalIndex(tmp_path, "db")
    assert again.applied == 5
    _apply(again, 6, [], [2, 3])
    assert (again.applied, again.ids().tolist()) == (6, [1, 4, 5, 6])


def test_survives_that_its_folder_is_deleted(index: LexicalIndex, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    with index.updating():
        assert index.applied == 0
        index.apply(5, [], _entries(TEXTS))
    assert index.search("crane pump", 5).ids.size == 3
