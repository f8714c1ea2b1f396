"""Passages in the other language, for a question that those in its own do not answer.

An encoder of many languages holds texts of one language nearer to each other than their meaning
does: a Korean question has every Korean passage before the English one that answers it. Looked for
among themselves, passages of the other language come in the right order.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from index import Collection
from index.analysis import is_korean
from rag.records import Hit
from rag.retrieve import CANDIDATES

if TYPE_CHECKING:
    from encoder import Embedder

_HANGUL = re.compile(r"[가-힣]")
_LETTER = re.compile(r"[^\W\d_]")
_KOREAN = 0.3  # of a text's letters, from where on it is Korean


def across(
    query: str,
    collection: Collection,
    embedder: "Embedder",
    k: int,
    documents: Sequence[int] | None = None,
) -> tuple[Hit, ...]:
    """The k passages in the other language that are nearest in meaning, best first.

    Args:
        query: a question in English or Korean
        collection: where to look
        embedder: one that speaks both
        k: how many at most
        documents: ids to stay within; None is all of them
    """
    found = collection.dense(
        embedder.embed_queries([query])[0],
        CANDIDATES,
        documents=documents,
        fingerprint=embedder.fingerprint,
    )
    cosines = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    korean = is_korean(query)
    others = [
        part for part in collection.chunks(found.ids) if is_mostly_korean(part.text) != korean
    ]
    return tuple(
        Hit(rank, cosines[part.id], cosines[part.id], None, part)
        for rank, part in enumerate(others[:k], start=1)
    )


def is_mostly_korean(text: str) -> bool:
    """Whether a text is Korean, foreign names and codes in it notwithstanding."""
    return len(_HANGUL.findall(text)) >= _KOREAN * max(1, len(_LETTER.findall(text)))
