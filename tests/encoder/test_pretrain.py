"""Masked language modelling: every choice learns, what does not fit is refused with its numbers."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from encoder import EmbeddingConfig, Encoder, EncoderConfig, pooling
from encoder.checkpoint import EncoderCheckpoint
from encoder.data import Packed
from encoder.pretrain import Masking, MlmConfig, pretrain
from tests.builders import bert_tokenizer, randomised
from transformer import Tokenizer
from transformer.errors import TrainingError
from transformer.init import initialise
from transformer.runtime import seeded
from transformer.tokenizer_training import train_tokenizer
from transformer.training import Moment, TrainingConfig

WORDS = 8  # a language of words that follow one another; a text begins with the first or the fifth
TOKENIZER = bert_tokenizer(5 + WORDS)
UNIGRAM = math.log(WORDS)  # the loss of knowing how frequent words are, and nothing else


def _text(start: int, length: int) -> str:
    return " ".join(f"w{(start + i) % WORDS}" for i in range(length))


def _texts(n: int = 200) -> list[str]:
    rng = seeded(5)
    starts = (4 * torch.randint(2, (n,), generator=rng)).tolist()
    lengths = torch.randint(4, 13, (n,), generator=rng).tolist()
    return [_text(*each) for each in zip(starts, lengths, strict=True)]


def _fresh(tokenizer: Tokenizer = TOKENIZER, **settings: Any) -> EncoderCheckpoint:
    sizes = {"d_model": 32, "n_layers": 2, "n_heads": 2, "d_ff": 48, "max_tokens": 32}
    config = EncoderConfig(**{"vocab_size": tokenizer.size, **sizes, **settings})
    model = Encoder(config)
    initialise(model, seeded(1))
    return EncoderCheckpoint(model, tokenizer, EmbeddingConfig(max_tokens=32), "")


def _config(steps: int = 150, **settings: Any) -> MlmConfig:
    training = TrainingConfig(steps=steps, learning_rate=5e-3, precision="float32")
    settings = {"length": 32, "rows": 16, "held_out": 0.1, **settings}
    return MlmConfig(training, **settings)


@pytest.mark.parametrize("pre_norm", [True, False], ids=["pre-norm", "post-norm"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
def test_every_choice_learns(positions: str, pre_norm: bool, tmp_path: Path) -> None:
    checkpoint = _fresh(positions=positions, pre_norm=pre_norm)
    trained = pretrain(checkpoint, _texts(), _config(), tmp_path)
    assert -trained.metrics["log_likelihood"] < UNIGRAM / 2
    assert trained.metrics["accuracy"] > 1 / WORDS
    assert next(iter(trained.metrics)) == "log_likelihood"  # which weights are best goes by it


def test_what_was_learned_needs_positions(tmp_path: Path) -> None:
    trained = pretrain(_fresh(positions="none", pre_norm=True), _texts(), _config(), tmp_path)
    assert -trained.metrics["log_likelihood"] > 0.7 * UNIGRAM


@pytest.mark.parametrize("how", ["mean", "cls"])
def test_a_sentence_vector_learns_to_carry_its_sentence(how: str, tmp_path: Path) -> None:
    checkpoint = _fresh(positions="rotary", pre_norm=True, gated=True, bias=False)
    embedding = EmbeddingConfig(max_tokens=32, pooling=how)  # type: ignore[arg-type]
    checkpoint = EncoderCheckpoint(checkpoint.model, TOKENIZER, embedding, "")
    config = _config(retromae=True, rebuilt_rate=0.9, scheme="mixed", dropout=0.05)
    trained = pretrain(checkpoint, _texts(), config, tmp_path)
    assert -trained.metrics["log_likelihood"] < UNIGRAM / 2
    rows = TOKENIZER.encode_for_model([_text(0, 4), _text(4, 4)])
    with torch.inference_mode():
        hidden = checkpoint.model(torch.tensor(rows))
        one, other = pooling.pool(checkpoint.model, hidden, embedding.pooling)
    assert float(torch.cosine_similarity(one, other, dim=0)) < 0.8


def test_training_in_bfloat16_leaves_a_float32_model_that_learned(tmp_path: Path) -> None:
    checkpoint = _fresh(positions="rotary", pre_norm=True)
    training = TrainingConfig(steps=150, learning_rate=5e-3, precision="bfloat16")
    config = MlmConfig(training, length=32, rows=16, held_out=0.1)
    trained = pretrain(checkpoint, _texts(), config, tmp_path)
    assert -trained.metrics["log_likelihood"] < UNIGRAM / 2
    assert {p.dtype for p in checkpoint.model.parameters()} == {torch.float32}
    assert not checkpoint.model.training


def test_an_encoder_that_knows_something_goes_on_from_it(tmp_path: Path) -> None:
    checkpoint = _fresh(positions="learned")
    pretrain(checkpoint, _texts(), _config(), tmp_path / "first")
    again = pretrain(checkpoint, _texts(), _config(steps=25), tmp_path / "second")
    fresh = pretrain(_fresh(positions="learned"), _texts(), _config(steps=25), tmp_path / "third")
    assert again.metrics["log_likelihood"] > fresh.metrics["log_likelihood"] + 0.1


def test_the_same_seed_gives_the_same_model_and_the_dropout_is_gone(tmp_path: Path) -> None:
    runs = []
    for name in ("a", "b"):
        checkpoint = _fresh(positions="rotary", pre_norm=True)
        moments: list[Moment] = []
        config = _config(steps=4, dropout=0.2)
        pretrain(checkpoint, _texts(40), config, tmp_path / name, watch=moments.append)
        assert checkpoint.model.dropout == checkpoint.model.blocks[0].dropout == 0
        runs.append(([moment.loss for moment in moments], checkpoint.model.embedding.weight))
    assert runs[0][0] == runs[1][0]
    assert torch.equal(runs[0][1], runs[1][1])


def _packed_texts(packed: Packed) -> set[tuple[int, ...]]:
    places = packed.places.tolist()
    return {tuple(packed.tokens[at][packed.segments[at] == n].tolist()) for at, n in places}


def test_held_out_texts_are_never_trained_on() -> None:
    texts = [_text(start, length) for start in range(WORDS) for length in range(4, 9)]
    everything = {tuple(row) for row in TOKENIZER.encode_for_model(texts)}
    drawn = set()
    for seed in range(3):
        training = TrainingConfig(steps=8, seed=seed)
        task = Masking(_fresh(), texts, MlmConfig(training, length=16, held_out=0.1))
        train, held_out = _packed_texts(task.train), _packed_texts(task.held_out)
        assert len(held_out) == 4
        assert train == everything - held_out
        drawn.add(frozenset(held_out))
    assert len(drawn) == 3


# The claim about order


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary"])
def test_only_positions_tell_who_eats_whom(positions: str) -> None:
    sentences = ["Squatch eats pizza", "Pizza eats Squatch"]
    tokenizer = train_tokenizer(sentences * 9, kind="wordpiece", size=30, lowercase=True)
    checkpoint = _fresh(tokenizer, positions=positions, n_heads=4)
    model = randomised(checkpoint.model, seeded(2))
    with torch.inference_mode():
        hidden = model(torch.tensor(tokenizer.encode_for_model(sentences)))
    one, other = pooling.mean(hidden, None)
    same = torch.allclose(one, other, atol=1e-5)
    assert same == (positions == "none")


# What is refused


def test_a_length_over_the_positions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"length \(64\) is over the encoder's 32 positions"):
        pretrain(_fresh(), _texts(), _config(length=64), tmp_path)


def test_a_length_without_room_for_a_word_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"length \(2\) must be over the 2 tokens around"):
        pretrain(_fresh(), _texts(), _config(length=2), tmp_path)


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(tmp_path: Path) -> None:
    checkpoint = _fresh(vocab_size=10)
    with pytest.raises(TrainingError, match="13 ids and the encoder places for 10"):
        pretrain(checkpoint, _texts(), _config(), tmp_path)


def test_a_language_that_the_vocabulary_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="vocabulary lacks 100% of this text"):
        pretrain(_fresh(), ["도서관은 월요일에 쉰다"] * 9, _config(), tmp_path)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["w1 w2"], "1 texts cannot be trained on"),
        (["w1", "", ""], "of 3 texts hold no word"),
        (["w1 " * 30, "도"], "1 of 2 texts hold no word"),  # but one that is unknown
    ],
)
def test_too_little_text_is_refused(texts: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=message):
        pretrain(_fresh(), texts, _config(), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 0.0}, r"rate \(0.0\) must lie between 0 and 1"),
        ({"held_out": 1.0}, r"held_out \(1.0\) must lie between"),
        ({"dropout": 1.0}, r"dropout \(1.0\) must be at least 0 and below 1"),
        ({"rows": 0}, r"rows \(0\) must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _config(**settings)
