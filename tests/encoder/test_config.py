"""A config that cannot be built says why, with its numbers."""

import dataclasses

import pytest

from encoder import EmbeddingConfig, EncoderConfig
from encoder.config import settings

SMALL = EncoderConfig(vocab_size=97, d_model=36, n_layers=2, n_heads=3, d_ff=52, max_tokens=40)


def test_defaults_are_berts() -> None:
    assert (SMALL.head_width, SMALL.positions, SMALL.pre_norm, SMALL.gated) == (
        12,
        "learned",
        False,
        False,
    )
    assert (SMALL.activation, SMALL.bias, SMALL.norm_eps) == ("gelu", True, 1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_heads": 5}, r"n_heads \(5\) must divide d_model \(36\)"),
        ({"n_heads": 0}, r"n_heads \(0\) must be at least 1"),
        ({"max_tokens": 0}, r"max_tokens \(0\) must be at least 1"),
        ({"n_layers": -1}, r"n_layers \(-1\) must be at least 1"),
        ({"positions": "alibi"}, r"positions \('alibi'\) must be one of learned, sinusoidal"),
        ({"activation": "swish"}, r"activation \('swish'\) must be one of gelu, gelu_tanh"),
    ],
)
def test_an_impossible_encoder_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **changes)  # type: ignore[arg-type]


def test_an_impossible_embedding_is_refused() -> None:
    with pytest.raises(ValueError, match=r"max_tokens \(0\) must be at least 1"):
        EmbeddingConfig(max_tokens=0)
    with pytest.raises(ValueError, match=r"dimensions \(0\) must be at least 1"):
        EmbeddingConfig(max_tokens=4, dimensions=0)
    with pytest.raises(ValueError, match=r"pooling \('last'\) must be one of mean, cls, max, att"):
        EmbeddingConfig(max_tokens=4, pooling="last")  # type: ignore[arg-type]


# As they stood when the first models were stored: never to be added to.
FIRST = {
    EncoderConfig: {
        *("vocab_size", "d_model", "n_layers", "n_heads", "d_ff", "max_tokens", "positions"),
        *("position_offset", "rotary_base", "n_token_types", "pre_norm", "gated", "activation"),
        *("bias", "norm_eps", "pad_id"),
    },
    EmbeddingConfig: {"max_tokens", "pooling", "query_prefix", "document_prefix"},
}


def test_only_fields_of_the_beginning_are_stored_at_their_defaults() -> None:
    for config in (SMALL, EmbeddingConfig(max_tokens=4)):
        assert set(settings(config)) == FIRST[type(config)]
    cut = EmbeddingConfig(max_tokens=4, dimensions=3)
    assert settings(cut) == {**settings(EmbeddingConfig(max_tokens=4)), "dimensions": 3}
