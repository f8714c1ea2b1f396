"""Where attention pooling begins: counted by hand, and rare words louder than common ones."""

import math
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from encoder import EmbeddingConfig, Encoder, EncoderConfig, pooling, rarity
from encoder.data import pack
from tests.builders import randomised
from transformer.init import quieten
from transformer.runtime import seeded

SMALL = EncoderConfig(
    vocab_size=32, d_model=24, n_layers=2, n_heads=3, d_ff=20, max_tokens=24, positions="learned"
)


def _rows() -> list[list[int]]:
    """Token 4 + n is in about one text of n + 1."""
    rng = seeded(1)
    rows = []
    for _ in range(300):
        draws = torch.rand(28, generator=rng)
        rows.append([4 + n for n in range(28) if draws[n] < 1 / (n + 1)][:24])
    return rows


def test_rarity_is_counted_in_texts_not_in_tokens() -> None:
    found = rarity.inverse_document_frequencies([[1, 1, 1], [1, 2], [1]], 4)
    assert_close(found, torch.tensor([4, 1, 4 / 2, 4]).log())
    assert math.isclose(found[1].item(), 0.0)


def test_a_rarer_word_weighs_more_and_counting_again_gives_the_same() -> None:
    model = randomised(Encoder(SMALL), seeded(0)).eval()
    pooling.fit(model, EmbeddingConfig(max_tokens=24, pooling="attention"))
    rows = _rows()
    rarity.begin(model, rows)
    own = pooling.pooler(model)
    assert own is not None
    query = own.query.clone()
    rarity.begin(model, rows)
    assert torch.equal(own.query, query)
    packed = pack(rows, 24, pad_id=0)
    scores = own(model(packed.tokens, segments=packed.segments))[packed.segments > 0]
    tokens = packed.tokens[packed.segments > 0]
    means = torch.stack([scores[tokens == token].mean() for token in (4, 6, 10)])
    assert (means.diff() > 0).all()


def test_quiet_blocks_leave_words_as_they_are() -> None:
    model = randomised(Encoder(replace(SMALL, positions="rotary", pre_norm=True)), seeded(0)).eval()
    tokens = torch.tensor([[4, 9, 4, 20]])
    norm = model.norm
    assert norm is not None
    words = norm(model.embedding(tokens))
    assert (model(tokens) - words).abs().max() > 0.1
    quieten(model, 1e-5)
    assert_close(model(tokens), words, atol=1e-3, rtol=0)
    assert not torch.equal(model(tokens), norm(model.embedding(tokens)))


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"share \(0\) must be over 0"):
        quieten(Encoder(SMALL), 0)
