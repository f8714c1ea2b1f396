"""Vectors of long lists of texts, kept in a folder so that a second run need not encode again."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from encoder import Embedder

_AT_ONCE = 512  # texts in a file: what a stop loses at most


def embedded(texts: Sequence[str], embedder: Embedder, cache: Path | None) -> NDArray[np.float32]:
    """Unit vectors of documents, (n, d).

    Args:
        texts: in any order, at least one
        embedder: its weights name the files; empty the folder when its code changes
        cache: None keeps nothing
    """
    blocks = [texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE)]
    if cache is None:
        return np.concatenate([embedder.embed_documents(block) for block in blocks])
    cache.mkdir(parents=True, exist_ok=True)
    return np.concatenate([_kept(block, embedder, cache) for block in blocks])


def _kept(texts: Sequence[str], embedder: Embedder, cache: Path) -> NDArray[np.float32]:
    dtype = next(embedder.model.parameters()).dtype
    name = hashlib.sha256(f"{embedder.fingerprint} {dtype}".encode())
    for text in texts:
        name.update(hashlib.sha256(text.encode()).digest())
    file = cache / f"{name.hexdigest()[:32]}.npy"
    if file.is_file():
        kept: NDArray[np.float32] = np.load(file, allow_pickle=False)
        return kept
    vectors = embedder.embed_documents(texts)
    aside = file.with_suffix(".tmp.npy")
    np.save(aside, vectors)
    aside.replace(file)
    return vectors
