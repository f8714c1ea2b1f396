"""Losses on embeddings, float32 and without a model: vectors in, one number out.

Vectors may have any length: what counts is the cosine. Each loss is the mean over its queries.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Loss = Callable[..., Tensor]  # of vectors, (n, d) each and in the same order, or (n, k, d)

_ROUNDING = 1e-6  # of a cosine: by so much, two of the same vectors may differ


def info_nce(
    queries: Tensor,
    documents: Tensor,
    *,
    temperature: float,
    negatives: Tensor | None = None,
    same: Tensor | None = None,
) -> Tensor:
    """Each query is to find its own document in the batch (van den Oord et al. 2018, §2.3).

    Pairs of a text with itself under two dropouts make it SimCSE (Gao et al. 2021, §3).

    Args:
        queries: (n, d)
        documents: (n, d), the i-th is the answer to the i-th query
        temperature: cosines are divided by it
        negatives: (n, k, d), hard ones, which all queries of the batch see (Karpukhin et al. 2020,
            §3.2)
        same: bool, (n, n) or (n, n + n k), True where a document, or a negative of the batch, must
            not be counted against a query: it answers it too, or it only fills a place
    """
    scores = _cosines(queries, _candidates(documents, negatives)) / temperature  # (n, n + n k)
    if same is not None:
        scores = scores.masked_fill(_but_own(same, scores), float("-inf"))
    return F.cross_entropy(scores, _own(queries))


def symmetric_info_nce(
    queries: Tensor,
    documents: Tensor,
    *,
    temperature: float,
    negatives: Tensor | None = None,
    same: Tensor | None = None,
) -> Tensor:
    """`info_nce`, half of it for documents finding their query (Radford et al. 2021, §2.3)."""
    backwards = None if same is None else same[:, : len(queries)].T
    there = info_nce(queries, documents, temperature=temperature, negatives=negatives, same=same)
    back = info_nce(documents, queries, temperature=temperature, same=backwards)
    return (there + back) / 2


def guided_info_nce(
    queries: Tensor,
    documents: Tensor,
    *,
    guide_queries: Tensor,
    guide_documents: Tensor,
    temperature: float,
    negatives: Tensor | None = None,
    guide_negatives: Tensor | None = None,
) -> Tensor:
    """`info_nce` that a second model keeps from false negatives (GISTEmbed, Solatorio 2024, §3).

    The other queries count against a query, and the other documents against its document. Whatever
    the guide finds as near as the pair itself, or nearer, is left out: a passage that answers two
    queries of a batch is wrong for neither.

    Args:
        queries: (n, d)
        documents: (n, d)
        guide_queries: (n, e), the guide's vectors of the same texts
        guide_documents: (n, e)
        temperature: cosines are divided by it
        negatives: (n, k, d), as in `info_nce`
        guide_negatives: (n, k, e), with negatives
    """
    if (negatives is None) != (guide_negatives is None):
        raise ValueError("negatives and guide_negatives are given together or not at all")
    scores = _all_pairs(queries, documents, negatives) / temperature
    guide = _all_pairs(guide_queries, guide_documents, guide_negatives)
    own = _own(queries)
    limit = guide.gather(1, own.unsqueeze(1)) - _ROUNDING  # (n, 1)
    left_out = _but_own(guide > limit, scores)
    n = len(queries)
    itself = torch.eye(n, dtype=torch.bool, device=scores.device)
    left_out[:, n : 2 * n] |= itself
    left_out[:, 2 * n : 3 * n] |= itself
    return F.cross_entropy(scores.masked_fill(left_out, float("-inf")), own)


def cosent(left: Tensor, right: Tensor, grades: Tensor, *, temperature: float) -> Tensor:
    """Of two pairs the one of the higher grade is to have the higher cosine (Su 2022, CoSENT).

    log(1 + Σ exp((cos_j - cos_i) / temperature)) over all i, j with grades i over j: (n,) grades of
    any scale, for their order alone counts.
    """
    cosines = F.cosine_similarity(left.float(), right.float(), dim=-1) / temperature  # (n,)
    wrong = cosines[None, :] - cosines[:, None]  # (i, j)
    wrong = wrong[grades[:, None] > grades[None, :]]
    return torch.cat([wrong, wrong.new_zeros(1)]).logsumexp(dim=0)


def listwise_kl(scores: Tensor, teacher: Tensor, *, temperature: float) -> Tensor:
    """How far a list's scores are from the teacher's: KL(teacher ‖ scores) of their softmax.

    Cao et al. 2007 (ListNet, §4), with the temperature of Hinton et al. 2015 (§2) for both.

    Args:
        scores: of the same k documents for each query, (n, k)
        teacher: (n, k); -inf where a list is shorter
    """
    absent = teacher == float("-inf")
    wanted = (teacher.float() / temperature).softmax(dim=1)
    got = (scores.float() / temperature).masked_fill(absent, float("-inf")).log_softmax(dim=1)
    got = got.masked_fill(absent, 0.0)
    return F.kl_div(got, wanted, reduction="batchmean")


def matryoshka(loss: Loss, dimensions: Sequence[int]) -> Loss:
    """The mean of a loss over vectors cut to their first dimensions (Kusupati et al. 2022, §3).

    Every vector is given in its place, by no name: `matryoshka(partial(info_nce, temperature=.05),
    (256, 64))(queries, documents)`.
    """
    if not dimensions:
        raise ValueError("matryoshka needs at least one number of dimensions")

    def cut(*vectors: Tensor) -> Tensor:
        losses = [loss(*(each[..., :width] for each in vectors)) for width in dimensions]
        return torch.stack(losses).mean()

    return cut


def _cosines(left: Tensor, right: Tensor) -> Tensor:
    """(n, d) and (m, d) to (n, m) fp32."""
    return F.normalize(left.float(), dim=-1) @ F.normalize(right.float(), dim=-1).T


def _candidates(documents: Tensor, negatives: Tensor | None) -> Tensor:
    return documents if negatives is None else torch.cat([documents, negatives.flatten(0, 1)])


def _all_pairs(queries: Tensor, documents: Tensor, negatives: Tensor | None) -> Tensor:
    """Query to document, query to query, document to document, query to negative, side by side."""
    parts = [
        _cosines(queries, documents),
        _cosines(queries, queries),
        _cosines(documents, documents),
    ]
    if negatives is not None:
        parts.append(_cosines(queries, negatives.flatten(0, 1)))
    return torch.cat(parts, dim=1)


def _own(queries: Tensor) -> Tensor:
    return torch.arange(len(queries), device=queries.device)


def _but_own(marked: Tensor, scores: Tensor) -> Tensor:
    """The marks as wide as the scores, none of them at a query's own document."""
    wide = torch.zeros_like(scores, dtype=torch.bool)
    wide[:, : marked.shape[1]] = marked
    return wide.fill_diagonal_(False)
