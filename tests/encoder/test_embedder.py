"""The embedder: order, limits, prefixes, and the same vector whatever stands beside a text."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from encoder import Embedder, EmbeddingConfig, EncoderConfig, checkpoint, pooling
from encoder.config import Pooling
from tests.builders import encoder_checkpoint, randomised, sentence
from transformer import LengthError, runtime
from transformer.runtime import seeded

BERT = EncoderConfig(
    vocab_size=97, d_model=36, n_layers=2, n_heads=3, d_ff=52, max_tokens=40, n_token_types=2
)
MODERN = dataclasses.replace(
    BERT,
    n_token_types=0,
    positions="rotary",
    pre_norm=True,
    gated=True,
    bias=False,
    norm_eps=1e-5,
)


def _embedder(
    config: EncoderConfig = BERT, *, dtype: torch.dtype = torch.float32, **embedding: Any
) -> Embedder:
    settings = EmbeddingConfig(**{"max_tokens": 40, **embedding})
    loaded = encoder_checkpoint(config, settings)
    pooling.fit(loaded.model, settings)
    randomised(loaded.model, seeded(0))
    return Embedder(
        loaded.model, loaded.tokenizer, settings, fingerprint=loaded.fingerprint, dtype=dtype
    )


def _texts(n: int) -> list[str]:
    """Of 1 to 38 words: 3 to 40 tokens."""
    rng = seeded(5)
    lengths = torch.randint(1, 39, (n,), generator=rng).tolist()
    return [sentence(rng, length) for length in lengths]


@pytest.mark.parametrize("config", [BERT, MODERN], ids=["bert", "modern"])
@pytest.mark.parametrize("how", ["mean", "cls", "max", "attention"])
def test_a_text_alone_is_the_text_in_a_batch(config: EncoderConfig, how: str) -> None:
    embedder, texts = _embedder(config, pooling=how), _texts(30)
    together = embedder.embed_documents(texts)
    alone = np.concatenate([embedder.embed_documents([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5, rtol=0)


def test_order_is_kept_over_many_batches() -> None:
    embedder, texts = _embedder(), _texts(400)
    vectors = embedder.embed_documents(texts)
    assert vectors.shape == (400, 36)
    assert vectors.dtype == np.float32
    backwards = embedder.embed_documents(texts[::-1])
    np.testing.assert_allclose(vectors, backwards[::-1], atol=1e-5, rtol=0)
    for i in (0, 1, 199, 399):
        alone = embedder.embed_documents([texts[i]])[0]
        assert int((vectors @ alone).argmax()) == i


def test_batches_stay_within_the_token_budget() -> None:
    embedder, texts = _embedder(), _texts(400)
    shapes: list[tuple[int, int]] = []

    def record(_: nn.Module, arguments: tuple[torch.Tensor, ...]) -> None:
        rows, width = arguments[0].shape
        shapes.append((rows, width))

    embedder.model.register_forward_pre_hook(record)
    embedder.embed_documents(texts)
    assert len(shapes) > 1
    assert all(rows * width <= 4096 for rows, width in shapes)
    assert sum(rows for rows, _ in shapes) == 400
    padded = sum(rows * width for rows, width in shapes)
    assert padded < 1.4 * sum(map(embedder.count, texts))  # near 1.9 in the order given


def test_a_vector_is_the_pooled_output_at_unit_length() -> None:
    hows: list[Pooling] = ["mean", "cls", "max", "attention"]
    for how in hows:
        embedder = _embedder(pooling=how)
        ids = torch.tensor(embedder.tokenizer.encode_for_model(["w1 w2 w3"]))
        pooled = pooling.pool(embedder.model, embedder.model(ids), how)
        expected = F.normalize(pooled, dim=-1).detach().numpy()
        np.testing.assert_allclose(embedder.embed_queries(["w1 w2 w3"]), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_parameters_are_counted_whatever_the_format(dtype: torch.dtype) -> None:
    model = encoder_checkpoint(BERT).model
    assert _embedder(dtype=dtype).parameters == sum(p.numel() for p in model.parameters())


def test_vectors_have_unit_length() -> None:
    lengths = np.linalg.norm(_embedder().embed_documents(_texts(50)), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_a_vector_is_cut_to_its_first_dimensions_and_has_unit_length_again() -> None:
    texts = _texts(5)
    whole, cut = (_embedder(dimensions=each) for each in (None, 10))
    vectors = cut.embed_documents(texts)
    assert vectors.shape == (5, cut.dimensions) == (5, 10)
    first = whole.embed_documents(texts)[:, :10]
    expected = first / np.linalg.norm(first, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_no_texts_are_no_vectors() -> None:
    embedder = _embedder()
    for vectors in (embedder.embed_documents([]), embedder.embed_queries([])):
        assert vectors.shape == (0, 36)
        assert vectors.dtype == np.float32


def test_an_empty_text_has_a_vector_too() -> None:
    vectors = _embedder().embed_documents(["", "w1"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_over_the_limit_names_both_numbers() -> None:
    embedder = _embedder(max_tokens=12)
    at_the_limit, over = sentence(seeded(6), 10), sentence(seeded(6), 11)
    assert embedder.max_tokens == 12
    assert embedder.embed_documents([at_the_limit]).shape == (1, 36)
    with pytest.raises(LengthError, match="13 tokens is over the encoder's limit of 12") as caught:
        embedder.embed_documents(["w1", over, at_the_limit])
    assert (caught.value.tokens, caught.value.limit) == (13, 12)
    with pytest.raises(LengthError, match="13 tokens is over the encoder's limit of 12"):
        embedder.embed_queries([over])


def test_prefixes_change_vectors_and_count() -> None:
    plain = _embedder()
    prefixed = _embedder(query_prefix="w7 w8 ", document_prefix="w9 ")
    text = ["w1 w2"]
    np.testing.assert_array_equal(plain.embed_queries(text), plain.embed_documents(text))
    np.testing.assert_allclose(
        prefixed.embed_queries(text), plain.embed_documents(["w7 w8 w1 w2"]), atol=1e-6
    )
    np.testing.assert_allclose(
        prefixed.embed_documents(text), plain.embed_documents(["w9 w1 w2"]), atol=1e-6
    )
    assert (plain.count("w1 w2"), prefixed.count("w1 w2")) == (4, 5)
    assert (plain.count_query("w1 w2"), prefixed.count_query("w1 w2")) == (4, 6)


def test_prefixes_count_towards_the_limit() -> None:
    embedder = _embedder(max_tokens=12, document_prefix="w9 ")
    with pytest.raises(LengthError, match="13 tokens is over the encoder's limit of 12"):
        embedder.embed_documents([sentence(seeded(6), 10)])


def test_bfloat16_stays_near_float32() -> None:
    texts = _texts(30)
    wide = _embedder().embed_documents(texts)
    narrow = _embedder(dtype=torch.bfloat16).embed_documents(texts)
    assert narrow.dtype == np.float32
    assert (wide * narrow).sum(axis=1).min() > 0.999


def test_a_loaded_embedder_is_the_one_that_was_saved(tmp_path: Path) -> None:
    settings = EmbeddingConfig(max_tokens=30, pooling="cls", query_prefix="w7 ")
    folder = tmp_path / "model"
    checkpoint.save(encoder_checkpoint(BERT, settings), folder)
    loaded = Embedder.load(folder, dtype=torch.float32)
    original = _embedder(**dataclasses.asdict(settings))
    texts = ["w1 w2 w3", "w4"]
    np.testing.assert_allclose(
        loaded.embed_queries(texts), original.embed_queries(texts), atol=1e-6
    )
    assert (loaded.dimensions, loaded.max_tokens) == (36, 30)
    assert loaded.fingerprint == checkpoint.load(folder).fingerprint


def test_the_fast_format_is_the_default(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    checkpoint.save(encoder_checkpoint(BERT), folder)
    embedder = Embedder.load(folder)
    assert {p.dtype for p in embedder.model.parameters()} == {runtime.fast_dtype()}
