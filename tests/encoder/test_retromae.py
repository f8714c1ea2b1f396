"""The layer that rebuilds texts sees each text's own vector, and nothing of another's."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from encoder import Encoder, EncoderConfig
from encoder.retromae import Rebuilder
from tests.builders import normal, randomised
from transformer.runtime import seeded

TOKENS = torch.tensor([[2, 7, 3, 2, 8, 9, 3, 0], [2, 5, 6, 7, 8, 9, 5, 3]])
SEGMENTS = torch.tensor([[1, 1, 1, 2, 2, 2, 2, 0], [1] * 8])
FIRST = [(0, 0), (0, 3), (1, 0)]  # places of the three texts' first tokens


def _encoder(positions: str) -> Encoder:
    config = EncoderConfig(
        vocab_size=10,
        d_model=16,
        n_layers=1,
        n_heads=2,
        d_ff=24,
        max_tokens=8,
        positions=positions,  # type: ignore[arg-type]
        pre_norm=True,
    )
    return randomised(Encoder(config), seeded(0))


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_a_vector_reaches_the_whole_of_its_text_and_no_other(positions: str) -> None:
    encoder = _encoder(positions)
    rebuilder = randomised(Rebuilder(encoder), seeded(1))

    def rebuilt(vectors: Tensor) -> Tensor:
        return rebuilder(encoder, TOKENS, SEGMENTS, vectors)  # type: ignore[no-any-return]

    before = rebuilt(normal(3, 16))
    for text, (row, place) in enumerate(FIRST):
        vectors = normal(3, 16)
        vectors[text] = normal(16, seed=5)
        moved = (rebuilt(vectors) - before).abs().amax(-1) > 1e-6
        own = (SEGMENTS[row, place] == SEGMENTS) & (torch.arange(2)[:, None] == row)
        assert torch.equal(moved, own)


def test_a_vector_stands_where_the_first_token_stood() -> None:
    encoder = _encoder("rotary")
    rebuilder = randomised(Rebuilder(encoder), seeded(1))
    embedded = encoder.embed(TOKENS, SEGMENTS)
    own = torch.stack([embedded[place] for place in FIRST])
    found = rebuilder(encoder, TOKENS, SEGMENTS, own)
    apart = (SEGMENTS[:, :, None] == SEGMENTS[:, None, :])[:, None]
    x = rebuilder.block(embedded, mask=apart, rotation=encoder.rotation(8))
    assert rebuilder.norm is not None
    assert_close(found, rebuilder.norm(x))


def test_what_is_rebuilt_teaches_the_vector() -> None:
    encoder = _encoder("learned")
    vectors = normal(3, 16).requires_grad_()
    randomised(Rebuilder(encoder), seeded(1))(encoder, TOKENS, SEGMENTS, vectors)[
        :, 1
    ].sum().backward()
    assert vectors.grad is not None
    assert vectors.grad[0].any()
    assert not vectors.grad[1].any()  # of the second text no token was asked for
