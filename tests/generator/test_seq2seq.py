"""The encoder–decoder against torch's own, and against itself: masks, padding, caches, beams."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from encoder import Encoder, EncoderConfig
from generator.sampling import Sampling
from generator.seq2seq import Seq2Seq, SourceEncoder, begin, set_dropout
from generator.seq2seq_config import Seq2SeqConfig
from generator.seq2seq_decoding import translate, translate_by_beams, written
from generator.seq2seq_training import padded
from tests.builders import randomised
from transformer import LengthError, ModelError, masks
from transformer.runtime import seeded

V, BEGIN, END = 23, 1, 2

KINDS: list[dict[str, Any]] = [
    {},
    {"pre_norm": True, "positions": "rotary", "activation": "gelu"},
    {"positions": "learned", "source_vocab": 31},
]


def config(**changes: Any) -> Seq2SeqConfig:
    """Two layers each, in odd sizes."""
    values: dict[str, Any] = {
        "vocab_size": V,
        "d_model": 12,
        "n_heads": 3,
        "d_ff": 20,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "max_tokens": 24,
    }
    return Seq2SeqConfig(**(values | changes))


def seq2seq(**changes: Any) -> Seq2Seq:
    return randomised(Seq2Seq(config(**changes)), seeded(0)).eval()


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(3, V, shape, generator=seeded(seed))


SOURCES, SOURCE_MASK = padded([ids(7).tolist(), ids(4, seed=1).tolist()], 0)


@pytest.mark.parametrize("kind", KINDS)
def test_no_future_token_moves_an_output(kind: dict[str, Any]) -> None:
    model, target = seq2seq(**kind), ids(2, 9, seed=2)
    before = model(SOURCES, SOURCE_MASK, target)
    for place in range(1, 9):
        changed = target.clone()
        changed[:, place:] = ids(2, 9 - place, seed=3)
        after = model(SOURCES, SOURCE_MASK, changed)
        assert_close(after[:, :place], before[:, :place], atol=1e-5, rtol=1e-5)
        assert not torch.allclose(after[:, place:], before[:, place:])


@pytest.mark.parametrize("kind", KINDS)
def test_the_source_is_read_in_both_directions(kind: dict[str, Any]) -> None:
    model, target = seq2seq(**kind), ids(1, 3, seed=2)
    source = ids(1, 6)
    for place in range(6):
        changed = source.clone()
        changed[0, place] = (source[0, place] - 3 + 1) % (V - 3) + 3
        assert not torch.allclose(model(changed, None, target), model(source, None, target))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_of_source_or_target_changes_nothing(kind: dict[str, Any]) -> None:
    model, target = seq2seq(**kind), ids(1, 5, seed=2)
    alone = model(SOURCES[1:, :4], None, target)
    assert SOURCE_MASK is not None
    assert_close(model(SOURCES[1:], SOURCE_MASK[1:], target), alone, atol=1e-5, rtol=1e-5)
    beside = torch.cat([ids(1, 8, seed=3), torch.cat([target, ids(1, 3, seed=4)], dim=1)])
    both = model(SOURCES, SOURCE_MASK, beside)
    assert_close(both[1:, :5], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cuts", [[10], [1] * 10, [4, 6], [4, 1, 1, 4]])
def test_cached_is_uncached(kind: dict[str, Any], cuts: list[int]) -> None:
    model, target = seq2seq(**kind), ids(2, 10, seed=2)
    with torch.inference_mode():
        read, cache = model.read(SOURCES, SOURCE_MASK), model.new_cache(10, batch=2)
        parts = [model.following(part, read, cache) for part in torch.split(target, cuts, dim=1)]
        assert cache.length == 10
        whole = model(SOURCES, SOURCE_MASK, target)
        assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
        last = model.following(target, read, last_only=True)
        assert_close(last, whole[:, -1:], atol=1e-5, rtol=1e-5)


def _torchs(ours: Seq2Seq) -> nn.Transformer:
    """torch's own with our weights. Its stacks end in a norm, which post-norm has no use for."""
    shape = ours.config
    theirs = nn.Transformer(
        shape.d_model,
        shape.n_heads,
        shape.encoder_layers,
        shape.decoder_layers,
        shape.d_ff,
        dropout=0.0,
        activation=shape.activation,
        layer_norm_eps=shape.norm_eps,
        batch_first=True,
        norm_first=shape.pre_norm,
    )
    if not shape.pre_norm:
        theirs.encoder.norm = theirs.decoder.norm = None
    weights = {}
    for name, tensor in ours.state_dict().items():
        side = "encoder" if name.startswith("encoder.") else "decoder"
        layer = f"{side}.{name.removeprefix('encoder.')}"
        for mine, torchs in (*_NAMES, (".feed_forward_norm.", _LAST_NORM[side])):
            layer = layer.replace(mine, torchs)
        weights[layer] = tensor
    for layer in [name for name in weights if ".multihead_attn.q." in name]:
        q, kv = weights.pop(layer), weights.pop(layer.replace(".q.", ".kv."))
        weights[layer.replace("attn.q.", "attn.in_proj_")] = torch.cat([q, kv])
    theirs.load_state_dict({n: w for n, w in weights.items() if "embedded" not in n})
    return theirs.eval()


