"""Streaming text: whole characters only, stop texts not even in part, nothing lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models
from tokenizers import Tokenizer as Backend

from generator.text import Detokenizer, StopFilter
from tests.generator.builders import SPECIALS, letters, spellings, tokenizer
from transformer import Tokenizer

_FARMER = "창문 닫을게요 🧑🏽‍🌾"
_FARMER_TOKENS = (
    *("ecb0", "bdeb", "acb8", "20eb", "8bab", "ec9d", "84ea", "b28c", "ec9a"),
    *("9420", "f09f", "a791", "f09f", "8fbd", "e280", "8df0", "9f8c", "be"),
)


def _ids(words: Tokenizer, tokens: Sequence[bytes]) -> list[int]:
    found = [words.id_of(letters(token)) for token in tokens]
    assert None not in found
    return [i for i in found if i is not None]


def _pieces(words: Tokenizer, ids: Sequence[int]) -> list[str]:
    detokenizer = Detokenizer(words)
    return [*(detokenizer.push(i) for i in ids), detokenizer.flush()]


def test_characters_over_several_tokens_are_shown_whole() -> None:
    tokens = [bytes.fromhex(token) for token in _FARMER_TOKENS]
    words = tokenizer(*tokens)
    pieces = _pieces(words, _ids(words, tokens))
    assert "".join(pieces) == _FARMER
    assert not any("\ufffd" in piece for piece in pieces)
    assert pieces[1] == "창"  # what is whole is shown at once, though the token goes on


def test_a_cut_tail_is_one_replacement_character() -> None:
    words = tokenizer()
    ids = _ids(words, [bytes([b]) for b in "닫다".encode() + bytes.fromhex("eab0")])
    pieces = _pieces(words, ids)
    assert "".join(pieces) == "닫다\ufffd"
    assert pieces[-1] == "\ufffd"


@st.composite
def _cut_texts(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A text, and its bytes cut anywhere into tokens of one to five."""
    text = draw(st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=40))
    raw, tokens = text.encode(), list[bytes]()
    while raw:
        size = draw(st.integers(1, 5))
        tokens.append(raw[:size])
        raw = raw[size:]
    return text, tokens


@given(_cut_texts())
@settings(deadline=None, max_examples=50)
def test_any_text_cut_anywhere_comes_out_as_it_was(case: tuple[str, list[bytes]]) -> None:
    text, tokens = case
    words = tokenizer(*tokens)
    pieces = _pieces(words, _ids(words, tokens))
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)


@given(st.binary(max_size=60))
@settings(deadline=None, max_examples=60)
def test_broken_bytes_hide_nothing_that_is_whole(noise: bytes) -> None:
    words = tokenizer()
    raw = b"before " + noise + " 뒤에 after".encode()
    text = "".join(_pieces(words, _ids(words, [bytes([b]) for b in raw])))
    assert text.startswith("before ")
    assert text.endswith("뒤에 after")


def test_special_tokens_are_not_shown() -> None:
    words = tokenizer()
    ids = [words.encode("a")[0], 1, *words.encode("b"), 2]
    assert "".join(_pieces(words, ids)) == "ab"


class _Counting(Tokenizer):
    """Counts the tokens that it decodes."""

    decoded = 0

    def decode(self, ids: Sequence[int], *, specials: bool = False) -> str:
        self.decoded += len(ids)
        return super().decode(ids, specials=specials)


@pytest.mark.parametrize("text", ["word " * 400, "창" * 600, "\x80" * 200])
def test_the_cost_grows_with_the_text_alone(text: str) -> None:
    vocabulary = spellings()
    words = _Counting.from_byte_level_bpe(vocabulary, [], range(len(SPECIALS)), "gpt-2")
    assert isinstance(words, _Counting)
    raw = text.encode("latin-1") if text[0] == "\x80" else text.encode()
    ids = _ids(words, [bytes([b]) for b in raw])
    _pieces(words, ids)
    assert words.decoded < 25 * len(ids)


def _sentencepiece() -> Tokenizer:
    """As Llama 2 decodes: a mark for spaces, the first of them dropped, unknown bytes alone."""
    tokens = ["▁Hello", "▁world", "▁", "!", *(f"<0x{b:02X}>" for b in range(256))]
    backend = Backend(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=[]))
    backend.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1, right=0),
        ]
    )
    backend.add_special_tokens([AddedToken("</s>", special=True)])
    return Tokenizer(backend)


def test_tokenizers_that_drop_the_first_space_keep_the_others() -> None:
    words = _sentencepiece()
    names = ["▁Hello", "▁world", "▁", *(f"<0x{b:02X}>" for b in "창🌾".encode()), "▁world", "!"]
    ids = [i for name in names if (i := words.id_of(name)) is not None]
    pieces = _pieces(words, ids)
    assert "".join(pieces) == "Hello world 창🌾 world!"
    assert not any("\ufffd" in piece for piece in pieces)
    cut = _pieces(words, ids[:-4])
    assert "".join(cut) == "Hello world 창\ufffd"


def _shown(pieces: Sequence[str], *stops: str) -> tuple[list[str], bool]:
    stop = StopFilter(stops)
    shown = [stop.push(piece) for piece in pieces]
    return [*shown, stop.flush()], stop.stopped


def test_a_stop_text_over_several_pieces_is_not_shown_even_in_part() -> None:
    shown, stopped = _shown(["An answer", ".\n", "Ques", "tion", ": and", " more"], "\nQuestion:")
    assert stopped
    assert "".join(shown) == "An answer."
    assert shown[1] == "."  # the line break may begin it


def test_what_only_began_like_a_stop_text_is_shown() -> None:
    shown, stopped = _shown(["a\nQues", "tions are fine", "\nQuest"], "\nQuestion:")
    assert not stopped
    assert "".join(shown) == "a\nQuestions are fine\nQuest"
    assert shown[0] == "a"
    assert shown[-1] == "\nQuest"


def test_the_first_of_several_stop_texts_counts() -> None:
    shown, stopped = _shown(["one two ", "three END"], "END", "thr", "two three")
    assert stopped
    assert "".join(shown) == "one "


@given(
    st.lists(st.text("ab", max_size=4), max_size=12),
    st.lists(st.text("ab", min_size=1, max_size=5), max_size=3),
)
@settings(deadline=None)
def test_what_is_shown_is_all_before_the_first_stop(pieces: list[str], stops: list[str]) -> None:
    whole = "".join(pieces)
    shown, stopped = _shown(pieces, *stops)
    # It stops at the first moment that a stop text is complete.
    ends = [(at + len(stop), at) for stop in stops if (at := whole.find(stop)) >= 0]
    assert stopped == bool(ends)
    text = "".join(shown)
    assert whole.startswith(text)
    assert not any(stop in text for stop in stops)
    if not ends:
        assert text == whole
