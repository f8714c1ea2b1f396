"""What all vectors of an encoder have in common, taken away before documents are compared.

Some encoders keep all their vectors in a narrow cone, and those of one language in a narrower one:
of multilingual-e5, any two documents have a cosine of about 0.8. Without the common direction,
what is unrelated has about 0, and a topic or a translation is found more often
(Mu and Viswanath 2018, "All-but-the-Top").
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index import Catalog
from index.owned import sample_of

if TYPE_CHECKING:
    from encoder import Embedder

Rows = NDArray[np.float32]

_SAMPLE = 1024  # vectors of a library that its mean is taken of
_PRIOR = 64  # vectors that the mean of unrelated texts counts for beside them

# Of as many subjects as there are lines: a small library is about one thing, which must not be
# taken away from it.
_TEXTS = (
    "The ferry to the island leaves at noon and takes two hours in calm weather.",
    "Granite is harder than marble, and far harder to carve.",
    "The treasurer counted the votes and wrote the result on the board.",
    "Please send the signed form to the office before the end of the month.",
    "Water boils at a lower temperature in the mountains.",
    "She learned to play the violin when she was six years old.",
    "도서관은 공사 때문에 다음 달까지 문을 닫는다.",
    "고양이는 하루에 열두 시간 이상 잠을 잔다.",
    "회의실은 총무팀에 미리 신청해야 쓸 수 있다.",
    "올해 사과 농사는 비가 많이 와서 잘되지 않았다.",
    "신청서는 이달 말까지 사무실로 보내 주십시오.",
    "그 배우는 스무 살에 처음 무대에 섰다.",
)


def centre_of(catalog: Catalog, collection: str, embedder: "Embedder | None" = None) -> Rows:
    """The mean of a library's vectors, (d,), steadied by the encoder's own where they are few."""
    rows = sample_of(catalog, collection, _SAMPLE)
    if embedder is None:
        return np.asarray(rows.sum(axis=0) / max(1, len(rows)), np.float32)
    usual = _usual(embedder.fingerprint, embedder)
    return np.asarray((rows.sum(axis=0) + _PRIOR * usual) / (len(rows) + _PRIOR), np.float32)


def centred(rows: Rows, centre: Rows) -> Rows:
    """Unit vectors without the common direction, (n, d)."""
    moved = rows - centre
    return np.asarray(moved / (np.linalg.norm(moved, axis=1, keepdims=True) + 1e-9), np.float32)


@lru_cache(maxsize=8)
def _usual(_fingerprint: str, embedder: "Embedder") -> Rows:
    return np.asarray(embedder.embed_documents(_TEXTS).mean(axis=0), np.float32)
