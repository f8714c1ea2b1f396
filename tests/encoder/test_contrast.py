"""Contrastive learning, end to end on texts of numbered words: each choice learns in seconds."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from encoder import Embedder, Encoder, EncoderConfig, checkpoint, contrast, losses, pooling
from encoder.checkpoint import EncoderCheckpoint
from encoder.config import EmbeddingConfig, Pooling
from encoder.contrast import Contrast, ContrastConfig
from encoder.pairs import Graded, Kind, Making, Pair, Shares, Sources
from tests.builders import bert_tokenizer, sentence
from transformer.corpus_files import Document
from transformer.errors import TrainingError
from transformer.init import initialise
from transformer.runtime import seeded
from transformer.training import TrainingConfig

SMALL = EncoderConfig(
    vocab_size=97,
    d_model=32,
    n_layers=1,
    n_heads=2,
    d_ff=48,
    max_tokens=40,
    positions="rotary",
    pre_norm=True,
    gated=True,
    norm_eps=1e-5,
)
TRAINING = TrainingConfig(steps=40, learning_rate=1e-2, precision="float32")
CONFIG = ContrastConfig(
    TRAINING, Shares(given=1), batch=24, max_tokens=40, dropout=0.0, held_out=0.1
)


def _fresh(seed: int = 0, **embedding: Any) -> EncoderCheckpoint:
    model = Encoder(SMALL)
    initialise(model, seeded(seed))
    settings = EmbeddingConfig(max_tokens=40, **embedding)
    return EncoderCheckpoint(model, bert_tokenizer(), settings, "")


def _translated(n: int) -> list[Pair]:
    """A text of the words 0 … 45, and the same in the words 46 … 91."""
    rng = seeded(7)
    made = []
    for _ in range(n):
        numbers = torch.randint(46, (4,), generator=rng).tolist()
        made.append(
            Pair(" ".join(f"w{i}" for i in numbers), " ".join(f"w{i + 46}" for i in numbers))
        )
    return made


def _documents(n: int) -> list[Document]:
    """Each of sentences about six words of its own."""
    rng = seeded(8)
    documents = []
    for _ in range(n):
        words = torch.randint(92, (6,), generator=rng)
        drawn = words[torch.randint(6, (24,), generator=rng)].tolist()
        parts = [" ".join(f"w{i}" for i in drawn[k : k + 6]) + "." for k in range(0, 24, 6)]
        title = " ".join(f"w{i}" for i in words[:3].tolist())
        documents.append(Document(" ".join(parts), title))
    return documents


SOURCES = Sources(
    documents=_documents(200),
    sentences=[sentence(seeded(100 + i), 8) for i in range(200)],
    pairs=_translated(200),
    graded=[
        Graded(left.query, right.positive, float(left is right))
        for left in _translated(12)
        for right in [left, *_translated(12)[:2]]
    ],
)


def _found(ready: EncoderCheckpoint, made: list[Pair]) -> float:
    """Share of the pairs whose own text is the nearest, as the product embeds them."""
    embedder = Embedder(
        ready.model, ready.tokenizer, ready.embedding, fingerprint="", dtype=torch.float32
    )
    left = embedder.embed_queries([pair.query for pair in made])
    right = embedder.embed_documents([pair.positive for pair in made])
    return float(((left @ right.T).argmax(1) == np.arange(len(made))).mean())


@pytest.mark.parametrize("how", ["mean", "cls", "max", "attention"])
def test_each_pooling_learns(tmp_path: Path, how: Pooling) -> None:
    base, config = _fresh(), dataclasses.replace(CONFIG, pooling=how)
    fresh = _translated(260)[200:]
    trained = contrast.contrast(base, SOURCES, config, tmp_path / "run")
    ready = contrast.equipped(base, config)
    assert ready.embedding.pooling == how
    assert trained.metrics["accuracy"] > 0.6
    assert trained.metrics["mrr"] >= trained.metrics["accuracy"]
    checkpoint.save(ready, tmp_path / "model")
    loaded = checkpoint.load(tmp_path / "model")
    assert _found(loaded, fresh) > 0.5  # by chance 1 in 60


@pytest.mark.parametrize(
    "changes",
    [
        {"shares": Shares(crops=1), "making": Making(shortest=6, longest=12)},
        {"shares": Shares(titles=1)},
        {"shares": Shares(contexts=1)},
        {"shares": Shares(same=1), "making": Making(same_deletion=0.3)},
        {"shares": Shares(same=1), "dropout": 0.3},
        {"dimensions": (8, 16)},
    ],
    ids=["crops", "titles", "contexts", "deletion", "dropout", "matryoshka"],
)
def test_each_kind_of_pair_lowers_the_loss(tmp_path: Path, changes: dict[str, Any]) -> None:
    told: list[float] = []
    config = dataclasses.replace(CONFIG, **changes)
    trained = contrast.contrast(
        _fresh(), SOURCES, config, tmp_path, watch=lambda moment: told.append(moment.loss)
    )
    assert np.mean(told[-8:]) < 0.8 * np.mean(told[:8])
    if "dropout" in changes:  # a text always finds itself, so that the best step cannot be told
        assert not trained.metrics
    else:
        assert trained.metrics["accuracy"] > 0.3


def test_graded_pairs_are_put_in_order(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, shares=Shares(graded=1), held_out=0.0)
    told: list[float] = []
    trained = contrast.contrast(
        _fresh(),
        SOURCES,
        config,
        tmp_path,
        watch=lambda moment: told.append(moment.loss),
        judged=SOURCES.graded,
    )
    assert next(iter(trained.metrics)) == "spearman"
    assert trained.metrics["spearman"] > 0.7
    assert told[-1] < 0.5 * told[0]


def test_graded_pairs_are_held_out_where_no_others_judge() -> None:
    config = dataclasses.replace(CONFIG, shares=Shares(graded=1), held_out=0.2)
    task = Contrast(_fresh(), SOURCES, config)
    assert len(task.judged) == 7
    assert not {id(each) for each in task.judged} & {id(each) for each in task.material.graded}
    with torch.no_grad():
        assert set(task.evaluate()) == {"spearman"}
    assert not Contrast(_fresh(), SOURCES, CONFIG).judged


def test_the_first_dimensions_suffice_where_they_were_learned(tmp_path: Path) -> None:
    fresh, scores = _translated(260)[200:], {}
    for name, dimensions in (("whole", ()), ("nested", (4,))):
        base, config = _fresh(), dataclasses.replace(CONFIG, dimensions=dimensions)
        contrast.contrast(base, SOURCES, config, tmp_path / name)
        ready = contrast.equipped(base, config)
        cut = dataclasses.replace(ready.embedding, dimensions=4)
        scores[name] = _found(dataclasses.replace(ready, embedding=cut), fresh)
    assert scores["nested"] > scores["whole"] + 0.1


def _gradient(config: ContrastConfig, kind: Kind) -> tuple[float, list[Tensor]]:
    base = contrast.equipped(_fresh(), config)
    task = Contrast(base, SOURCES, config)
    base.model.train()
    passed = task.backward((kind, tuple(range(20))), seeded(3))
    return passed.loss, [p.grad for p in base.model.parameters() if p.grad is not None]


@pytest.mark.parametrize("kind", ["given", "crops", "graded"])
def test_slices_change_nothing(kind: Kind) -> None:
    whole = dataclasses.replace(CONFIG, shares=Shares(given=1, crops=1, graded=1))
    sliced = dataclasses.replace(whole, slice_tokens=64)
    loss, expected = _gradient(whole, kind)
    again, got = _gradient(sliced, kind)
    assert again == pytest.approx(loss, abs=1e-5)
    for mine, reference in zip(got, expected, strict=True):
        assert_close(mine, reference, atol=1e-6, rtol=1e-4)


def test_a_batch_has_the_loss_of_its_texts_each_alone() -> None:
    made = [
        Pair("w1 w2", "w3", ("w4 w5 w6", "w7")),
        Pair("w8", "w9 w10 w11", ("w12",)),
        Pair("w13 w14", "w15"),
    ]
    base = _fresh(query_prefix="w20 ", document_prefix="w21 ")
    config = dataclasses.replace(CONFIG, held_out=0.0)
    task = Contrast(base, Sources(pairs=made), config)
    told = task.backward(("given", (0, 1, 2)), seeded(0))

    def vector(text: str) -> Tensor:
        ids = torch.tensor(base.tokenizer.encode_for_model([text]))
        return pooling.mean(base.model(ids), None)[0]

    queries = torch.stack([vector("w20 " + pair.query) for pair in made])
    documents = torch.stack([vector("w21 " + pair.positive) for pair in made])
    filler = torch.zeros(32)
    rows = [
        [*(vector("w21 " + each) for each in pair.negatives), filler, filler][:2] for pair in made
    ]
    hard = torch.stack([torch.stack(row) for row in rows])
    absent = torch.tensor([False] * 3 + [False, False, False, True, True, True]).expand(3, 9)
    expected = losses.symmetric_info_nce(
        queries, documents, temperature=0.05, negatives=hard, same=absent
    )
    assert told.loss == pytest.approx(expected.item(), abs=1e-4)
    lengths = [len(ids) for pair in made for ids in _encoded(base, pair)]
    assert told.tokens == sum(lengths)


def _encoded(base: EncoderCheckpoint, pair: Pair) -> list[list[int]]:
    texts = ["w20 " + pair.query, *("w21 " + each for each in (pair.positive, *pair.negatives))]
    return base.tokenizer.encode_for_model(texts)


def test_what_is_held_out_is_not_learned_from() -> None:
    task = Contrast(_fresh(), SOURCES, CONFIG)
    assert (len(task.material.given), len(task.held.given)) == (180, 20)
    assert not set(task.material.given) & set(task.held.given)
    assert not set(task.material.titles) & set(task.held.crops)
    assert Contrast(_fresh(), SOURCES, CONFIG).held.given == task.held.given


def test_long_texts_are_cut() -> None:
    config = dataclasses.replace(CONFIG, max_tokens=8, held_out=0.0)
    made = [Pair(sentence(seeded(i), 30), sentence(seeded(i + 50), 30)) for i in range(4)]
    task = Contrast(_fresh(), Sources(pairs=made), config)
    assert task.backward(("given", (0, 1, 2, 3)), seeded(0)).tokens == 8 * 8


def test_dropout_is_off_behind_training(tmp_path: Path) -> None:
    base = _fresh()
    config = dataclasses.replace(
        CONFIG, dropout=0.5, training=dataclasses.replace(TRAINING, steps=1)
    )
    contrast.contrast(base, SOURCES, config, tmp_path)
    base.model.train()
    tokens = torch.randint(5, 97, (2, 9), generator=seeded(1))
    assert_close(base.model(tokens), base.model(tokens), atol=0, rtol=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shares": Shares(crops=1, titles=2)}, r"shares\.crops is 1, and 0 texts of those given"),
        ({"max_tokens": 41}, r"max_tokens \(41\) is over the model's 40 places"),
        ({"dimensions": (8, 64)}, r"dimensions \[64\] must be between 1 and d_model \(32\)"),
    ],
)
def test_what_does_not_fit_says_so(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    config = dataclasses.replace(CONFIG, **changes)
    with pytest.raises(TrainingError, match=message):
        contrast.contrast(_fresh(), Sources(pairs=SOURCES.pairs), config, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 1}, r"batch \(1\) must be at least 2"),
        ({"slice_tokens": 39}, r"slice_tokens \(39\) must be at least max_tokens \(40\)"),
        ({"temperature": 0.0}, r"temperature \(0\.0\) must be over 0"),
        ({"dropout": 1.0}, r"dropout \(1\.0\) must be at least 0 and below 1"),
        ({"held_out": -0.1}, r"held_out \(-0\.1\) must be at least 0 and below 1"),
    ],
)
def test_an_impossible_config_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **changes)


def test_attention_begins_at_rarity_and_goes_on_from_what_it_knows(tmp_path: Path) -> None:
    texts = tuple(f"w0 w1 w{2 + n % 40}" for n in range(200))
    sources = Sources(pairs=tuple(Pair(text, text) for text in texts))
    training = dataclasses.replace(TRAINING, steps=1, learning_rate=1e-9)
    config = dataclasses.replace(CONFIG, pooling="attention", training=training)
    base = _fresh()
    contrast.contrast(base, sources, config, tmp_path / "first")
    own = pooling.pooler(base.model)
    assert own is not None
    ids = torch.tensor(base.tokenizer.encode_for_model(["w0 w20"]))
    scores = own(base.model(ids))[0]
    assert scores[2] > scores[1] + 1  # w20 is in few texts, w0 in all
    own.query.data.zero_()
    contrast.contrast(base, sources, config, tmp_path / "second")
    assert own.query.abs().max() < 1e-6, "a pooler that there was keeps what it had learned"


def test_graded_pairs_alone_are_texts_to_count_in(tmp_path: Path) -> None:
    graded = tuple(Graded(f"w{n % 9} w50", f"w{n % 7}", n % 6) for n in range(60))
    training = dataclasses.replace(TRAINING, steps=1)
    config = dataclasses.replace(
        CONFIG, pooling="attention", training=training, shares=Shares(graded=1)
    )
    base = _fresh()
    contrast.contrast(base, Sources(graded=graded), config, tmp_path)
    own = pooling.pooler(base.model)
    assert own is not None
    assert own.query.abs().max() > 0.1


def test_blocks_weigh_less_only_where_nothing_normalises_them_with_the_words() -> None:
    model = Encoder(dataclasses.replace(SMALL, pre_norm=False))
    base = EncoderCheckpoint(model, bert_tokenizer(), EmbeddingConfig(max_tokens=40), "")
    config = dataclasses.replace(CONFIG, blocks=0.5)
    with pytest.raises(TrainingError, match=r"blocks \(0\.5\) can weigh less only in a model with"):
        contrast.equipped(base, config)
    with pytest.raises(ValueError, match=r"blocks \(0\) must be over 0"):
        dataclasses.replace(CONFIG, blocks=0)
