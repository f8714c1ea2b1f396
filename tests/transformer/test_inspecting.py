"""What is shown of a pass: every weight once, and labels that a person can read."""

import numpy as np
import torch

from tests.generator.builders import tokenizer
from transformer.inspecting import Token, around, labels, mapped
from transformer.runtime import seeded
from transformer.watching import Watched


def test_a_map_keeps_the_shown_and_sums_up_the_rest() -> None:
    weights = torch.rand(1, 3, 9, 9, generator=seeded(0)).softmax(-1)
    tokens = [Token(str(i), i) for i in range(9)]
    found = mapped([Watched(weights, weights)] * 2, tokens, [2, 3, 7])
    assert found.weights.shape == (2, 3, 3, 4)
    assert (found.layers, found.heads) == (2, 3)
    assert [token.position for token in found.tokens] == [2, 3, 7]
    np.testing.assert_allclose(found.of(1, 2)[1, 1:], weights[0, 2, 3, [2, 3, 7]], atol=1e-3)
    np.testing.assert_allclose(found.of(0).sum(-1), 1, atol=2e-3)
    np.testing.assert_allclose(found.of(0)[:, 0], 1 - found.of(0)[:, 1:].sum(-1), atol=2e-3)


def test_a_window_stays_within_its_text() -> None:
    assert around(10, 5, 4) == range(3, 7)
    assert around(10, 0, 4) == range(4)
    assert around(10, 9, 4) == range(6, 10)
    assert around(3, 1, 4) == range(3)


def test_labels_are_the_text_and_white_space_is_drawn() -> None:
    ids, read = labels(tokenizer(), "hell o\n\n약")
    assert len(ids) == len(read)
    assert read[:2] == ["he", "ll"]
    assert "o" in read
    assert "↵" in "".join(read)
    assert read[-3:] == ["약₁", "약₂", "약₃"]
