"""Foretelling in rows is foretelling alone, and blocks keep passages apart."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from generator.data import Encoded, Opening, pack
from generator.learning import NextToken, foretell, hidden
from tests.generator.builders import VOCABULARY, generator, prompt
from transformer.runtime import seeded


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_a_packed_example_is_read_as_it_is_alone(positions: str) -> None:
    model = generator(positions=positions)
    texts = [prompt(length, seed=length) for length in (9, 5, 7)]
    rows = pack([Encoded(tuple(ids), 0) for ids in texts], 16)
    assert len(rows) == 2
    with torch.no_grad():
        found = hidden(model, rows, blocks=False)
        for ids in texts:
            row, start = next(
                (row, start)
                for row in range(len(rows))
                for start in range(16)
                if rows.tokens[row, start : start + len(ids)].tolist() == ids
            )
            alone = model.hidden(torch.tensor([ids]))
            assert_close(found[row, start : start + len(ids)], alone[0], atol=1e-5, rtol=1e-4)


def test_the_loss_is_that_of_the_learned_tokens_alone() -> None:
    model = generator()
    ids = prompt(12)
    told = foretell(model, pack([Encoded(tuple(ids), 8)], 20), blocks=False)
    logits = model(torch.tensor([ids]))[0]
    expected = F.cross_entropy(logits[7:11], torch.tensor(ids[8:]), reduction="sum")
    assert_close(told.loss, expected)
    assert told.tokens == 4


def test_in_blocks_a_passage_is_read_alike_whatever_stands_before_it() -> None:
    model = generator()
    head, mine, asked = prompt(4, seed=1), prompt(6, seed=2), prompt(3, seed=3)
    found = []
    for other in (prompt(5, seed=4), prompt(5, seed=5)):
        ids = (*head, *other, *mine, *asked)
        rows = pack([Encoded(ids, len(ids) - 1, bounds=(4, 9, 15))], len(ids))
        with torch.no_grad():
            found.append([hidden(model, rows, blocks=b)[0] for b in (True, False)])
    (blocks, whole), (other_blocks, other_whole) = found
    assert_close(blocks[9:15], other_blocks[9:15])
    assert not torch.allclose(whole[9:15], other_whole[9:15], atol=1e-4)
    assert not torch.allclose(blocks[15:], other_blocks[15:], atol=1e-4)  # the question sees both


def test_a_share_of_the_batches_is_in_blocks_and_follows_the_seed() -> None:
    ids = tuple(prompt(12, vocabulary=VOCABULARY))
    rows = pack([Encoded(ids, 9, bounds=(2, 5, 8))], 12)
    model = generator().requires_grad_(True)
    task = NextToken(model, rows, rows, rows=1, blocks=0.5)
    batch = torch.tensor([0])
    losses = [task.backward(batch, seeded(seed)).loss for seed in range(12)]
    assert losses == [task.backward(batch, seeded(seed)).loss for seed in range(12)]
    assert len({round(loss, 4) for loss in losses}) == 2


def test_what_is_held_out_is_measured_as_it_was_learned() -> None:
    ids = tuple(prompt(12))
    rows = pack([Encoded(ids, 9)], 12)
    model = generator()
    with torch.no_grad():
        metrics = NextToken(model, rows, rows, rows=1).evaluate()
        told = foretell(model, rows, blocks=False)
    assert metrics["log_likelihood"] == pytest.approx(-float(told.loss) / 3)
    assert metrics["perplexity"] == pytest.approx(float(torch.exp(told.loss / 3)))
    assert next(iter(metrics)) == "log_likelihood"


def test_the_opening_of_an_answer_counts_as_told_and_is_measured() -> None:
    ids = tuple(prompt(12))
    model = generator()
    plain, opened = (
        foretell(model, pack([Encoded(ids, 6)], 12, opening), blocks=False)
        for opening in (None, Opening(2, 5.0))
    )
    logits = model(torch.tensor([ids]))[0]
    losses = F.cross_entropy(logits[5:11], torch.tensor(ids[6:]), reduction="none")
    assert_close(opened.loss, losses.sum() + 4 * losses[:2].sum())
    assert (opened.weight, opened.tokens, opened.answers) == (14.0, 6, 1)
    assert opened.plain == pytest.approx(plain.plain) == pytest.approx(losses.sum().item())
    assert opened.begun == int(logits[5].argmax() == ids[6])


def test_a_token_weighs_the_same_in_a_short_answer_and_in_a_long_one() -> None:
    """Else a model learns short answers first, whatever is asked."""
    ids = tuple(prompt(12))
    model = generator().requires_grad_(True)
    rows = pack([Encoded(ids, 6), Encoded(ids, 10)], 12)
    task = NextToken(model, rows, rows, rows=1)
    for place, tokens in ((0, 6), (1, 2)):
        model.zero_grad()
        told = task.backward(torch.tensor([place]), seeded(0))
        found = model.embedding.weight.grad
        assert found is not None
        mine, loss = found.clone(), foretell(model, rows.at(torch.tensor([place])), blocks=False)
        model.zero_grad()
        (loss.loss / 4).backward()  # four tokens in the mean row, whichever this is
        assert model.embedding.weight.grad is not None
        assert_close(mine, model.embedding.weight.grad)
        assert told.loss == pytest.approx(loss.plain / tokens)
