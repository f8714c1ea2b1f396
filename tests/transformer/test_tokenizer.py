"""The tokenizer: nothing is cut, specials are text, Hangul stays Hangul, bytes come back whole."""

import json
import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend
from transformers import GPT2Tokenizer, Qwen2Tokenizer

from tests.builders import BERT_SPECIALS, XLMR_SPECIALS, numbered_words, wordpiece
from transformer import CheckpointError, Tokenizer

KOREAN = ["도서관", "은", "##은", "월요일", "##에", "쉰다", "hello", "café", "cafe", "도", "##서"]
TEXT = "도서관은 월요일에 쉰다"


def _tokens(tokenizer: Tokenizer, text: str) -> list[str]:
    names = {i: token for token, i in tokenizer.special_tokens().items()}
    return [names.get(i) or tokenizer.decode([i]) for i in tokenizer.encode(text)]


def _korean(*, lowercase: bool) -> tuple[Tokenizer, dict[str, int]]:
    backend = wordpiece(KOREAN, lowercase=lowercase)
    return Tokenizer(backend), backend.get_vocab()


def _unigram(*, spaces: bool = True) -> Backend:
    """As XLM-R's: the special tokens are pieces of the vocabulary too, with the best score."""
    pieces = [("▁", -2.0), ("▁a", -3.0), *((letter, -4.0) for letter in "<>/spadb")]
    vocabulary = [*((token, 0.0) for token in XLMR_SPECIALS), *pieces]
    backend = Backend(models.Unigram(vocabulary, unk_id=3))
    if spaces:
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
    added = [AddedToken(token, special=True, normalized=False) for token in XLMR_SPECIALS]
    backend.add_special_tokens(added)
    return backend


def test_no_truncation_or_padding_remains(tmp_path: Path) -> None:
    backend = wordpiece(numbered_words(20))
    backend.enable_truncation(4)
    backend.enable_padding(length=16)
    path = tmp_path / "tokenizer.json"
    backend.save(str(path))
    tokenizer = Tokenizer.load(path)
    words = numbered_words(20)
    short, long = tokenizer.encode_for_model([words[0], " ".join(words)])
    assert (short, long) == ([2, 5, 3], [2, *range(5, 25), 3])
    assert tokenizer.count(" ".join(words)) == 22
    assert tokenizer.encode(" ".join(words)) == [*range(5, 25)]


def test_specials_in_a_text_are_plain_text_unless_trusted() -> None:
    tokenizer = Tokenizer(wordpiece(["w1", "[", "]", "cls", "sep"]))
    text = "[CLS] w1 [SEP]"
    vocabulary = {
        token: i for i, token in enumerate([*BERT_SPECIALS, "w1", "[", "]", "cls", "sep"])
    }
    plain = [vocabulary[token] for token in ["[", "cls", "]", "w1", "[", "sep", "]"]]
    assert tokenizer.encode(text) == plain
    assert tokenizer.encode_for_model([text]) == [[2, *plain, 3]]
    assert tokenizer.count(text) == len(plain) + 2
    assert tokenizer.encode(text, specials=True) == [2, 5, 3]


@pytest.mark.parametrize("spaces", [True, False])
def test_specials_that_are_pieces_of_the_vocabulary_are_plain_text_too(spaces: bool) -> None:
    tokenizer = Tokenizer(_unigram(spaces=spaces))
    text = "a<s>b</s><pad>"
    assert {0, 1, 2, 3}.isdisjoint(tokenizer.encode(text))
    assert {0, 1, 2} <= set(tokenizer.encode(text, specials=True))


def test_specials_in_a_text_come_back_as_they_were() -> None:
    backend = _unigram()
    backend.decoder = decoders.Metaspace()
    tokenizer = Tokenizer(backend)
    assert tokenizer.decode(tokenizer.encode("a <s> b")) == "a <s> b"


def test_text_without_specials_keeps_its_ids() -> None:
    tokenizer, reference = Tokenizer(_unigram()), _unigram()
    for text in ("a", "a < s > b", "<a s", "ab</a>", "s>"):
        assert tokenizer.encode(text) == reference.encode(text).ids