_LAST_NORM = {"encoder": ".norm2.", "decoder": ".norm3."}
_NAMES = (
    ("blocks.", "layers."),
    (".cross_attention.q.", ".multihead_attn.q."),
    (".cross_attention.kv.", ".multihead_attn.kv."),
    (".cross_attention.out.", ".multihead_attn.out_proj."),
    (".attention.qkv.", ".self_attn.in_proj_"),
    (".attention.out.", ".self_attn.out_proj."),
    (".feed_forward.up.", ".linear1."),
    (".feed_forward.down.", ".linear2."),
    (".attention_norm.", ".norm1."),
    (".cross_norm.", ".norm2."),
)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("pre_norm", [False, True])
def test_it_computes_what_torchs_transformer_computes(pre_norm: bool) -> None:
    ours = seq2seq(pre_norm=pre_norm)
    theirs = _torchs(ours)
    assert SOURCE_MASK is not None
    target = ids(2, 9, seed=2)
    with torch.no_grad():
        vectors = theirs(
            ours.encoder.embedded(SOURCES)[0],  # type: ignore[operator]
            ours.embedded(target)[0],
            tgt_mask=~masks.causal(9, 9),
            src_key_padding_mask=~SOURCE_MASK,
            memory_key_padding_mask=~SOURCE_MASK,
        )
        logits = vectors @ ours.embedded.embedding.weight.T
        assert_close(ours(SOURCES, SOURCE_MASK, target), logits, atol=1e-4, rtol=1e-4)


def test_greedy_takes_the_likeliest_and_ends_at_the_end_token() -> None:
    model = seq2seq()
    sampling = Sampling(max_tokens=12)
    both = translate(model, SOURCES, SOURCE_MASK, sampling, begin=BEGIN, end=END, rng=seeded(0))
    for row, source in enumerate([SOURCES[:1], SOURCES[1:, :4]]):
        with torch.inference_mode():
            tokens = [BEGIN]
            while len(tokens) <= 12:
                following = int(model(source, None, torch.tensor([tokens]))[0, -1].argmax())
                if following == END:
                    break
                tokens.append(following)
        assert both[row] == tokens[1:]


def test_what_follows_an_end_is_not_part_of_a_target() -> None:
    script = torch.tensor([[5, END, 6, END], [7, 8, 9, 4]])
    count = iter(range(4))

    def step(tokens: Tensor) -> Tensor:
        return nn.functional.one_hot(script[:, next(count)], V).float()

    sampling = Sampling(max_tokens=4)
    assert written(step, 2, sampling, begin=BEGIN, end=END, rng=seeded(0)) == [[5], [7, 8, 9, 4]]


def test_beams_score_what_teacher_forcing_scores() -> None:
    model = seq2seq()
    found = translate_by_beams(
        model, SOURCES[:1], begin=BEGIN, end=END, beams=4, max_tokens=6, length_penalty=0.5
    )
    assert len(found) == 4
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        said = [*one.tokens, END] if one.finish_reason == "stop" else list(one.tokens)
        target = torch.tensor([[BEGIN, *said[:-1]]])
        with torch.inference_mode():
            logits = model(SOURCES[:1], None, target).log_softmax(-1)[0]
        total = sum(float(logits[i, token]) for i, token in enumerate(said))
        assert one.score == pytest.approx(total / len(said) ** 0.5, abs=1e-4)


def test_chance_stays_within_its_filters_and_repeats_with_its_seed() -> None:
    model = seq2seq()

    def drawn(seed: int, **sampling: Any) -> list[list[int]]:
        how = Sampling(max_tokens=10, temperature=1.0, **sampling)
        return translate(model, SOURCES, SOURCE_MASK, how, begin=BEGIN, end=END, rng=seeded(seed))

    greedy = drawn(0, top_k=1)
    assert drawn(1, top_k=1) == greedy
    assert drawn(1, top_p=1e-6) == greedy
    assert drawn(1) == drawn(1)
    assert len({str(drawn(seed, top_k=5)) for seed in range(4)}) > 1


