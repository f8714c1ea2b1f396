"""Re-ranking: the generator's vote on the best hits, by how well each explains the question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.analysis import is_korean
from rag import prompts
from rag.chunking import encoded_text
from rag.errors import ModelMissing, NotFound, Unreadable
from rag.loaded import LoadedModels, speaks
from rag.records import Hit

if TYPE_CHECKING:
    from generator import Writer

WEIGHT = 0.3  # of the vote beside the fused score, whose best is 1: alone it ranks worse than both
TOP = 8  # hits that are voted on


@dataclass(frozen=True, slots=True)
class Reranker:
    """A writer that speaks the question's language, and how much its vote counts."""

    writer: "Writer"
    weight: float = WEIGHT
    top: int = TOP

    def __call__(self, query: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """The hits in their new order, the first `top` of them voted on."""
        return reranked(hits, votes(self.writer, query, hits[: self.top]), self.weight)


def votes(writer: "Writer", query: str, hits: Sequence[Hit]) -> NDArray[np.float32]:
    """How likely a writer finds the query behind each hit; it keeps what it read of them.

    It reads them as where it answers from them, behind the same words.
    """
    from generator.blocks import caches_of
    from generator.likelihood import likelihoods_behind

    caches = caches_of(writer, prompts.system(writer))
    return likelihoods_behind(caches, query, [passage(hit) for hit in hits])


def choose(
    asked: bool | None,
    weight: float,
    query: str,
    *,
    fused: bool,
    generator: str,
    models: LoadedModels,
) -> tuple[Reranker | None, tuple[str, ...]]:
    """Who has a vote on the hits of a query, and what its reader should know.

    Args:
        asked: whether a person wants it; None leaves that to the library
        weight: of the library, 0 where re-ranking did not prove to be worth its time there
        query: which the generator has to understand
        fused: whether the hits come of meaning and words together
        generator: name or folder
        models: of the product

    Returns:
        nobody, and perhaps a note why: where it is not wanted, and where it cannot be

    Raises:
        NotFound, ModelMissing, Unreadable: there is no such generator, and a person asked for it.
    """
    if asked is False or (asked is None and not weight):
        return None, ()
    if not speaks(generator, "ko" if is_korean(query) else "en"):
        return None, (_not_understood(query),) if asked else ()
    if not fused:
        return None, (_not_fused(query),) if asked else ()
    try:
        return Reranker(models.writer(), weight or WEIGHT), ()
    except (NotFound, ModelMissing, Unreadable) as error:
        if asked:
            raise
        return None, (f"{_without(query)} ({error})",)


def passage(hit: Hit) -> str:
    """What the generator reads of a hit: as the encoder, its text under its title and headings."""
    part = hit.chunk
    return encoded_text(part.document.title, part.heading, part.text)


def reranked(
    hits: Sequence[Hit], likelihoods: NDArray[np.float32], weight: float
) -> tuple[Hit, ...]:
    """Hits by fused score + weight * likelihood, the likelihoods stretched to 0..1.

    The worst of them adds 0, so a hit that was voted on never falls behind one that was not.

    Args:
        hits: best first
        likelihoods: of the first of them, in their order
        weight: 0 changes no order
    """
    added = weight * stretched(likelihoods)
    first = [
        replace(hit, score=hit.score + float(vote), likelihood=float(likelihood))
        for hit, vote, likelihood in zip(hits, added, likelihoods, strict=False)
    ]
    first.sort(key=lambda hit: -hit.score)  # stable: equal scores stay in their order
    ordered = [*first, *hits[len(first) :]]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=1))


def stretched(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """From 0, the least of them, to 1; equal ones say nothing and are 0."""
    spread = np.ptp(values) if len(values) else 0
    if not spread:
        return np.zeros_like(values)
    return np.asarray((values - values.min()) / spread, np.float32)


def _not_understood(query: str) -> str:
    if is_korean(query):
        return "생성 모델이 이 언어를 지원하지 않아 순위를 다시 매기지 않았습니다."
    return "The generator does not speak this language: the hits were not re-ranked."


def _not_fused(query: str) -> str:
    if is_korean(query):
        return "의미와 단어를 함께 찾을 때만 순위를 다시 매깁니다."
    return "Only hits found by meaning and words together are re-ranked."


def _without(query: str) -> str:
    if is_korean(query):
        return "생성 모델을 쓸 수 없어 순위를 다시 매기지 않았습니다."
    return "The generator is not at hand: the hits were not re-ranked."
