"""Byte pairs: every text comes back to the byte, and training twice gives one vocabulary."""

import pytest

from tests.encoder.learning import documents
from transformer.byte_pairs import train_byte_pairs
from transformer.errors import TrainingError

_SPECIALS = ("<|end|>", "<|turn|>")
_TEXTS = documents(60)


def test_every_text_comes_back_to_the_byte() -> None:
    words = train_byte_pairs(_TEXTS, size=300, specials=_SPECIALS)
    assert words.size == 300
    for text in ("the garden\n\n  and", "물레방아", "\u00e9\u0301 🙂", "<|end|> in a text"):
        ids = words.encode(text)
        assert words.decode(ids) == text
        assert not {0, 1} & set(ids)
    assert words.encode("<|turn|>", specials=True) == [1]


def test_frequent_words_become_one_token() -> None:
    words = train_byte_pairs(_TEXTS, size=380, specials=_SPECIALS)
    assert len(words.encode(" the")) == 1


def test_it_is_the_same_each_time() -> None:
    first, second = (
        train_byte_pairs(iter(texts), size=320, specials=_SPECIALS) for texts in (_TEXTS, _TEXTS)
    )
    assert first.to_json() == second.to_json()


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (100, "no room for the 256 bytes and 2 special tokens; give a size of 258"),
        (9000, r"too little for a vocabulary of 9000: it gives \d+"),
    ],
)
def test_sizes_that_cannot_be_are_refused(size: int, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        train_byte_pairs(_TEXTS, size=size, specials=_SPECIALS)
