"""The generator against published implementations, and against itself with a cache."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from generator import Generator, Sampling, checkpoint
from generator.decoding import advance, decode
from tests.generator.builders import (
    VOCABULARY,
    config,
    generator,
    prompt,
    published,
    save_foreign,
    tokenizer,
)
from transformer import LengthError
from transformer.runtime import seeded

_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 36,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 52,
    "max_position_embeddings": 160,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": 0,
}


def _llama(**changes: Any) -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**_SIZES, **changes))


def _mistral() -> PreTrainedModel:
    return MistralForCausalLM(MistralConfig(**_SIZES, head_dim=6, sliding_window=None))


def _qwen2() -> PreTrainedModel:
    return Qwen2ForCausalLM(Qwen2Config(**_SIZES, tie_word_embeddings=True))


def _qwen3() -> PreTrainedModel:
    wide_heads: dict[str, Any] = {
        "head_dim": 10,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
    }
    return Qwen3ForCausalLM(Qwen3Config(**_SIZES, **wide_heads))


def _gpt2() -> PreTrainedModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY,
            n_embd=36,
            n_layer=2,
            n_head=6,
            n_inner=52,
            n_positions=160,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


_MODELS: dict[str, Callable[[], PreTrainedModel]] = {
    "llama": _llama,
    "llama-tied": lambda: _llama(tie_word_embeddings=True),
    "llama-biases": lambda: _llama(attention_bias=True, mlp_bias=True),
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gpt2": _gpt2,
}


@pytest.fixture(params=_MODELS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[PreTrainedModel, Generator]:
    """A published model, and ours from the folder that it was saved to."""
    theirs = published(_MODELS[request.param]())
    save_foreign(theirs, tmp_path / "model", tokenizer())
    return theirs, checkpoint.load(tmp_path / "model", "fp32").model


def _continued(theirs: PreTrainedModel, tokens: Tensor, n: int) -> list[int]:
    """What the library's own greedy decoding adds to a row of tokens."""
    generate: Any = theirs.generate
    ids: list[int] = generate(tokens, do_sample=False, max_new_tokens=n)[0].tolist()
    return ids[tokens.shape[1] :]


def test_logits_and_greedy_ids_are_those_of_the_published_model(
    pair: tuple[PreTrainedModel, Generator],
) -> None:
    theirs, ours = pair
    tokens = torch.tensor([prompt(23, seed=1), prompt(23, seed=2)])
    with torch.inference_mode():
        assert_close(ours(tokens), theirs(tokens).logits, atol=1e-4, rtol=1e-4)
        expected = _continued(theirs, tokens[:1], 64)
    sampling = Sampling(max_tokens=64)
    assert list(decode(ours, tokens[0].tolist(), sampling, ends=(), rng=seeded(0))) == expected
    assert len(set(expected)) > 4, "a model that repeats itself shows little"


def test_the_longest_text_agrees(pair: tuple[PreTrainedModel, Generator]) -> None:
    theirs, ours = pair
    tokens = torch.tensor([prompt(160)])
    with torch.inference_mode():
        assert_close(ours(tokens), theirs(tokens).logits, atol=2e-4, rtol=1e-4)
        with pytest.raises(LengthError, match="161 tokens are over the generator's limit of 160"):
            ours(torch.tensor([prompt(161)]))


_KINDS: list[dict[str, Any]] = [
    {},
    {"qk_norm": True, "qkv_bias": True, "tied": False},
    {"positions": "learned", "norm": "layer", "feed_forward": "gelu_tanh", "ff_bias": True},
]


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("cuts", [[40], [1] * 40, [17, 23], [17, 1, 1, 21], [1, 39]])
def test_cached_is_uncached(kind: dict[str, Any], cuts: list[int]) -> None:
    model = generator(**kind)
    tokens = torch.tensor([prompt(40, seed=1), prompt(40, seed=2)])
    with torch.inference_mode():
        cache = model.new_cache(40, batch=2)
        parts = [model(part, cache) for part in torch.split(tokens, cuts, dim=1)]
        assert cache.length == 40
        assert_close(torch.cat(parts, dim=1), model(tokens), atol=1e-4, rtol=1e-4)


def test_the_last_row_is_all_that_decoding_asks_for() -> None:
    model, tokens = generator(), torch.tensor([prompt(9)])
    with torch.inference_mode():
        every, last = model(tokens), model(tokens, last_only=True)
    assert last.shape == (1, 1, VOCABULARY)
    assert_close(last, every[:, -1:])


def test_what_follows_does_not_change_what_came_before() -> None:
    model, tokens = generator(), torch.tensor([prompt(12)])
    changed = tokens.clone()
    changed[0, 7:] = torch.tensor(prompt(5, seed=3))
    with torch.inference_mode():
        before, after = model(tokens), model(changed)
    assert_close(before[:, :7], after[:, :7])
    assert not torch.allclose(before[:, 7:], after[:, 7:])


def test_a_truncated_cache_goes_on_as_if_the_rest_had_not_been() -> None:
    model = generator()
    first, second, third = prompt(8), prompt(5, seed=1), prompt(5, seed=2)
    cache, fresh = model.new_cache(20), model.new_cache(20)
    advance(model, cache, [*first, *second])
    cache.truncate(8)
    again = advance(model, cache, third)
    assert_close(again, advance(model, fresh, [*first, *third]), atol=1e-4, rtol=1e-4)


def test_a_cache_is_no_longer_than_the_model() -> None:
    with pytest.raises(LengthError, match="161 tokens are over the generator's limit of 160"):
        generator().new_cache(161)


def test_untied_heads_are_their_own_matrix() -> None:
    tied, untied = Generator(config()), Generator(config(tied=False))
    assert tied.head is None
    assert set(dict(untied.named_parameters())) - set(dict(tied.named_parameters())) == {
        "head.weight"
    }


def test_gradients_reach_every_parameter() -> None:
    model = generator(qk_norm=True, qkv_bias=True, out_bias=True, ff_bias=True, tied=False)
    model(torch.tensor([prompt(9)])).log_softmax(-1)[..., 5].sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []
