"""How far a taught encoder has moved on what it was not taught: text of the project's own.

No labels are needed: which questions are alike must stay as it was, and a Korean question must
find the same one in English as often as it did.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from encoder import Embedder

LIKENESS = 0.7  # correlation that is asked for
LOST = 0.1  # share of the pairs that may be lost

# The same question in both languages, each pair about a subject of its own.
_PAIRS = (
    ("How many days of annual leave do I have?", "연차 휴가는 며칠인가요?"),
    ("How do I reset my password?", "비밀번호는 어떻게 재설정하나요?"),
    ("When is the library open on Sundays?", "도서관은 일요일에 몇 시에 여나요?"),
    ("What does the warranty of the washing machine cover?", "세탁기 보증은 무엇을 보장하나요?"),
    ("Who approves travel expenses?", "출장비는 누가 승인하나요?"),
    ("How is a meeting room booked?", "회의실은 어떻게 예약하나요?"),
    ("What is the boiling point of water at high altitude?", "높은 산에서 물은 몇 도에서 끓나요?"),
    ("Which vaccine protects against measles?", "홍역을 예방하는 백신은 무엇인가요?"),
    ("How long does it take to bake bread?", "빵을 굽는 데 얼마나 걸리나요?"),
    ("Why did the bridge collapse?", "다리는 왜 무너졌나요?"),
    ("How can I prune an apple tree?", "사과나무 가지치기는 어떻게 하나요?"),
    ("What did the court decide about the contract?", "법원은 그 계약에 대해 어떻게 판결했나요?"),
    ("How fast does the new train go?", "새 열차는 얼마나 빠른가요?"),
    ("Where are the emergency exits of the building?", "건물의 비상구는 어디에 있나요?"),
    ("What is the interest rate of the loan?", "대출 금리는 얼마인가요?"),
    ("How do bees find their way back?", "꿀벌은 어떻게 집으로 돌아오나요?"),
    ("Which team won the final?", "결승전에서는 어느 팀이 이겼나요?"),
    ("How do I update the printer driver?", "프린터 드라이버는 어떻게 업데이트하나요?"),
    ("What causes high blood pressure?", "고혈압의 원인은 무엇인가요?"),
    ("When was the castle built?", "그 성은 언제 지어졌나요?"),
)


@dataclass(frozen=True, slots=True)
class Drift:
    """On the project's own questions, before and after."""

    cosine: float  # mean, of a question to itself as the base encodes it
    likeness: float  # correlation of the cosines between questions, before and after
    pairs_before: float  # share of Korean questions whose English one is the nearest
    pairs_after: float

    @property
    def bearable(self) -> bool:
        lost = self.pairs_before - self.pairs_after
        return self.likeness >= LIKENESS and lost <= LOST + 1e-9


def drift(base: "Embedder", taught: "Embedder") -> Drift:
    """How far the questions of `taught` are from those of `base`."""
    english, korean = (list(side) for side in zip(*_PAIRS, strict=True))
    before, after = (each.embed_queries(english + korean) for each in (base, taught))
    n = len(english)
    return Drift(
        cosine=float((before * after).sum(axis=1).mean()),
        likeness=_likeness(before, after),
        pairs_before=_found(before[n:], before[:n]),
        pairs_after=_found(after[n:], after[:n]),
    )


def _likeness(before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
    pairs = np.triu_indices(len(before), 1)
    old, new = ((rows @ rows.T)[pairs] for rows in (before, after))
    if old.std() < 1e-6 or new.std() < 1e-6:  # all in one place: nothing is told apart
        return 0.0
    return float(np.corrcoef(old, new)[0, 1])


def _found(rows: NDArray[np.float32], others: NDArray[np.float32]) -> float:
    """The share of rows that are nearest to the one of the same place."""
    nearest = (rows @ others.T).argmax(axis=1)
    return float((nearest == np.arange(len(rows))).mean())
