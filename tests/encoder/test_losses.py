"""Losses against loops over pairs, as the papers write them, gradients included."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from encoder import losses
from tests.builders import normal

T = 0.1


def _cosine(left: Tensor, right: Tensor) -> Tensor:
    return left @ right / (left.norm() * right.norm())


def _chosen(own: Tensor, others: list[Tensor], temperature: float = T) -> Tensor:
    """-log of the share that the own score has of all."""
    everything = torch.stack([own, *others]) / temperature
    return everything.exp().sum().log() - own / temperature


def _info_nce(
    queries: Tensor, documents: Tensor, negatives: Tensor | None = None, same: Tensor | None = None
) -> Tensor:
    total = torch.zeros((), dtype=queries.dtype)
    flat = [] if negatives is None else [each for row in negatives for each in row]
    columns = [*documents, *flat]
    for i, query in enumerate(queries):
        others = [
            _cosine(query, column)
            for j, column in enumerate(columns)
            if j != i and not (same is not None and j < same.shape[1] and same[i, j])
        ]
        total = total + _chosen(_cosine(query, documents[i]), others)
    return total / len(queries)


def _vectors(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [2 * normal(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def _assert_same(
    loss: Callable[..., Tensor], oracle: Callable[..., Tensor], vectors: list[Tensor]
) -> None:
    """Value in float32, and the gradient of every vector, against the oracle in float64."""
    narrow = [each.clone().requires_grad_() for each in vectors]
    wide = [each.double().requires_grad_() for each in vectors]
    got, expected = loss(*narrow), oracle(*wide)
    assert got.dtype == torch.float32
    assert_close(got.double(), expected, atol=1e-5, rtol=1e-5)
    mine = torch.autograd.grad(got, narrow)
    theirs = torch.autograd.grad(expected, wide)
    for gradient, reference in zip(mine, theirs, strict=True):
        assert_close(gradient.double(), reference, atol=1e-5, rtol=1e-4)


def test_info_nce() -> None:
    _assert_same(partial(losses.info_nce, temperature=T), _info_nce, _vectors((5, 7), (5, 7)))


def test_info_nce_with_hard_negatives_that_all_queries_see() -> None:
    def loss(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        return losses.info_nce(queries, documents, temperature=T, negatives=negatives)

    _assert_same(loss, _info_nce, _vectors((4, 6), (4, 6), (4, 3, 6)))


@pytest.mark.parametrize("width", [4, 12])
def test_false_negatives_do_not_count_but_the_own_document_always_does(width: int) -> None:
    same = normal(4, width, seed=9) > 0.3
    same[0] = True

    def loss(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        return losses.info_nce(queries, documents, temperature=T, negatives=negatives, same=same)

    oracle = partial(_info_nce, same=same)
    _assert_same(loss, oracle, _vectors((4, 6), (4, 6), (4, 2, 6)))


def test_symmetric_info_nce_is_both_ways() -> None:
    same = normal(5, 15, seed=9) > 0.5

    def loss(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        return losses.symmetric_info_nce(
            queries, documents, temperature=T, negatives=negatives, same=same
        )

    def oracle(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        there = _info_nce(queries, documents, negatives, same)
        return (there + _info_nce(documents, queries, same=same[:, :5].T)) / 2

    _assert_same(loss, oracle, _vectors((5, 7), (5, 7), (5, 2, 7)))


def test_guided_info_nce_leaves_out_what_the_guide_finds_nearer() -> None:
    guide = [normal(6, 4, seed=seed) for seed in (7, 8)]
    guide[1] += guide[0]
    guide[1][1] = guide[1][0]  # a document that answers two queries is wrong for neither
    hard = normal(6, 2, 4, seed=11)
    left_out = 0

    def oracle(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        nonlocal left_out
        total = torch.zeros((), dtype=queries.dtype)
        for i in range(6):
            limit = _cosine(guide[0][i], guide[1][i])
            rivals = [
                (queries[i], documents[j], guide[0][i], guide[1][j]) for j in range(6) if j != i
            ]
            rivals += [
                (queries[i], queries[j], guide[0][i], guide[0][j]) for j in range(6) if j != i
            ]
            rivals += [
                (documents[i], documents[j], guide[1][i], guide[1][j]) for j in range(6) if j != i
            ]
            rivals += [
                (queries[i], negatives[j, k], guide[0][i], hard[j, k])
                for j in range(6)
                for k in range(2)
            ]
            kept = [_cosine(a, b) for a, b, c, d in rivals if _cosine(c, d) < limit]
            left_out += len(rivals) - len(kept)
            total = total + _chosen(_cosine(queries[i], documents[i]), kept)
        return total / 6

    def loss(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        return losses.guided_info_nce(
            queries,
            documents,
            guide_queries=guide[0],
            guide_documents=guide[1],
            temperature=T,
            negatives=negatives,
            guide_negatives=hard,
        )

    _assert_same(loss, oracle, _vectors((6, 5), (6, 5), (6, 2, 5)))
    assert 0 < left_out < 6 * 27


def test_a_guide_of_some_texts_alone_is_refused() -> None:
    two, hard = normal(2, 3), normal(2, 1, 3)
    with pytest.raises(ValueError, match="negatives and guide_negatives are given together"):
        losses.guided_info_nce(
            two, two, guide_queries=two, guide_documents=two, temperature=T, negatives=hard
        )


def test_cosent() -> None:
    grades = torch.tensor([3.0, 1.0, 3.0, 5.0, 0.0])

    def oracle(left: Tensor, right: Tensor) -> Tensor:
        total = torch.ones((), dtype=left.dtype)
        for i in range(5):
            for j in range(5):
                if grades[i] > grades[j]:
                    wrong = _cosine(left[j], right[j]) - _cosine(left[i], right[i])
                    total = total + (wrong / T).exp()
        return total.log()

    _assert_same(
        lambda left, right: losses.cosent(left, right, grades, temperature=T),
        oracle,
        _vectors((5, 4), (5, 4)),
    )
    equal = losses.cosent(normal(3, 4), normal(3, 4, seed=1), torch.ones(3), temperature=T)
    assert float(equal) == 0


def test_listwise_kl() -> None:
    teacher = 2 * normal(3, 4, seed=5)
    teacher[1, 3] = -math.inf

    def oracle(scores: Tensor) -> Tensor:
        total = torch.zeros((), dtype=scores.dtype)
        for row, taught in zip(scores, teacher.double(), strict=True):
            places = [k for k in range(4) if taught[k] > -math.inf]
            wanted = torch.stack([(taught[k] / T).exp() for k in places])
            got = torch.stack([(row[k] / T).exp() for k in places])
            wanted, got = wanted / wanted.sum(), got / got.sum()
            total = total + (wanted * (wanted.log() - got.log())).sum()
        return total / 3

    _assert_same(
        lambda scores: losses.listwise_kl(scores, teacher, temperature=T), oracle, _vectors((3, 4))
    )
    agreed = losses.listwise_kl(teacher, teacher, temperature=T)
    assert_close(agreed, torch.zeros(()), atol=1e-6, rtol=0)


def test_matryoshka_is_the_mean_over_cuts() -> None:
    def oracle(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        parts = [
            _info_nce(queries[:, :d], documents[:, :d], negatives[:, :, :d]) for d in (8, 4, 2)
        ]
        return torch.stack(parts).mean()

    def loss(queries: Tensor, documents: Tensor, negatives: Tensor) -> Tensor:
        return losses.info_nce(queries, documents, temperature=T, negatives=negatives)

    nested = losses.matryoshka(loss, (8, 4, 2))
    _assert_same(nested, oracle, _vectors((4, 8), (4, 8), (4, 2, 8)))
    with pytest.raises(ValueError, match="at least one number of dimensions"):
        losses.matryoshka(loss, ())


def test_bfloat16_vectors_are_compared_in_float32() -> None:
    queries, documents = (each.bfloat16() for each in _vectors((4, 6), (4, 6)))
    got = losses.info_nce(queries, documents, temperature=T)
    assert_close(got, losses.info_nce(queries.float(), documents.float(), temperature=T))