def test_specials_that_no_punctuation_splits_are_plain_text_too() -> None:
    backend = wordpiece(["w1", "[", "CLS]"], lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = Tokenizer(backend)
    assert tokenizer.encode("w1 [CLS] w1") == [5, 6, 7, 5]
    assert tokenizer.encode("w1 [CLS] w1", specials=True) == [5, 2, 5]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_hangul_reaches_a_korean_vocabulary_as_syllables(
    form: Literal["NFC", "NFD"], lowercase: bool
) -> None:
    tokenizer, vocabulary = _korean(lowercase=lowercase)
    expected = [vocabulary[t] for t in ["도서관", "##은", "월요일", "##에", "쉰다"]]
    assert tokenizer.encode(unicodedata.normalize(form, TEXT)) == expected
    assert tokenizer.encode(unicodedata.normalize(form, TEXT), specials=True) == expected


def test_lower_casing_goes_on_beside_hangul() -> None:
    tokenizer, vocabulary = _korean(lowercase=True)
    assert tokenizer.encode("HELLO CAFÉ") == [vocabulary["hello"], vocabulary["cafe"]]
    cased, vocabulary = _korean(lowercase=False)
    assert cased.encode("HELLO café") == [vocabulary["[UNK]"], vocabulary["café"]]


def test_a_vocabulary_of_jamo_still_gets_jamo() -> None:
    jamo = list(unicodedata.normalize("NFD", "도서"))
    tokens = [*jamo, *(f"##{letter}" for letter in jamo)]
    tokenizer, reference = Tokenizer(wordpiece(tokens)), wordpiece(tokens)
    assert tokenizer.encode("도서") == reference.encode("도서", add_special_tokens=False).ids
    assert len(tokenizer.encode("도서")) == 4
    assert tokenizer.encode(unicodedata.normalize("NFD", "도서")) == tokenizer.encode("도서")


def test_a_saved_tokenizer_reads_the_same_again(tmp_path: Path) -> None:
    for i, backend in enumerate((wordpiece(KOREAN), _unigram())):
        tokenizer = Tokenizer(backend)
        path = tmp_path / f"{i}.json"
        path.write_text(tokenizer.to_json(), encoding="utf-8")
        again = Tokenizer.load(path)
        assert again.to_json() == tokenizer.to_json()
        assert again.encode(f"{TEXT} <s> [CLS]") == tokenizer.encode(f"{TEXT} <s> [CLS]")


def test_vocabulary_is_open_to_questions() -> None:
    tokenizer = Tokenizer(wordpiece(["w1", "w2"]))
    assert tokenizer.size == 7
    assert tokenizer.id_of("w2") == 6
    assert tokenizer.id_of("[SEP]") == 3
    assert tokenizer.id_of("w3") is None
    assert tokenizer.special_tokens() == {token: i for i, token in enumerate(BERT_SPECIALS)}


def test_decode_shows_specials_only_on_request() -> None:
    tokenizer = Tokenizer(wordpiece(["w1", "w2"]))
    assert tokenizer.decode([2, 5, 6, 3]) == "w1 w2"
    assert tokenizer.decode([2, 5, 6, 3], specials=True) == "[CLS] w1 w2 [SEP]"


def test_missing_or_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing"):
        Tokenizer.load(path)
    path.write_text('{"version": "1.0", "model": {"type": "Wor', encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is not a tokenizer: "):
        Tokenizer.load(path)


# Byte-level BPE, as GGUF metadata describes it.


def _trained_bpe() -> tuple[list[str], list[Any]]:
    """Vocabulary and merges learned from a few English and Korean words."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        show_progress=False,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    texts = ["the library is closed on Mondays, the 1234 1234 readers' books", TEXT, TEXT]
    backend.train_from_iterator(texts, trainer)
    model = json.loads(backend.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return tokens, [(left, right) for left, right in model["merges"]]


MIXED = f"The library's 12345 books:\n\n {TEXT}; they're  closed 🙂.\t"


def test_gpt2_cut_is_that_of_the_published_tokenizer() -> None:
    tokens, merges = _trained_bpe()
    ours = Tokenizer.from_byte_level_bpe(tokens, [" ".join(pair) for pair in merges], [0], "gpt-2")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    theirs = GPT2Tokenizer(vocab=vocabulary, merges=merges, unk_token="<|end|>")
    assert ours.encode(MIXED) == theirs(MIXED)["input_ids"]
    assert ours.decode(ours.encode(MIXED)) == MIXED


def test_qwen2_cut_is_that_of_the_published_tokenizer() -> None:
    tokens, merges = _trained_bpe()
    ours = Tokenizer.from_byte_level_bpe(tokens, [" ".join(pair) for pair in merges], [0], "qwen2")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    theirs = Qwen2Tokenizer(vocab=vocabulary, merges=merges, unk_token="<|end|>")
    for text in (MIXED, unicodedata.normalize("NFD", MIXED)):
        assert ours.encode(text) == theirs(text)["input_ids"]


def test_digits_are_cut_as_the_model_learned_them() -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<|end|>", *alphabet, "12", "123"]

    def pieces(cut: str) -> list[str]:
        merges = ["1 2", "12 3"]
        return _tokens(Tokenizer.from_byte_level_bpe(tokens, merges, [0], cut), "12312")

    assert pieces("smollm") == ["1", "2", "3", "1", "2"]
    assert pieces("qwen2") == ["1", "2", "3", "1", "2"]
    assert pieces("llama-bpe") == ["123", "12"]
    assert pieces("default") == pieces("gpt-2") == ["123", "12"]


def test_only_llama_takes_a_whole_word_that_no_merge_reaches() -> None:
    tokens = ["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "bc", "abc"]

    def pieces(cut: str) -> list[str]:
        return _tokens(Tokenizer.from_byte_level_bpe(tokens, ["b c"], [0], cut), "abc")

    assert pieces("llama-bpe") == ["abc"]
    assert pieces("gpt-2") == pieces("qwen2") == pieces("smollm") == ["a", "bc"]


def test_specials_of_byte_level_bpe_are_plain_text_unless_trusted() -> None:
    tokens, merges = _trained_bpe()
    pairs = [" ".join(pair) for pair in merges]
    tokenizer = Tokenizer.from_byte_level_bpe(tokens, pairs, [0], "smollm")
    assert 0 not in tokenizer.encode("the <|end|>")
    assert tokenizer.decode(tokenizer.encode("the <|end|>")) == "the <|end|>"
    assert tokenizer.encode("the<|end|>", specials=True)[-1] == 0


def test_half_a_character_comes_out_as_the_replacement_character() -> None:
    tokens = ["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer.from_byte_level_bpe(tokens, [], [0], "gpt-2")
    ids = tokenizer.encode("관")
    assert len(ids) == 3
    assert tokenizer.decode(ids[:2]) == "\ufffd"
    assert tokenizer.decode(ids) == "관"


def test_unknown_cut_is_refused() -> None:
    with pytest.raises(CheckpointError, match="unknown pre-tokenizer 'tekken'; known are default"):
        Tokenizer.from_byte_level_bpe(["a"], [], [], "tekken")
