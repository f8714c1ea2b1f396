"""Teaching an encoder–decoder: what a batch is, what is measured, and that it learns to reverse."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from encoder import Encoder, EncoderConfig
from generator.sampling import Sampling
from generator.seq2seq import Seq2Seq, begin
from generator.seq2seq_config import Seq2SeqConfig
from generator.seq2seq_decoding import translate, translate_by_beams
from generator.seq2seq_training import IGNORED, Marks, Pair, Translating, batch, padded
from tests.builders import randomised
from transformer.errors import TrainingError
from transformer.runtime import seeded
from transformer.training import TrainingConfig, train

MARKS = Marks(begin=1, end=2, pad=0)
V = 13


def reversals(n: int, *, seed: int, longest: int = 5) -> list[Pair]:
    """Random words, and the same ones from the last to the first."""
    rng = seeded(seed)
    rows = (
        torch.randint(3, V, (int(torch.randint(1, longest + 1, (), generator=rng)),), generator=rng)
        for _ in range(n)
    )
    return [Pair(tuple(row.tolist()), tuple(row.flip(0).tolist())) for row in rows]


def shape(**changes: object) -> Seq2SeqConfig:
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}
    values = {"vocab_size": V, "max_tokens": 12, **sizes, "pre_norm": True}
    return Seq2SeqConfig(**(values | changes))  # type: ignore[arg-type]


def learned(model: Seq2Seq, folder: Path, steps: int) -> Translating:
    begin(model, seeded(0))
    task = Translating(model, reversals(4000, seed=1), reversals(60, seed=2), MARKS, smoothing=0.05)
    config = TrainingConfig(steps=steps, learning_rate=5e-3, precision="float32")
    train(task, config, folder)
    return task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Translating:
    """Has learned to reverse, with a vocabulary of the source's own."""
    model = Seq2Seq(shape(source_vocab=V))
    return learned(model, tmp_path_factory.mktemp("run"), 500)


def test_what_is_read_and_what_is_to_be_said_stand_one_place_apart() -> None:
    told = batch([Pair((5, 6, 7), (8,)), Pair((9,), (3, 4))], MARKS)
    assert told.source.tolist() == [[5, 6, 7], [9, 0, 0]]
    assert told.source_mask is not None
    assert told.source_mask.tolist() == [[True] * 3, [True, False, False]]
    assert told.target.tolist() == [[1, 8, 0], [1, 3, 4]]
    assert told.labels.tolist() == [[8, 2, IGNORED], [3, 4, 2]]
    assert batch([Pair((5,), (8,))], MARKS).source_mask is None


def test_an_epoch_holds_every_pair_once_in_an_order_drawn_from_its_seed() -> None:
    task = Translating(Seq2Seq(shape()), reversals(70, seed=1), [], MARKS, rows=8)
    batches = task.epoch(seeded(3))
    assert sorted(i for some in batches for i in some) == list(range(70))
    assert max(map(len, batches)) == 8
    assert batches == task.epoch(seeded(3))
    assert batches != task.epoch(seeded(4))
    assert task.evaluate() == {}


def test_the_loss_is_the_mean_over_tokens_that_are_to_be_said() -> None:
    model = randomised(Seq2Seq(shape()), seeded(0)).eval()
    pairs = [Pair((5, 6, 7), (8,)), Pair((9,), (3, 4))]
    task = Translating(model, pairs, pairs, MARKS, smoothing=0.0)
    chances = []
    with torch.no_grad():
        for source, target in pairs:
            ids = torch.tensor([[MARKS.begin, *target]])
            logits = model(torch.tensor([source]), None, ids)[0].log_softmax(-1)
            chances += [float(logits[i, t]) for i, t in enumerate([*target, MARKS.end])]
    told = task.backward([0, 1], seeded(0))
    assert told.loss == pytest.approx(-sum(chances) / 5, rel=1e-4)
    assert told.tokens == 4 + 3 + 2
    with torch.no_grad():
        assert task.evaluate()["log_likelihood"] == pytest.approx(sum(chances) / 5, rel=1e-4)


def test_an_empty_side_is_refused() -> None:
    with pytest.raises(TrainingError, match="pair 2 has an empty side"):
        Translating(Seq2Seq(shape()), [Pair((3,), (4,)), Pair((3,), ())], [], MARKS)


def test_it_learns_to_reverse(task: Translating) -> None:
    with torch.no_grad():
        assert task.evaluate()["accuracy"] > 0.95
    assert isinstance(task.model, Seq2Seq)
    pairs = reversals(60, seed=3)
    source, mask = padded([pair.source for pair in pairs], MARKS.pad)
    said = translate(
        task.model, source, mask, Sampling(max_tokens=9), begin=1, end=2, rng=seeded(0)
    )
    right = sum(tuple(row) == pair.target for row, pair in zip(said, pairs, strict=True))
    assert right >= 48  # by chance none; how a processor rounds decides on a few of them


def test_one_beam_is_greedy_and_more_are_no_worse(task: Translating) -> None:
    model = task.model
    assert isinstance(model, Seq2Seq)
    for pair in reversals(12, seed=4):
        source = torch.tensor([pair.source])
        (greedy,) = translate(
            model, source, None, Sampling(max_tokens=9), begin=1, end=2, rng=seeded(0)
        )
        one, four = (
            translate_by_beams(model, source, begin=1, end=2, beams=n, max_tokens=9)[0]
            for n in (1, 4)
        )
        assert list(one.tokens) == greedy
        assert one.finish_reason == "stop"
        assert four.score >= one.score - 1e-5


def test_it_learns_behind_an_encoder_that_was_there_before(tmp_path: Path) -> None:
    reader = EncoderConfig(vocab_size=V, d_model=16, n_layers=1, n_heads=2, d_ff=24, max_tokens=12)
    loaded = randomised(Encoder(reader), seeded(5))
    before = [p.detach().clone() for p in loaded.parameters()]
    model = Seq2Seq(shape(d_source=16), loaded)
    first = Translating(model, [], reversals(60, seed=2), MARKS)
    with torch.no_grad():
        begun = first.evaluate()["log_likelihood"]
    task = learned(model, tmp_path / "run", 60)
    with torch.no_grad():
        assert task.evaluate()["log_likelihood"] > begun + 0.3
    moved = [not torch.equal(p, b) for p, b in zip(loaded.parameters(), before, strict=True)]
    assert all(moved), "the encoder goes on learning"


def test_other_models_that_are_called_alike_learn_by_the_same_task(tmp_path: Path) -> None:
    class Bigrams(nn.Module):
        """Knows only the token before."""

        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(V, V)

        def forward(self, source: object, mask: object, target: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.table(target)
            return scores

    pairs = [Pair((3,), (4, 5, 6))] * 8
    task = Translating(Bigrams(), pairs, pairs, MARKS, smoothing=0.0)
    done = train(task, TrainingConfig(steps=200, learning_rate=0.1), tmp_path / "run")
    assert done.metrics["accuracy"] == 1.0
    assert_close(task.model(None, None, torch.tensor([[4]])).argmax(-1), torch.tensor([[5]]))
