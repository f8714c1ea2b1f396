"""The encoder against the published BERT and XLM-R code, and the modern shape against formulas."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    PreTrainedModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from encoder import Encoder, EncoderConfig, checkpoint
from encoder.data import pack
from encoder.model import places, set_dropout
from tests import oracles
from tests.builders import (
    XLMR_SPECIALS,
    bert_tokenizer,
    encoder_checkpoint,
    numbered_words,
    randomised,
    wordpiece,
)
from transformer import LengthError, Tokenizer, masks
from transformer.position import Rotary, rotate, sinusoidal
from transformer.runtime import seeded

LIMIT = 40
_SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 36,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 52,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def _bert(**settings: Any) -> BertModel:
    config = BertConfig(**_SIZES, max_position_embeddings=LIMIT, **settings)
    return randomised(BertModel(config), seeded(1))


def _xlm_roberta() -> XLMRobertaModel:
    # Its positions begin behind the padding id, so that two rows of the table are never reached.
    config = XLMRobertaConfig(**_SIZES, max_position_embeddings=LIMIT + 2, pad_token_id=1)
    return randomised(XLMRobertaModel(config), seeded(2))


def _saved(model: PreTrainedModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    tokenizer = bert_tokenizer()
    if model.config.model_type == "xlm-roberta":
        words = numbered_words(97 - len(XLMR_SPECIALS))
        around, unknown = ("<s>", "</s>"), "<unk>"
        backend = wordpiece(words, specials=XLMR_SPECIALS, around=around, unknown=unknown)
        tokenizer = Tokenizer(backend)
    (folder / "tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
    return folder


def _batch(lengths: list[int], pad_id: int) -> tuple[Tensor, Tensor]:
    """Random ids, right-padded, and the mask of tokens."""
    width = max(lengths)
    tokens = torch.randint(5, 97, (len(lengths), width), generator=seeded(3))
    mask = masks.lengths(torch.tensor(lengths), width)
    return tokens.masked_fill(~mask, pad_id), mask


@pytest.fixture(scope="module", params=["bert", "xlm-roberta"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Encoder, BertModel | XLMRobertaModel]:
    """Our encoder and the model whose folder it was read from."""
    theirs = _bert() if request.param == "bert" else _xlm_roberta()
    folder = _saved(theirs, tmp_path_factory.mktemp(request.param))
    return checkpoint.load(folder).model, theirs


@pytest.mark.parametrize(
    "lengths", [[1], [LIMIT], [LIMIT, 1, 17, 39], [2, 9]], ids=["one", "all", "mixed", "short"]
)
def test_real_tokens_are_those_of_the_published_model(
    pair: tuple[Encoder, BertModel | XLMRobertaModel], lengths: list[int]
) -> None:
    ours, theirs = pair
    tokens, mask = _batch(lengths, ours.config.pad_id)
    with torch.inference_mode():
        expected = theirs(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        assert_close(ours(tokens, mask)[mask], expected[mask], atol=1e-4, rtol=0)
        if mask.all():
            assert_close(ours(tokens), expected, atol=1e-4, rtol=0)


def test_one_token_over_the_positions_names_both_numbers(
    pair: tuple[Encoder, BertModel | XLMRobertaModel],
) -> None:
    tokens, _ = _batch([LIMIT + 1], 0)
    with pytest.raises(
        LengthError, match="41 tokens are over the encoder's 40 positions"
    ) as caught:
        pair[0](tokens)
    assert (caught.value.tokens, caught.value.limit) == (41, 40)


def test_a_model_with_a_head_is_read_without_it(tmp_path: Path) -> None:
    config = BertConfig(**_SIZES, max_position_embeddings=LIMIT)
    theirs = randomised(BertForMaskedLM(config), seeded(4))
    ours = checkpoint.load(_saved(theirs, tmp_path / "model")).model
    tokens, mask = _batch([9, 5], 0)
    with torch.inference_mode():
        expected = theirs.bert(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        assert_close(ours(tokens, mask)[mask], expected[mask], atol=1e-4, rtol=0)


@pytest.mark.parametrize("activation", ["gelu_new", "gelu_pytorch_tanh", "relu", "silu"])
def test_other_activations_go_by_our_names(tmp_path: Path, activation: str) -> None:
    theirs = _bert(hidden_act=activation, layer_norm_eps=1e-3)
    ours = checkpoint.load(_saved(theirs, tmp_path / "model")).model
    tokens, mask = _batch([9], 0)
    with torch.inference_mode():
        expected = theirs(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        assert_close(ours(tokens), expected, atol=1e-4, rtol=0)


# Shapes of our own


MODERN = EncoderConfig(
    vocab_size=97,
    d_model=36,
    n_layers=2,
    n_heads=3,
    d_ff=52,
    max_tokens=LIMIT,
    positions="rotary",
    pre_norm=True,
    gated=True,
    activation="silu",
    bias=False,
    norm_eps=1e-5,
)
SINUSOIDAL = EncoderConfig(
    vocab_size=97,
    d_model=36,
    n_layers=2,
    n_heads=3,
    d_ff=52,
    max_tokens=LIMIT,
    positions="sinusoidal",
)
LEARNED = replace(SINUSOIDAL, positions="learned", position_offset=2, n_token_types=2)
NOWHERE = replace(MODERN, positions="none")
SHAPES = {"modern": MODERN, "sinusoidal": SINUSOIDAL, "learned": LEARNED, "nowhere": NOWHERE}


def _norm(x: Tensor, weight: Tensor) -> Tensor:
    return oracles.layer_norm(x, weight, None, 1e-5).float()


def test_the_modern_shape_is_its_formula() -> None:
    model = encoder_checkpoint(MODERN).model
    p = dict(model.named_parameters())
    assert not [name for name in p if name.endswith("bias") or "positions" in name]
    tokens, _ = _batch([9, 9], 0)
    rotation = Rotary(12, 9)(0, 9)
    x = p["embedding.weight"][tokens]
    for i in range(2):
        y = _norm(x, p[f"blocks.{i}.attention_norm.weight"])
        heads = (y @ p[f"blocks.{i}.attention.qkv.weight"].T).view(2, 9, 9, 12)
        q, k, v = heads.transpose(1, 2).chunk(3, dim=1)  # (b, h, s, e)
        mixed = oracles.attention(rotate(q, rotation), rotate(k, rotation), v).float()
        x = x + mixed.transpose(1, 2).flatten(2) @ p[f"blocks.{i}.attention.out.weight"].T
        y = _norm(x, p[f"blocks.{i}.feed_forward_norm.weight"])
        gate, up = (y @ p[f"blocks.{i}.feed_forward.gate_up.weight"].T).chunk(2, dim=-1)
        x = x + (F.silu(gate) * up) @ p[f"blocks.{i}.feed_forward.down.weight"].T
    assert_close(model(tokens), _norm(x, p["norm.weight"]), atol=1e-4, rtol=1e-4)


def test_sinusoidal_positions_are_added_to_the_words() -> None:
    model = encoder_checkpoint(SINUSOIDAL).model
    tokens, _ = _batch([9], 0)
    x = model.embedding(tokens) * 6.0 + sinusoidal(LIMIT, 36)[:9]
    assert model.embedding_norm is not None
    x = model.embedding_norm(x)
    for block in model.blocks:
        x = block(x)
    assert_close(model(tokens), x)


@pytest.mark.parametrize("config", [MODERN, SINUSOIDAL], ids=["modern", "sinusoidal"])
def test_padding_does_not_change_real_tokens(config: EncoderConfig) -> None:
    model = encoder_checkpoint(config).model
    lengths = [LIMIT, 1, 17]
    tokens, mask = _batch(lengths, config.pad_id)
    with torch.inference_mode():
        together = model(tokens, mask)
        for row, length in enumerate(lengths):
            alone = model(tokens[row : row + 1, :length])[0]
            assert_close(together[row, :length], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", [MODERN, SINUSOIDAL], ids=["modern", "sinusoidal"])
def test_order_matters(config: EncoderConfig) -> None:
    model = encoder_checkpoint(config).model
    tokens, _ = _batch([9], 0)
    flipped = model(tokens.flip(1)).flip(1)
    assert not torch.allclose(model(tokens), flipped, atol=1e-2)


@pytest.mark.parametrize("config", [MODERN, SINUSOIDAL], ids=["modern", "sinusoidal"])
def test_one_token_over_any_positions_is_refused(config: EncoderConfig) -> None:
    model = encoder_checkpoint(config).model
    tokens, _ = _batch([LIMIT + 1], 0)
    with pytest.raises(LengthError, match="41 tokens are over the encoder's 40 positions"):
        model(tokens)


# Several texts in a row


@pytest.mark.parametrize("learning", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_texts_that_share_a_row_come_out_as_if_each_stood_alone(shape: str, learning: bool) -> None:
    model = encoder_checkpoint(SHAPES[shape]).model.train(learning)
    texts = [_batch([n], 0)[0][0].roll(n) for n in (9, 1, 17, 11, 26)]
    packed = pack([text.tolist() for text in texts], LIMIT, pad_id=model.config.pad_id)
    assert len(packed.tokens) == 2
    with torch.set_grad_enabled(learning):
        together = model(packed.tokens, segments=packed.segments)
        assert together.isfinite().all()
        for text, (row, number) in zip(texts, packed.places.tolist(), strict=True):
            own = together[row][packed.segments[row] == number]
            assert_close(own, model(text[None])[0], atol=1e-5, rtol=1e-5)


def test_no_gradient_crosses_from_text_to_text() -> None:
    model = encoder_checkpoint(MODERN).model.train()
    tokens, _ = _batch([9], 0)
    reads: list[Tensor] = []
    model.embedding.register_forward_hook(lambda *a: (a[2].retain_grad(), reads.append(a[2]))[1])
    segments = torch.tensor([[1] * 4 + [2] * 4 + [0]])
    model(tokens, segments=segments)[0, 5].sum().backward()
    gradient = reads[0].grad
    assert gradient is not None
    assert (gradient.abs().sum(-1)[0] > 0).tolist() == [False] * 4 + [True] * 4 + [False]


def test_places_begin_anew_in_every_segment() -> None:
    segments = torch.tensor([[1, 1, 1, 2, 2, 0, 0], [1, 2, 3, 3, 3, 3, 3]])
    assert places(segments).tolist() == [[0, 1, 2, 0, 1, 0, 1], [0, 0, 0, 1, 2, 3, 4]]


# Dropout


@pytest.mark.parametrize("shape", SHAPES)
def test_dropout_is_of_training_alone(shape: str) -> None:
    model = encoder_checkpoint(SHAPES[shape]).model
    tokens, _ = _batch([9, 9], 0)
    expected, before = model(tokens), dict(model.named_parameters())
    set_dropout(model, 0.5)
    assert {name: id(p) for name, p in model.named_parameters()} == {
        name: id(p) for name, p in before.items()
    }
    assert torch.equal(model(tokens), expected)
    model.train()
    torch.manual_seed(0)
    assert not torch.allclose(model(tokens), model(tokens))
    assert float((model.embed(tokens) == 0).float().mean()) == pytest.approx(0.5, abs=0.1)
    set_dropout(model, 0.0)
    assert torch.equal(model(tokens), expected)
