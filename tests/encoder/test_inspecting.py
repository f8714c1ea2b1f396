"""What is shown of an embedding: it must be the embedding, and its parts must add up to it."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from encoder import Embedder, EmbeddingConfig, EncoderConfig, pooling
from encoder.config import Pooling, Positions
from encoder.inspecting import attention, read_text
from tests.builders import encoder_checkpoint, sentence
from transformer import LengthError
from transformer.runtime import seeded

_CONFIG = EncoderConfig(vocab_size=97, d_model=24, n_layers=2, n_heads=3, d_ff=32, max_tokens=40)


def embedder(
    how: Pooling = "mean", positions: Positions = "learned", dimensions: int | None = None
) -> Embedder:
    embedding = EmbeddingConfig(
        max_tokens=40, pooling=how, query_prefix="w1 ", document_prefix="w2 ", dimensions=dimensions
    )
    made = encoder_checkpoint(replace(_CONFIG, positions=positions), embedding)
    pooling.fit(made.model, embedding)
    if (own := pooling.pooler(made.model)) is not None:
        torch.nn.init.normal_(own.query, generator=seeded(1))
    return Embedder(
        made.model, made.tokenizer, embedding, fingerprint="0" * 16, dtype=torch.float32
    )


@pytest.mark.parametrize("dimensions", [None, 10])
@pytest.mark.parametrize("how", get_args(Pooling))
def test_shares_add_up_to_the_cosine_of_any_pooling(how: Pooling, dimensions: int | None) -> None:
    of, question, passage = embedder(how, dimensions=dimensions), "w3 w4", "w5 w6 w7"
    asked = read_text(of, question, query=True)
    read = read_text(of, passage, query=False)
    np.testing.assert_allclose(asked.vector, of.embed_queries([question])[0], atol=1e-6)
    np.testing.assert_allclose(read.vector, of.embed_documents([passage])[0], atol=1e-6)
    shares, cosine = read.shares(asked.vector), asked.vector @ read.vector
    assert shares.shape == (len(read.tokens),)
    assert shares.sum() == pytest.approx(cosine, abs=1e-5)
    assert asked.shares(read.vector).sum() == pytest.approx(cosine, abs=1e-5)
    if how == "cls":
        assert (shares[1:] == 0).all()


def test_tokens_carry_their_positions_and_what_is_put_around_them() -> None:
    read = read_text(embedder(), "w3 w4", query=True)
    assert [token.text for token in read.tokens] == ["[CLS]", "w1", "w3", "w4", "[SEP]"]
    assert [token.position for token in read.tokens] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("positions", get_args(Positions))
def test_a_map_is_of_the_pass_that_made_the_vector(positions: Positions) -> None:
    of = embedder(positions=positions)
    read = read_text(of, "w3 w4 w5", query=False)
    seen = attention(of, read, range(len(read.tokens)))
    assert seen.weights.shape == (2, 3, 6, 7)
    np.testing.assert_allclose(seen.of(1).sum(-1), 1, atol=2e-3)
    assert (seen.weights[..., 0] == 0).all()  # everything is shown
    assert (seen.of(0)[:, 1:] > 0).all()  # both ways: nothing is hidden from anything


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(LengthError, match="of 45 tokens is over the encoder's limit of 40"):
        read_text(embedder(), sentence(seeded(0), 42), query=False)
