"""The file of a dense index: written aside, renamed, then read by any process and never changed.

    rows     (n, d) float16, unit length, by ascending chunk id; read where they lie in the file
    ids      (n,) int64, ascending
    lists    (n,) int32, the list that each row belongs to; -1 where there are none
    codes    what FAISS needs to choose among the rows, empty where there are no lists
    footer   JSON, then its length in 8 bytes

The name says what is in it, `dense-<name>-<seq>-<checksum of the footer>.index`, and the footer
holds the checksums of the rest. Whatever steers a search is checked when a file is opened. Of the
rows, blocks spread over the whole are, small files wholly: a damaged row spoils the score of one
chunk and nothing else, and reading all of a million takes seconds from a slow disk.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 20  # bytes of the rows that share a checksum
_CHECKED = 32  # of those blocks, when a file is opened
_LENGTH = 8  # bytes that end a file


@dataclass(frozen=True, slots=True)
class Lists:
    """What follows the rows."""

    ids: NDArray[np.int64]  # (n,)
    lists: NDArray[np.int32]  # (n,)
    codes: NDArray[np.uint8]
    trained: int  # of how many rows the lists were made, 0 where there are none


@dataclass(frozen=True, slots=True)
class Saved(Lists):
    """What a file holds."""

    rows: NDArray[np.float16]  # (n, d), mapped from the file


def write(
    file: BinaryIO, dimensions: int, rows: Iterable[NDArray[np.float16]], then: Callable[[], Lists]
) -> int:
    """Writes rows as they come, in any blocks, and then what is known only after them.

    Returns:
        The checksum that belongs in the file's name.
    """
    sums = _Sums()
    for block in rows:
        data = np.ascontiguousarray(block, "<f2").tobytes()
        file.write(data)
        sums.add(data)
    after = then()
    rest = b"".join(
        (
            np.ascontiguousarray(after.ids, "<i8").tobytes(),
            np.ascontiguousarray(after.lists, "<i4").tobytes(),
            after.codes.tobytes(),
        )
    )
    file.write(rest)
    footer = {
        "n": len(after.ids),
        "dimensions": dimensions,
        "trained": after.trained,
        "codes": after.codes.size,
        "rest": zlib.crc32(rest),
        "rows": sums.all(),
    }
    encoded = json.dumps(footer).encode()
    file.write(encoded + len(encoded).to_bytes(_LENGTH, "little"))
    file.flush()
    os.fsync(file.fileno())
    return zlib.crc32(encoded)


def read(path: Path, dimensions: int, checksum: int) -> Saved:
    """Opens a file.

    Raises:
        ValueError: It is not what its name claims, or of another width.
        OSError: It is gone.
    """
    with path.open("rb") as file:
        footer = _footer(file, checksum)
        n, wide = int(footer["n"]), int(footer["dimensions"])
        if wide != dimensions:
            raise ValueError(f"{path.name} holds {wide} dimensions, not {dimensions}")
        size = 2 * n * wide
        _check_rows(file, size, footer["rows"])
        file.seek(size)
        rest = file.read(12 * n + int(footer["codes"]))
        if zlib.crc32(rest) != footer["rest"]:
            raise ValueError(f"{path.name} is damaged behind its rows")
    return Saved(
        ids=np.frombuffer(rest, "<i8", n),
        lists=np.frombuffer(rest, "<i4", n, 8 * n),
        codes=np.frombuffer(rest, np.uint8, offset=12 * n),
        trained=int(footer["trained"]),
        # A plain array over the map: a memmap would make one of every slice.
        rows=np.asarray(np.memmap(path, "<f2", "r", shape=(n, wide)))
        if n
        else np.empty((0, wide), np.float16),
    )


def _footer(file: BinaryIO, checksum: int) -> dict[str, Any]:
    size = file.seek(0, os.SEEK_END)
    if size < _LENGTH:
        raise ValueError(f"{size} bytes are no index")
    file.seek(size - _LENGTH)
    length = int.from_bytes(file.read(_LENGTH), "little")
    if length > size - _LENGTH:
        raise ValueError(f"a footer of {length} bytes in a file of {size}")
    file.seek(size - _LENGTH - length)
    encoded = file.read(length)
    if zlib.crc32(encoded) != checksum:
        raise ValueError(f"the footer's checksum is not {checksum:08x}")
    footer: dict[str, Any] = json.loads(encoded)
    return footer


def _check_rows(file: BinaryIO, size: int, sums: list[int]) -> None:
    every = max(1, -(-len(sums) // _CHECKED))
    for block in range(0, len(sums), every):
        file.seek(block * _BLOCK)
        if zlib.crc32(file.read(min(_BLOCK, size - block * _BLOCK))) != sums[block]:
            raise ValueError(f"rows from byte {block * _BLOCK} on are damaged")


class _Sums:
    """Checksums of what is written, block by block."""

    def __init__(self) -> None:
        self._done: list[int] = []
        self._sum = 0
        self._missing = _BLOCK

    def add(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            part, view = view[: self._missing], view[self._missing :]
            self._sum = zlib.crc32(part, self._sum)
            self._missing -= len(part)
            if not self._missing:
                self._done.append(self._sum)
                self._sum, self._missing = 0, _BLOCK

    def all(self) -> list[int]:
        return self._done + ([self._sum] if self._missing < _BLOCK else [])
