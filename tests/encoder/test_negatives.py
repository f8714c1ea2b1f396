"""What must not count against a query."""

import torch

from encoder import negatives
from encoder.pairs import Pair

MADE = [
    Pair("q0", "d0", ("n0", "d2")),
    Pair("q1", "d1"),
    Pair("q2", "d2", ("n2",)),
    Pair("q0", "d3"),  # another answer to the first question
    Pair("q4", "d1"),  # the answer of the second question to another one
    Pair("q5", "q5"),
]


def test_equal_texts_answer_each_other() -> None:
    known = negatives.known_answers(MADE)
    assert known.shape == (6, 6 + 6 * 2)
    documents = {(i, j) for i, j in known[:, :6].nonzero().tolist() if i != j}
    assert documents == {(0, 3), (3, 0), (1, 4), (4, 1)}
    hard = known[:, 6:].view(6, 6, 2)
    assert hard[:, 0].tolist() == [[False, i == 2] for i in range(6)]  # d2 answers the third
    assert hard[:, 2].tolist() == [[False, True]] * 6  # a place without a negative
    assert hard[:, [1, 3, 4, 5]].all()


def test_a_document_that_is_the_query_itself_does_not_count_against_it() -> None:
    made = [Pair("a", "b"), Pair("c", "a")]
    assert negatives.known_answers(made).tolist() == [[True, True], [False, True]]


def test_negatives_are_found_behind_both_sides() -> None:
    assert negatives.places(MADE[:3], 2).tolist() == [[0, 1], [0, 0], [2, 0]]
    assert negatives.places(MADE[:3], 2).dtype == torch.long
