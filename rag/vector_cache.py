"""Vectors of texts, kept in a folder so that a text need not be encoded twice."""

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from encoder import Embedder

Watch = Callable[[int, int], None]  # texts done, texts in all

_AT_ONCE = 512  # texts in a file: what a stop loses at most


def unwatched(_done: int, _total: int) -> None:
    """Nobody looks."""


def embedded(
    texts: Sequence[str], embedder: "Embedder", cache: Path | None, *, watch: Watch = unwatched
) -> NDArray[np.float32]:
    """Unit vectors of documents, (n, d), in the order given.

    Args:
        texts: within the encoder's limit
        embedder: vectors are kept by its fingerprint and precision, and by each text's hash; empty
            the folder when its code changes
        cache: None keeps nothing
        watch: called as texts are done
    """
    shelf = None if cache is None else cache / f"{embedder.fingerprint}-{precision(embedder)}"
    keys = [sha256(text.encode()).digest() for text in texts]
    known = {} if shelf is None else _known(shelf, set(keys))
    lacking = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    done = len(known)
    for block in _blocks(list(lacking)):
        vectors = embedder.embed_documents([lacking[key] for key in block])
        if shelf is not None:
            _keep(shelf, block, vectors)
        known |= zip(block, vectors, strict=True)
        done += len(block)
        watch(done, len(set(keys)))
    rows = np.empty((len(texts), embedder.dimensions), np.float32)
    for row, key in enumerate(keys):
        rows[row] = known[key]
    return rows


def precision(embedder: "Embedder") -> str:
    """The numbers that an encoder computes in: its vectors differ a little by that."""
    return str(next(embedder.model.parameters()).dtype).removeprefix("torch.")


def _blocks(keys: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]


def _known(shelf: Path, wanted: set[bytes]) -> dict[bytes, NDArray[np.float32]]:
    known: dict[bytes, NDArray[np.float32]] = {}
    for file in sorted(shelf.glob("*.keys.npy")):
        rows: NDArray[np.float32] = np.load(_vectors_of(file), allow_pickle=False)
        for key, row in zip(np.load(file, allow_pickle=False), rows, strict=True):
            if (name := key.tobytes()) in wanted:
                known[name] = row
    return known


def _keep(shelf: Path, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
    shelf.mkdir(parents=True, exist_ok=True)
    file = shelf / f"{sha256(b''.join(keys)).hexdigest()[:32]}.keys.npy"
    _write(_vectors_of(file), vectors)
    # Last: what is there without its keys is not looked at.
    _write(file, np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1))


def _write(file: Path, array: NDArray[Any]) -> None:
    aside = file.with_suffix(f".{os.getpid()}.tmp")
    with aside.open("wb") as stream:  # by name, numpy would add its own ending
        np.save(stream, array)
    aside.replace(file)


def _vectors_of(keys: Path) -> Path:
    return keys.with_name(keys.name.replace(".keys.npy", ".npy"))
