"""Answers written together are those written apart."""

from pathlib import Path

import pytest

from generator import Generator, Sampling, checkpoint
from generator.decoding import decode
from generator.together import decode_together
from tests.generator.builders import generator, loaded, prompt, tokenizer
from transformer.runtime import seeded

_STARTS = [prompt(5 + 3 * n, seed=n) for n in range(11)]


@pytest.fixture(scope="module", params=["fp32", "int4"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator:
    folder: Path = tmp_path_factory.mktemp("model") / "small"
    shape = {"vocab_size": 272, "d_model": 64, "d_ff": 96, "n_heads": 4, "head_width": 32}
    checkpoint.save(loaded(generator(seed=4, **shape), tokenizer()), folder)
    return checkpoint.load(folder, request.param).model


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("at_once", [1, 4, 20])
def test_each_answer_is_the_one_that_it_would_be_alone(
    model: Generator, temperature: float, at_once: int
) -> None:
    sampling = Sampling(max_tokens=15, temperature=temperature, repetition_penalty=1.1)
    ends = set(range(3, 12))
    found = decode_together(
        model,
        _STARTS,
        sampling,
        ends=ends,
        rngs=[seeded(n) for n in range(len(_STARTS))],
        at_once=at_once,
    )
    for n, (start, decoded) in enumerate(zip(_STARTS, found, strict=True)):
        alone = list(decode(model, start, sampling, ends=ends, rng=seeded(n)))
        assert list(decoded.tokens) == alone
        assert decoded.finish_reason == ("length" if len(alone) == 15 else "stop")


def test_what_does_not_fit_together_is_named(model: Generator) -> None:
    with pytest.raises(ValueError, match=r"2 prompts, none of them empty, need as many rngs \(1\)"):
        decode_together(model, [[5], [6]], Sampling(), ends=(), rngs=[seeded(0)])
    assert decode_together(model, [], Sampling(), ends=(), rngs=[]) == []
