"""Where tokens stand in a text, and what models expect around texts and between two of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, processors

from tests.builders import XLMR_SPECIALS, bert_tokenizer, wordpiece
from transformer import Tokenizer

_LETTERS = [chr(c) for c in range(97, 123)]


def _spelling() -> Tokenizer:
    return Tokenizer(wordpiece([*_LETTERS, *(f"##{letter}" for letter in _LETTERS)]))


def _roberta() -> Tokenizer:
    """Pieces with the space before them, and <s> … </s> around, as XLM-R has it."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(piece, -1.0) for piece in ("▁", "▁ab", "c", "▁d", "▁fi")]
    backend = Backend(models.Unigram(pieces, unk_id=3))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.add_special_tokens(list(XLMR_SPECIALS))
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return Tokenizer(backend)


def test_offsets_say_where_each_token_stands() -> None:
    ids, offsets = bert_tokenizer().encode_with_offsets(["w0  w11", ""])
    assert ids == [[5, 16], []]
    assert offsets == [[(0, 2), (4, 7)], []]


def test_offsets_leave_out_the_space_that_a_piece_begins_with() -> None:
    text = " abc  d"
    _, (offsets,) = _roberta().encode_with_offsets([text])
    assert [text[start:end] for start, end in offsets if start < end] == ["ab", "c", "d"]


def test_offsets_count_the_text_as_it_stands_not_as_it_is_normalised() -> None:
    text = "ab ﬁ d"  # the ligature is one code point and becomes two
    _, (offsets,) = _roberta().encode_with_offsets([text])
    assert [text[start:end] for start, end in offsets if start < end] == ["ab", "ﬁ", "d"]


@given(st.lists(st.text(alphabet="ab z\t가!"), max_size=4))
def test_offsets_go_forward_and_ids_are_those_of_encode(texts: list[str]) -> None:
    tokenizer = _spelling()
    ids, offsets = tokenizer.encode_with_offsets(texts)
    assert ids == [tokenizer.encode(text) for text in texts]
    for text, places in zip(texts, offsets, strict=True):
        ends = [end for place in places for end in place]
        assert ends == sorted(ends)
        assert all(not text[start].isspace() for start, end in places if start < end)


def test_what_stands_around_a_text() -> None:
    assert bert_tokenizer().around == ([2], [3])
    assert _roberta().around == ([0], [2])


def test_between_two_texts_stand_one_mark_or_two() -> None:
    assert bert_tokenizer().between == [3]
    assert _roberta().between == [2, 2]


@pytest.mark.parametrize("text", ["w1 w2", ""])
def test_around_is_what_the_model_gets(text: str) -> None:
    tokenizer = bert_tokenizer()
    before, behind = tokenizer.around
    assert [*before, *tokenizer.encode(text), *behind] == tokenizer.encode_for_model([text])[0]
