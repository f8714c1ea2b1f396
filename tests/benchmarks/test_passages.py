import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.passages import library_texts, passages, shortened, source_texts


def count(text: str) -> int:
    """Two special tokens, and one for each letter of a word."""
    return 2 + sum(map(len, text.split()))


@settings(deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=4), max_size=12), st.integers(2, 30))
def test_a_shortened_text_is_the_longest_that_fits(words: list[str], limit: int) -> None:
    kept = shortened(" ".join(words), limit, count).split()
    assert kept == words[: len(kept)]
    assert count(" ".join(kept)) <= limit
    assert kept == words or count(" ".join(words[: len(kept) + 1])) > limit


def test_passages_have_nearly_the_length_and_are_repeated_where_there_are_too_few() -> None:
    # Ten words of three letters make a passage of 32; what is left of a text is too short.
    texts = [" ".join(["abc"] * 15), " ".join(["xyz"] * 10)]
    ten = [" ".join([word] * 10) for word in ("abc", "xyz")]
    assert passages(iter(texts), 3, tokens=33, count=count) == [*ten, ten[0]]
    with pytest.raises(ValueError, match="no text has 99 tokens"):
        passages(iter(texts), 3, tokens=99, count=count)


def test_abstracts_are_read_where_they_are_and_the_samples_elsewhere(tmp_path: Path) -> None:
    assert source_texts(None)[0] == source_texts(tmp_path)[0] == "samples/library"
    (tmp_path / "scifact").mkdir()
    row = json.dumps({"_id": "1", "title": "A title", "text": "한 편의 초록"}, ensure_ascii=False)
    (tmp_path / "scifact" / "corpus.jsonl").write_text(row + "\n", encoding="utf-8")
    name, texts = source_texts(tmp_path)
    assert (name, list(texts)) == ("scifact", ["한 편의 초록"])


def test_the_samples_give_english_text() -> None:
    first = next(library_texts())
    assert first.isascii() or not any("가" <= letter <= "힣" for letter in first)
    assert len(first) > 500
