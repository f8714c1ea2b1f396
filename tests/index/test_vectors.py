import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from index.codec import decode, encode, unit
from index.records import Vectors
from index.vectors import VectorIndex

D = 16


def _index(folder: Path) -> VectorIndex:
    return VectorIndex(folder, "m", D)


def _rows(n: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, D)).astype(np.float32)


def _vectors(ids: list[int], seed: int = 0) -> Vectors:
    return Vectors(np.array(ids, np.int64), _rows(len(ids), seed))


def test_another_instance_loads_what_was_saved(tmp_path: Path) -> None:
    index = _index(tmp_path)
    vectors = _vectors([10, 20, 30])
    index.apply(7, [], vectors)
    index.save()
    again = _index(tmp_path)
    assert again.applied == 7
    assert again.search(vectors.rows[1], 1).ids.tolist() == [20]


def test_each_save_is_a_new_file_and_older_ones_go(tmp_path: Path) -> None:
    index = _index(tmp_path)
    index.apply(1, [], _vectors([1]))
    index.save()
    (first,) = tmp_path.iterdir()
    index.apply(2, [], _vectors([2]))
    index.save()
    (second,) = tmp_path.iterdir()
    assert first != second
    assert second.name.startswith("dense-m-000000000002-00000-")


def test_a_save_that_was_killed_is_cleaned_up_later(tmp_path: Path) -> None:
    left, running = tmp_path / "dense-m.1-1.tmp", tmp_path / "dense-m.2-2.tmp"
    left.touch()
    running.touch()
    os.utime(left, (0, 0))
    index = _index(tmp_path)
    index.apply(1, [], _vectors([1]))
    index.save()
    assert not left.exists()
    assert running.exists()


def test_saves_by_itself_once_there_is_much_to_lose(tmp_path: Path) -> None:
    index = _index(tmp_path)
    index.apply(1, range(900), _vectors(list(range(900))))
    index.settle()
    assert not list(tmp_path.iterdir())
    index.apply(2, range(900, 1800), _vectors(list(range(900, 1800))))
    index.settle()
    assert _index(tmp_path).applied == 2


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty"])
def test_a_damaged_file_is_passed_over(tmp_path: Path, damage: str) -> None:
    index = _index(tmp_path)
    index.apply(3, [], _vectors([1, 2, 3]))
    index.save()
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    middle = len(good) // 2
    path.write_bytes(
        {
            "flipped": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
            "truncated": good[:middle],
            "empty": b"",
        }[damage]
    )
    again = _index(tmp_path)
    assert (again.applied, len(again)) == (0, 0)


def test_files_of_another_model_or_width_are_not_used(tmp_path: Path) -> None:
    index = _index(tmp_path)
    index.apply(3, [], _vectors([1, 2, 3]))
    index.save()
    assert VectorIndex(tmp_path, "other", D).applied == 0
    assert VectorIndex(tmp_path, "m", D + 1).applied == 0


def test_reset_forgets_the_files_too(tmp_path: Path) -> None:
    index = _index(tmp_path)
    index.apply(3, [], _vectors([1, 2, 3]))
    index.save()
    index.reset()
    assert (index.applied, len(index), _index(tmp_path).applied) == (0, 0, 0)


def test_stored_vectors_keep_unit_length_and_direction() -> None:
    rows = _rows(50) * 100
    kept = decode(encode(rows), D)
    assert np.abs(np.linalg.norm(kept, axis=1) - 1).max() < 1e-5
    assert (kept * unit(rows)).sum(axis=1).min() > 0.9999
    assert len(encode(rows)[0]) == 2 * D
    assert decode([], D).shape == (0, D)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_vector_without_direction_is_refused(bad: float) -> None:
    rows = _rows(3)
    rows[1] = bad
    with pytest.raises(ValueError, match=r"vector 1 of 3 has length .* finite and not zero"):
        encode(rows)
