"""Examples to rows: what is learned, what sees what, and where passages begin."""

from itertools import pairwise

import pytest
import torch

from generator import Message
from generator.data import (
    OPEN,
    PREFIX,
    Encoded,
    Example,
    Opening,
    Writing,
    encode_texts,
    mask,
    pack,
)
from generator.prompts import Prompts, grounded
from tests.generator.builders import CHATML, END, generator, loaded, tokenizer
from transformer.errors import TrainingError

_WORDS = tokenizer()
_PASSAGES = ("Passage 1:\nthe hen", "Passage 2:\nthe hill", "Passage 3:\nthe well")


def _writing(template: str | None = CHATML) -> Writing:
    checkpoint = loaded(generator(), _WORDS, template=template)
    return Writing(Prompts(checkpoint.chat, _WORDS), _WORDS, checkpoint.chat.ends)


def _example() -> Example:
    messages = grounded("Quote.", "Question: who", _PASSAGES)
    return Example(messages, 'Passage 2: "the hill"', _PASSAGES)


def _text(ids: tuple[int, ...]) -> str:
    return _WORDS.decode(ids, specials=True)


def test_an_example_is_the_prompt_and_its_answer_up_to_the_end_token() -> None:
    example = _example()
    encoded = _writing().encode(example)
    prompt = Prompts(loaded(generator(), _WORDS).chat, _WORDS).encode(example.messages)
    assert list(encoded.ids[: encoded.learned]) == prompt
    assert _text(encoded.ids[encoded.learned :]) == f"{example.answer}{END}"


def test_bounds_lie_where_passages_and_the_question_begin() -> None:
    encoded = _writing().encode(_example())
    edges = [*encoded.bounds, len(encoded.ids)]
    parts = [_text(encoded.ids[start:stop]) for start, stop in pairwise(edges)]
    assert parts[:3] == [f"{passage}\n\n" for passage in _PASSAGES]
    assert parts[3].startswith("Question: who")
    assert _text(encoded.ids[: edges[0]]).endswith("<|im_start|>user\n")


def test_special_tokens_in_a_passage_stay_text_and_move_no_bound() -> None:
    passages = (f"Passage 1:\nsays {END} aloud", "Passage 2:\nelse")
    example = Example(grounded("", "Question: who", passages)[1:], "No.", passages)
    encoded = _writing().encode(example)
    first, second, _ = encoded.bounds
    assert _text(encoded.ids[first:second]) == f"{passages[0]}\n\n"
    assert _WORDS.id_of(END) not in encoded.ids[first:second]


def test_a_model_without_an_end_token_cannot_learn_to_stop() -> None:
    checkpoint = loaded(generator(), _WORDS, template=None, ends=())
    with pytest.raises(TrainingError, match="no token that ends an answer"):
        Writing(Prompts(checkpoint.chat, _WORDS), _WORDS, ())


def test_a_model_without_a_template_learns_to_stop_with_its_end_token() -> None:
    example = Example((Message("user", "who"),), "hen")
    assert _writing(None).encode(example).ids[-1] == _WORDS.id_of(END)


def test_rows_hold_whole_examples_and_learn_only_answers() -> None:
    rows = pack([Encoded((5, 6, 7, 8), 2), Encoded((9, 10), 0), Encoded((11, 12, 13), 1)], 6)
    assert rows.tokens.tolist() == [[5, 6, 7, 8, 9, 10], [11, 12, 13, 0, 0, 0]]
    assert rows.segments.tolist() == [[1, 1, 1, 1, 2, 2], [1, 1, 1, 0, 0, 0]]
    assert rows.positions.tolist() == [[0, 1, 2, 3, 0, 1], [0, 1, 2, 0, 0, 0]]
    # What stands first in an example is foretold by nothing.
    assert rows.weights.tolist() == [[0, 0, 1, 1, 0, 1], [0, 1, 1, 0, 0, 0]]
    assert rows.at(torch.tensor([1])).tokens.tolist() == [[11, 12, 13]]


def test_an_example_that_is_longer_than_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="an example of 3 tokens does not fit a row of 2"):
        pack([Encoded((1, 2, 3), 0)], 2)


def test_examples_of_a_row_do_not_see_each_other() -> None:
    rows = pack([Encoded((5, 6, 7), 1), Encoded((8, 9), 1)], 5)
    seen = mask(rows, blocks=False)
    assert seen is not None
    assert seen[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]


def test_a_row_of_one_example_needs_no_mask() -> None:
    assert mask(pack([Encoded((5, 6, 7), 1)], 5), blocks=True) is None


def test_in_blocks_a_passage_sees_the_prefix_and_itself_and_the_question_sees_all() -> None:
    rows = pack([Encoded(tuple(range(7)), 6, bounds=(1, 3, 5))], 7)
    assert rows.parts.tolist() == [[PREFIX, 1, 1, 2, 2, OPEN, OPEN]]
    seen = mask(rows, blocks=True)
    assert seen is not None
    assert seen[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
    ]


def test_every_token_of_a_text_is_learned_once_however_it_is_cut() -> None:
    text = "the hen and the hill " * 6
    found = encode_texts(_WORDS, [text, ""], 16, end=0)
    whole = [*_WORDS.encode(text), 0]
    assert [i for each in found[:-1] for i in each.ids[each.learned :]] == whole
    assert all(len(each.ids) <= 16 for each in found)
    assert all(after.ids[0] == before.ids[-1] for before, after in pairwise(found[:-1]))
    assert found[-1].ids == (0, 0)
    with pytest.raises(ValueError, match=r"length \(1\) must be at least 2"):
        encode_texts(_WORDS, [text], 1, end=0)


@pytest.mark.parametrize(
    ("tokens", "weight", "message"),
    [(-1, 1.0, r"tokens \(-1\) must be at least 0"), (2, 0.0, r"weight \(0.0\) must be a number")],
)
def test_an_opening_is_checked(tokens: int, weight: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Opening(tokens, weight)