def test_an_encoder_that_was_trained_before_reads_the_source() -> None:
    shape = EncoderConfig(
        vocab_size=40, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=20, n_token_types=2
    )
    loaded = randomised(Encoder(shape), seeded(5)).eval()
    before = loaded(SOURCES, SOURCE_MASK)
    model = Seq2Seq(config(d_source=16), loaded)
    begin(model, seeded(6))
    assert_close(loaded(SOURCES, SOURCE_MASK), before)
    target = ids(2, 5, seed=2)
    logits = model.eval()(SOURCES, SOURCE_MASK, target)
    read = model.read(SOURCES, SOURCE_MASK)
    assert_close(
        read.keys_values[1][0],
        model.blocks[1].cross_attention.read(before)[0],  # type: ignore[operator, union-attr]
    )
    assert_close(model.following(target, read), logits)
    logits.log_softmax(-1)[..., 5].sum().backward()
    assert all(p.grad is not None for n, p in loaded.named_parameters() if "token_types" not in n)


def test_an_encoder_and_its_width_come_together() -> None:
    with pytest.raises(ValueError, match=r"d_source \(16\) is the width"):
        Seq2Seq(config(d_source=16))
    with pytest.raises(ValueError, match=r"d_source \(None\) is the width"):
        Seq2Seq(config(), nn.Identity())


def test_one_vocabulary_is_one_matrix_and_two_are_two() -> None:
    one, two = seq2seq(), seq2seq(source_vocab=31)
    assert isinstance(one.encoder, SourceEncoder)
    assert isinstance(two.encoder, SourceEncoder)
    assert one.encoder.embedded.embedding is one.embedded.embedding
    assert two.encoder.embedded.embedding.weight.shape == (31, 12)


def test_a_model_from_nothing_is_near_indifference() -> None:
    for kind in KINDS:
        model = Seq2Seq(config(**kind))
        begin(model, seeded(0))
        with torch.inference_mode():
            chances = model.eval()(SOURCES, SOURCE_MASK, ids(2, 6)).log_softmax(-1)
        assert float(chances.mean()) == pytest.approx(-3.6, abs=0.6), "log 23 is 3.1"
        again = Seq2Seq(config(**kind))
        begin(again, seeded(0))
        assert_close(list(again.parameters()), list(model.parameters()))


def test_dropout_is_set_everywhere_at_once() -> None:
    model, target = seq2seq(), ids(2, 6)
    whole = model(SOURCES, SOURCE_MASK, target)
    set_dropout(model, 0.3)
    assert_close(model(SOURCES, SOURCE_MASK, target), whole)
    assert not torch.allclose(model.train()(SOURCES, SOURCE_MASK, target), whole)


def test_what_is_too_long_or_empty_is_refused_by_its_numbers() -> None:
    model, target = seq2seq(), ids(1, 5)
    with pytest.raises(LengthError, match="25 tokens are over the model's 24 positions"):
        model(ids(1, 25), None, target)
    with pytest.raises(LengthError, match="25 tokens are over the model's 24 positions"):
        model(ids(1, 5), None, ids(1, 25))
    with pytest.raises(LengthError, match="25 tokens are over the model's 24 positions"):
        model.new_cache(25)
    with pytest.raises(ValueError, match="the source holds no token"):
        model.read(torch.empty(1, 0, dtype=torch.long))


def test_numbers_that_are_none_end_decoding_by_name() -> None:
    model = seq2seq()
    with torch.no_grad():
        model.embedded.embedding.weight[7] = float("nan")
    sampling = Sampling(max_tokens=5)
    with pytest.raises(ModelError, match="largest logit is nan"):
        translate(model, SOURCES, SOURCE_MASK, sampling, begin=BEGIN, end=END, rng=seeded(0))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"n_heads": 5}, r"n_heads \(5\) must divide d_model \(12\)"),
        ({"decoder_layers": 0}, r"decoder_layers \(0\) must be at least 1"),
        ({"source_vocab": 0}, r"source_vocab \(0\) must be at least 1"),
        ({"positions": "none"}, r"positions \('none'\) must be one of sinusoidal, learned, rotary"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        config(**changes)


def test_gradients_reach_every_parameter() -> None:
    model = seq2seq(source_vocab=31, positions="learned", pre_norm=True)
    model(SOURCES, SOURCE_MASK, ids(2, 6)).log_softmax(-1)[..., 5].sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []
