"""Looking inside of both models over a library: what comes of them, and what is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from generator import checkpoint
from rag import Assistant, Settings
from rag.errors import TooLong, UsageError
from rag.inspecting import Inspection
from tests.generator.builders import generator, loaded, tokenizer

QUESTION = "How long?"
PASSAGE = "The warranty lasts 24 months.\nKeep the receipt. It is <b>proof</b>."

Opened = Callable[..., Assistant]


@pytest.fixture(scope="module")
def generator_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspected") / "writer"
    checkpoint.save(loaded(generator(max_tokens=2048), tokenizer()), folder)
    return folder


@pytest.fixture
def opened(settings: Settings, generator_folder: Path) -> Iterator[Opened]:
    made: list[Assistant] = []

    def of(**changes: object) -> Assistant:
        given = {"generator": str(generator_folder), **changes}
        made.append(Assistant.open(settings.model_copy(update=given)))
        return made[-1]

    yield of
    for each in made:
        each.close()


def met(found: Inspection) -> str:
    """The passage as the encoder read it, without what it is put between."""
    return "".join(token.text for token in found.encoder.passage.tokens[1:-1])


def test_a_question_and_a_passage_are_looked_at_in_both_models(opened: Opened) -> None:
    attest = opened()
    found = attest.inspect(f"  {QUESTION} ", PASSAGE)
    assert (found.question, found.passage, found.absent) == (QUESTION, PASSAGE, None)

    encoder = found.encoder
    assert (encoder.facts.layers, encoder.facts.heads) == (1, 2)
    assert (encoder.facts.positions, encoder.pooling, encoder.left) == ("learned", "mean", 0)
    vectors = attest.encoders.of("default")
    cosine = vectors.embed_queries([QUESTION])[0] @ vectors.embed_documents([PASSAGE])[0]
    assert encoder.cosine == pytest.approx(cosine, abs=1e-3)
    assert encoder.passage_shares.sum() == pytest.approx(encoder.cosine, abs=1e-3)
    assert encoder.question_shares.sum() == pytest.approx(encoder.cosine, abs=1e-3)
    assert met(found) == PASSAGE.replace(" ", "").replace("\n", "")
    assert encoder.passage_map.tokens == encoder.passage.tokens

    inside = found.generator
    assert inside is not None
    assert (inside.facts.heads, inside.facts.groups, inside.facts.positions) == (6, 2, "rotary")
    assert inside.pieces == (
        "The warranty lasts 24 months.",
        "Keep the receipt.",
        "It is <b>proof</b>.",
    )
    assert inside.answer.needs.shape == (len(inside.answer.answer), 3)


def test_of_a_long_passage_whole_sentences_are_read_and_a_part_is_shown(opened: Opened) -> None:
    sentence = "The valve is closed by hand at night."
    passage = " ".join([sentence] * 20)
    found = opened().inspect(QUESTION, passage)
    encoder, inside = found.encoder, found.generator
    assert len(encoder.passage.tokens) <= 256
    read = len(passage) - encoder.left
    assert passage[:read].endswith(sentence)
    assert len(encoder.passage_map.tokens) == 128
    np.testing.assert_allclose(encoder.passage_map.of(0).sum(-1), 1, atol=2e-3)
    assert inside is not None
    assert inside.left > 0
    assert len(inside.pieces) <= 12
    assert "".join(inside.pieces).replace(" ", "") == passage[: -inside.left].replace(" ", "")


def test_a_word_without_end_is_read_as_far_as_it_fits(opened: Opened) -> None:
    found = opened().inspect(QUESTION, "x-" * 450)
    assert found.encoder.left == 900 - 254
    assert found.generator is not None
    assert found.generator.left == 900 - 384


def test_where_no_generator_can_be_looked_into_the_encoder_is(opened: Opened) -> None:
    elsewhere = opened(generator_url="http://localhost:9/v1").inspect(QUESTION, PASSAGE)
    assert (elsewhere.generator, elsewhere.absent) == (None, "engine")
    missing = opened(generator="nowhere").inspect(QUESTION, PASSAGE)
    assert (missing.generator, missing.absent) == (None, "missing")
    assert "nowhere" in missing.failure
    assert met(missing)


def test_what_cannot_be_inspected_is_refused(opened: Opened) -> None:
    attest = opened()
    with pytest.raises(UsageError, match="the passage is empty"):
        attest.inspect(QUESTION, " \n")
    with pytest.raises(UsageError, match="the question is empty"):
        attest.inspect("", PASSAGE)
    with pytest.raises(TooLong, match="has 20,001 characters, 20,000 are taken"):
        attest.inspect(QUESTION, "x" * 20_001)
    with pytest.raises(TooLong, match="over the encoder's limit of 256"):
        attest.inspect("x-" * 150, PASSAGE)
