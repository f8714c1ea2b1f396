"""What is shown of an answer: against the model's own logits and a pass for each left-out piece."""

import numpy as np
import pytest
import torch

from generator import Generator, Sampling, Writer
from generator.attribute import Reading, read
from generator.blocks import caches_of
from generator.inspecting import InspectedAnswer, inspect
from tests.generator.builders import generator, loaded, tokenizer
from transformer import LengthError
from transformer.runtime import seeded

SYSTEM, QUESTION = "Answer.", "Where?"
PIECES = ("The bell hangs in the hall.", "Nobody rings it.")
PASSAGE = " ".join(PIECES)


def writer(model: Generator | None = None) -> Writer:
    return Writer(loaded(model or generator(max_tokens=768), tokenizer(), ends=()))


def looked(of: Writer, passage: str = PASSAGE) -> InspectedAnswer:
    return inspect(of, SYSTEM, QUESTION, passage, PIECES, most=6)


@pytest.fixture(scope="module")
def one() -> tuple[Writer, InspectedAnswer]:
    of = writer()
    return of, looked(of)


def said(found: InspectedAnswer, at: range) -> str:
    return "".join(found.tokens[i].text for i in at).replace("␣", "")


def test_the_stretches_are_the_prompt_and_the_answer(one: tuple[Writer, InspectedAnswer]) -> None:
    _, found = one
    assert said(found, found.passage) == PASSAGE.replace(" ", "")
    assert QUESTION in said(found, found.question)
    assert found.passage.stop == found.question.start
    assert found.question.stop == found.answer.start
    assert found.answer.stop == len(found.tokens)
    assert len(found.answer) == 6
    assert [token.position for token in found.tokens] == list(range(len(found.tokens)))


def test_weights_are_causal_and_rows_sum_to_one(one: tuple[Writer, InspectedAnswer]) -> None:
    _, found = one
    weights = found.attention.of(1, 2)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=2e-3)
    assert (np.triu(weights[:, 1:], 1) == 0).all()
    assert (np.tril(weights[:, 1:]).sum(-1) > 0).all()
    assert (weights[:, 0] > 0).all()  # the system's words
    np.testing.assert_allclose(found.looks.sum(-1), 1, atol=1e-5)
    # What foretold the first token is the last of the question, which sees no answer.
    assert (found.looks[0, found.answer.start :] == 0).all()
    row = found.attention.tokens.index(found.tokens[found.answer.start])
    mean = np.stack([found.attention.of(layer) for layer in range(found.attention.layers)]).mean(0)
    np.testing.assert_allclose(
        mean[row, 1:].sum(), found.looks[1, found.passage.start :].sum(), atol=5e-3
    )


def prompt(of: Writer) -> list[int]:
    caches = caches_of(of, SYSTEM)
    passage = of.tokenizer.encode(PASSAGE)
    between = caches.frame.between
    return [*caches.frame.head, *passage, *between, *caches.question(QUESTION)]


def written(of: Writer) -> tuple[int, ...]:
    """The answer once more."""
    return tuple(of.tokens(prompt(of), Sampling(max_tokens=6), seeded(0)))


def test_chances_are_the_models_own(one: tuple[Writer, InspectedAnswer]) -> None:
    of, found = one
    before, answer = prompt(of), written(of)
    assert of.tokenizer.decode(answer) == found.text
    with torch.inference_mode():
        logits = of.model(torch.tensor([[*before, *answer]]))[0].softmax(-1)
    places = range(len(before) - 1, len(before) + len(answer) - 1)
    np.testing.assert_allclose(found.chances, logits[places, answer].numpy(), atol=1e-4)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_a_piece_that_is_left_out_is_not_there(positions: str) -> None:
    of = writer(generator(max_tokens=768, positions=positions))
    found, answer = looked(of), written(of)
    readings = [Reading(PIECES, answer), Reading(PIECES[1:], answer)]
    both, without = read(caches_of(of, SYSTEM), QUESTION, readings)
    assert found.needs.shape == (6, 2)
    np.testing.assert_allclose(found.needs[:, 0], both.scores - without.scores, atol=1e-4)


def test_of_a_long_passage_a_part_is_shown_and_the_rest_summed_up() -> None:
    found = looked(writer(), PASSAGE * 6)
    seen = found.attention
    assert len(seen.tokens) == 128
    assert seen.tokens[-1] == found.tokens[-1]
    np.testing.assert_allclose(seen.of(0).sum(-1), 1, atol=2e-3)


def test_a_model_that_says_nothing_has_nothing_to_show() -> None:
    everything = range(263)
    found = looked(Writer(loaded(generator(max_tokens=768), tokenizer(), ends=everything)))
    assert (found.text, len(found.answer)) == ("", 0)
    assert found.looks.shape == (0, len(found.tokens))
    assert found.needs.shape == (0, 2)


def test_what_does_not_fit_is_refused_with_its_numbers() -> None:
    with pytest.raises(LengthError, match="160"):
        looked(writer(generator(max_tokens=160)), PASSAGE * 6)
