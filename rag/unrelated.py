"""How similar an encoder finds what has nothing to do with each other.

Some encoders keep all their vectors in a narrow cone: multilingual-e5 gives unrelated texts a
cosine of about 0.75, all-MiniLM one of about 0. Thresholds are set on what lies above that.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from encoder import Embedder

# Questions and passages of as many subjects as there are lines; none belongs to another's.
_QUESTIONS = (
    "How long does the battery of the torch last?",
    "Who signed the lease for the warehouse?",
    "What does the choir sing on Sunday?",
    "When was the bridge over the river painted?",
    "How do I prune an apple tree?",
    "연차 휴가는 며칠인가요?",
    "세탁기 보증 기간은 얼마나 되나요?",
    "회의실은 어떻게 예약하나요?",
)
_PASSAGES = (
    "The ferry to the island leaves at noon and takes two hours in calm weather.",
    "Our bakery sells rye bread with caraway seeds on market days.",
    "The treasurer counted the votes and wrote the result on the board.",
    "Granite is harder than marble, and far harder to carve.",
    "Each pupil brings an apron and two brushes to the painting class.",
    "도서관은 공사 때문에 다음 달까지 문을 닫는다.",
    "등산로 입구에는 작은 매점과 화장실이 있다.",
    "고양이는 하루에 열두 시간 이상 잠을 잔다.",
)


def unrelated_cosine(embedder: "Embedder") -> float:
    """The median cosine of questions and passages that do not belong together, at least 0."""
    return _unrelated(embedder.fingerprint, embedder)


@lru_cache(maxsize=8)
def _unrelated(_fingerprint: str, embedder: "Embedder") -> float:
    questions = embedder.embed_queries(list(_QUESTIONS))
    passages = embedder.embed_documents(list(_PASSAGES))
    return max(0.0, float(np.median(questions @ passages.T)))


def above_unrelated(cosine: float, unrelated: float) -> float:
    """A cosine stretched so that what is unrelated has 0 and the same has 1."""
    return (cosine - unrelated) / (1 - unrelated)
