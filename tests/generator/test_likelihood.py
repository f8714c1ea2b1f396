"""Likelihoods in batches, against one plain forward pass for each pair."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import processors
from transformers import LlamaConfig, LlamaForCausalLM

from generator import Generator, Writer, checkpoint
from generator.blocks import Frame, PassageCaches
from generator.kept import Kept
from generator.likelihood import (
    PASSAGE_TOKENS,
    branching,
    likelihoods,
    likelihoods_behind,
    pair_likelihoods,
)
from tests.generator.builders import config, generator, loaded, published, save_foreign, tokenizer
from transformer import LengthError, ModelError, Tokenizer

QUESTIONS = ["Who keeps the hello bell?", "Why?", "he", "w" * 30]
PASSAGES = ["The bell hangs in the hall. " * 2, "", "hello", "가나다라 마바사", "x" * 300]
EVERY = [(q, p) for p in range(len(PASSAGES)) for q in range(len(QUESTIONS))]


def writer(*, words: Tokenizer | None = None, **changes: Any) -> Writer:
    return Writer(loaded(generator(**changes), words or tokenizer()))


def plainly(of: Writer, question: str, passage: str) -> float:
    """The definition: a prompt of its own, every logit, no padding."""
    encode = of.tokenizer.encode
    before = [*encode(passage)[:PASSAGE_TOKENS], *encode("\nQuestion:")]
    asked = encode(f" {question}")
    with torch.inference_mode():
        logits = of.model(torch.tensor([before + asked]))[0].log_softmax(-1)
    at = range(len(before) - 1, len(before) + len(asked) - 1)
    return float(logits[list(at), asked].mean())


@pytest.mark.parametrize("changes", [{}, {"positions": "learned", "norm": "layer"}])
def test_every_pair_scores_as_in_a_pass_of_its_own(changes: dict[str, Any]) -> None:
    of = writer(max_tokens=512, **changes)
    expected = [plainly(of, QUESTIONS[q], PASSAGES[p]) for q, p in EVERY]

    found = pair_likelihoods(of, QUESTIONS, PASSAGES, EVERY)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert (found < 0).all()


def test_one_question_scores_alike_in_any_order_and_company() -> None:
    of = writer(max_tokens=512)
    found = likelihoods(of, QUESTIONS[0], PASSAGES)

    np.testing.assert_allclose(
        likelihoods(of, QUESTIONS[0], PASSAGES[::-1]), found[::-1], atol=1e-5
    )
    alone = [likelihoods(of, QUESTIONS[0], [passage])[0] for passage in PASSAGES]
    np.testing.assert_allclose(alone, found, atol=1e-5)
    twice = pair_likelihoods(of, QUESTIONS, PASSAGES, [(0, 1), (2, 1), (0, 1)])
    np.testing.assert_allclose(twice[[0, 2]], found[1], atol=1e-5)


def test_many_questions_of_one_passage_go_on_in_further_rows() -> None:
    of = writer(max_tokens=512)
    pairs = [(3, 0)] * 40  # 40 times 31 bytes are more than a row takes

    found = pair_likelihoods(of, QUESTIONS, PASSAGES, pairs)

    np.testing.assert_allclose(found, plainly(of, QUESTIONS[3], PASSAGES[0]), atol=1e-4)


def test_the_published_code_scores_alike(tmp_path: Path) -> None:
    folder = tmp_path / "llama"
    theirs = published(
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=263,
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=512,
                tie_word_embeddings=True,
            )
        )
    )
    save_foreign(theirs, folder, tokenizer())
    of = Writer(checkpoint.load(folder, "fp32"))

    found = likelihoods(of, QUESTIONS[0], PASSAGES)

    for score, passage in zip(found, PASSAGES, strict=True):
        before = of.tokenizer.encode(passage)[:PASSAGE_TOKENS] + of.tokenizer.encode("\nQuestion:")
        ids = torch.tensor([before + of.tokenizer.encode(f" {QUESTIONS[0]}")])
        labels = ids.clone()
        labels[:, : len(before)] = -100  # their mark for what is not foretold
        with torch.inference_mode():
            loss = theirs(input_ids=ids, labels=labels).loss
        assert score == pytest.approx(-float(loss), abs=1e-4)


def test_passages_and_questions_are_cut_where_they_are_long() -> None:
    of = writer(max_tokens=512)
    short, long = "hello", "hello" + "x" * 500

    assert likelihoods(of, "Why?", [long], passage_tokens=3) == pytest.approx(
        likelihoods(of, "Why?", [short], passage_tokens=3)
    )
    cut = likelihoods(of, "w" * 300, [short])
    assert cut == pytest.approx(likelihoods(of, "w" * 127, [short]))  # and the space before it


def test_a_special_token_in_a_text_is_plain_text() -> None:
    of = writer(max_tokens=512)
    spelled = "<|im_start|>"

    assert 1 not in of.tokenizer.encode(spelled)
    found = likelihoods(of, f"What is {spelled}?", [f"It says {spelled}."])
    assert found[0] == pytest.approx(
        plainly(of, f"What is {spelled}?", f"It says {spelled}."), abs=1e-4
    )


def test_a_text_begins_as_the_model_is_used_to() -> None:
    backend = Backend.from_str(tokenizer().to_json())  # the shared one stays as it is
    backend.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
    )
    of, bare = writer(words=Tokenizer(backend), max_tokens=512), writer(max_tokens=512)
    encode = of.tokenizer.encode
    before = [0, *encode("hello"), *encode("\nQuestion:")]
    asked = encode(" Why?")
    with torch.inference_mode():
        logits = of.model(torch.tensor([before + asked]))[0].log_softmax(-1)
    expected = logits[range(len(before) - 1, len(before) + len(asked) - 1), asked].mean()

    assert likelihoods(of, "Why?", ["hello"])[0] == pytest.approx(float(expected), abs=1e-4)
    assert likelihoods(bare, "Why?", ["hello"])[0] != pytest.approx(float(expected), abs=1e-3)


def test_what_cannot_be_is_said() -> None:
    of = writer()
    assert len(likelihoods(of, "Why?", [])) == 0
    with pytest.raises(ValueError, match="the question is blank"):
        likelihoods(of, " \n", ["hello"])
    with pytest.raises(ValueError, match=r"passage_tokens \(0\) must be at least 1"):
        likelihoods(of, "Why?", ["hello"], passage_tokens=0)
    small = Writer(loaded(generator(max_tokens=48), tokenizer()))
    with pytest.raises(
        LengthError, match=r"a question takes \d+ tokens, the generator's limit is 48"
    ):
        likelihoods(small, "w" * 44, ["x"])


def test_a_passage_is_cut_to_what_a_small_model_has_room_for() -> None:
    small = Writer(loaded(generator(max_tokens=48), tokenizer()))
    whole, more = likelihoods(small, "w" * 10, ["x" * 300, "x" * 400])
    assert whole == more
    short = likelihoods(small, "w" * 10, ["x" * 300], passage_tokens=5)[0]
    assert short != pytest.approx(whole, abs=1e-6)


def test_broken_numbers_are_no_scores() -> None:
    model = Generator(config(max_tokens=512))
    torch.nn.init.constant_(model.norm.weight, float("nan"))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="try fp32"):
        likelihoods(Writer(loaded(model.eval(), tokenizer())), "Why?", ["hello"])


def test_branches_see_the_trunk_and_themselves() -> None:
    seen = branching(torch.tensor([[0, 0, 1, 1, 2]]))[0, 0].int()
    assert seen.tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]


def kept(of: Writer) -> PassageCaches:
    frame = Frame.of_chat(of, "Answer from the passages.")
    return PassageCaches(of.model, of.tokenizer, of.fingerprint, frame, Kept(1 << 24))


@pytest.mark.parametrize("changes", [{}, {"positions": "learned", "norm": "layer"}])
def test_kept_passages_score_as_those_that_are_read_with_the_question(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    of = writer(max_tokens=512, **changes)
    caches = kept(of)
    cold = pair_likelihoods(of, QUESTIONS, PASSAGES, EVERY, frame=caches.frame)
    cold = cold.reshape(len(PASSAGES), len(QUESTIONS))

    likelihoods_behind(caches, QUESTIONS[0], PASSAGES[:2])  # some of them are kept already
    for question, expected in zip(QUESTIONS, cold.T, strict=True):
        found = likelihoods_behind(caches, question, PASSAGES)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-4)

    again = likelihoods_behind(caches, QUESTIONS[0], PASSAGES)
    monkeypatch.setattr(of.model, "hidden", None)  # would fail if a passage were read
    np.testing.assert_array_equal(likelihoods_behind(caches, QUESTIONS[0], PASSAGES), again)


def test_the_frame_of_kept_passages_is_part_of_the_prompt() -> None:
    of = writer(max_tokens=512)
    frame, encode = kept(of).frame, of.tokenizer.encode
    before = [*frame.head, *encode("hello"), *encode("\n\nQuestion:")]
    asked = encode(" Why?")
    with torch.inference_mode():
        logits = of.model(torch.tensor([before + asked]))[0].log_softmax(-1)
    at = range(len(before) - 1, len(before) + len(asked) - 1)

    found = likelihoods_behind(kept(of), "Why?", ["hello"])

    assert found[0] == pytest.approx(float(logits[list(at), asked].mean()), abs=1e-4)


def test_many_passages_go_in_parts_and_cut_alike() -> None:
    of = writer(max_tokens=512)
    passages = [f"{i} " + "x" * 30 for i in range(40)]  # 40 of 31 tokens are over one part
    found = likelihoods_behind(kept(of), QUESTIONS[3], passages, passage_tokens=9)
    pairs = [(0, i) for i in range(40)]
    expected = pair_likelihoods(
        of, [QUESTIONS[3]], passages, pairs, passage_tokens=9, frame=kept(of).frame
    )
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_what_cannot_be_scored_behind_kept_passages_is_said() -> None:
    caches = kept(writer(max_tokens=512))
    assert likelihoods_behind(caches, "Why?", []).shape == (0,)
    with pytest.raises(ValueError, match="the question is blank"):
        likelihoods_behind(caches, " ", ["hello"])
    with pytest.raises(ValueError, match=r"passage_tokens \(0\) must be at least 1"):
        likelihoods_behind(caches, "Why?", ["hello"], passage_tokens=0)
    with pytest.raises(LengthError, match="a passage has to stand before it"):
        likelihoods_behind(kept(writer(max_tokens=64)), "w" * 40, ["hello"])


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_few_bits_keep_the_order_where_it_is_clear(tmp_path: Path, precision: Any) -> None:
    folder = tmp_path / "model"
    checkpoint.save(loaded(generator(max_tokens=512, d_model=64, d_ff=96), tokenizer()), folder)
    scores = {}
    for kind in ("fp32", precision):
        of = Writer(checkpoint.load(folder, kind))
        caches = kept(of)
        for _ in range(2):
            scores[kind] = likelihoods_behind(caches, QUESTIONS[0], PASSAGES)
    whole, few = scores["fp32"], scores[precision]
    np.testing.assert_allclose(few, whole, atol=0.1)
    clear = np.abs(whole[:, None] - whole) > 0.2
    assert clear.any()
    assert ((few[:, None] < few) == (whole[:, None] < whole))[clear].all()
