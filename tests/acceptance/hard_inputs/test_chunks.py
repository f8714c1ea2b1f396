"""A04, A11 to A14 and their like: nothing is cut off, lost or misplaced between file and vector."""

import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import normalizers

from rag import Assistant
from rag.chunking import chunk
from rag.records import ExtractedText, Within
from tests.acceptance.hard_inputs.conftest import Ran, Shelve
from tests.acceptance.hard_inputs.shelf import Shelf, write
from tests.builders import wordpiece
from transformer import Tokenizer
from transformer.errors import LengthError

_WORDS = ["river", "path", "bench", "cloud", "reed", "duck", "sand", "wind", "tree", "wave"]
_FILLER = " ".join(_WORDS[i * i % 10] for i in range(1_200))
_REPEAT = "It rains. Take an umbrella. "
TAILS = {  # the end of each is what is asked for
    "paragraph.txt": f"{_FILLER} the chest opens with aurora-6174",
    "no_stop.txt": f"{'word ' * 10_000}the chest opens with aurora-6175",
    "no_space.txt": "가나다라마바사" * 700 + "상자번호오로라육천 aurora-6176",
    "base64.txt": f"{'QmFzZTY0/+' * 1_200} the chest opens with aurora-6177",
    "one_word.txt": f"{'x' * 20_000} the chest opens with aurora-6178",
    "repeat.txt": f"{_REPEAT * 40}A pumpkin sweet. {_REPEAT * 40}",
    "emoji.txt": "🧑🏽‍🌾" * 900 + " aurora-6179",
}


@pytest.fixture(scope="module")
def shelf(shelve: Shelve) -> Shelf:
    return shelve({name: text.encode() for name, text in TAILS.items()})


@pytest.mark.parametrize("name", [name for name in TAILS if name != "repeat.txt"])
def test_a13_nothing_behind_the_limit_is_lost(shelf: Shelf, name: str) -> None:
    code = TAILS[name][-4:]
    found = shelf.hits(f"aurora-{code}")[0].chunk

    assert found.document.path.endswith(name)
    assert f"aurora-{code}" in found.text
    assert found.end == len(shelf.text(name))


@pytest.mark.parametrize("name", TAILS)
def test_a12_a13_chunks_are_slices_within_the_limit(shelf: Shelf, name: str) -> None:
    text, embedder = shelf.text(name), shelf.attest.encoders.of("default")
    parts = shelf.attest.opened("default").chunks(_ids(shelf, name))
    parts.sort(key=lambda part: part.start)

    assert len(parts) == shelf.outcomes[name].chunks > 1 or name == "one_word.txt"
    assert all(text[part.start : part.end] == part.text for part in parts)
    starts = [part.start for part in parts]
    assert starts == sorted(set(starts))
    assert all(part.tokens <= embedder.max_tokens for part in parts)
    assert all(embedder.count(part.text) <= embedder.max_tokens for part in parts)
    held = np.zeros(len(text), bool)
    for part in parts:
        held[part.start : part.end] = True
    assert not "".join(c for c, is_held in zip(text, held, strict=True) if not is_held).strip()


def _ids(shelf: Shelf, name: str) -> list[int]:
    return shelf.attest.catalog.chunk_ids(shelf.outcomes[name].id or 0)


def test_a12_a_citation_covers_the_place_that_it_quotes(shelf: Shelf) -> None:
    place = TAILS["repeat.txt"].index("pumpkin")
    within = Within(documents=("repeat.txt",))

    given = shelf.attest.ask("Where is the pumpkin sweet?", mode="extract", within=within)
    spans = [(cited.start, cited.end) for cited in given.citations if "pumpkin" in cited.quote]
    assert spans
    assert all(start <= place < end for start, end in spans)


def test_a13_a_text_over_the_limit_is_refused_by_the_encoder(shelf: Shelf) -> None:
    embedder = shelf.attest.encoders.of("default")
    for embed in (embedder.embed_documents, embedder.embed_queries):
        with pytest.raises(LengthError, match=r"2002 tokens is over the encoder's limit of 256"):
            embed(["a " * 2_000])


def test_a14_vectors_have_length_one_and_scores_stay_in_bounds(shelf: Shelf) -> None:
    vectors = shelf.attest.opened("default").vectors().rows
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() <= 1e-5
    made = shelf.attest.encoders.of("default").embed_documents(["a", "river path", "x" * 200])
    assert np.abs(np.linalg.norm(made, axis=1) - 1).max() <= 1e-5
    for query in ("river path", "umbrella", "가나다"):
        for mode in ("dense", "hybrid"):
            hits = shelf.attest.search(query, k=100, mode=mode).hits
            assert all(hit.dense is None or -1 <= hit.dense <= 1 for hit in hits)
            assert all(-1 <= hit.score <= 1 for hit in hits)
    scores = [hit.score for hit in shelf.attest.similar("paragraph.txt", k=9).hits]
    assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("size", "overlap"), [(400, 400), (400, 470), (400, -3), (0, 0), (-5, 0), (1, 1)]
)
def test_a11_sizes_that_cannot_be_name_their_numbers(size: int, overlap: int) -> None:
    text = ExtractedText("가나다 " * 1_300, "", "text/plain")
    with pytest.raises(ValueError, match=rf"\({size}\).*") as raised:
        chunk(text, count=len, size=size, overlap=overlap)
    if size > 0:
        assert f"({overlap})" in str(raised.value)


@pytest.mark.parametrize(("size", "overlap"), [(45, 44), (45, 0), (2, 1), (3, 2)])
def test_a11_an_overlap_just_under_the_size_ends(size: int, overlap: int) -> None:
    text = "메모\n" * 70
    began = time.perf_counter()
    parts = chunk(ExtractedText(text, "", "text/plain"), count=len, size=size, overlap=overlap)
    assert time.perf_counter() - began < 1
    assert all(len(part.text) <= size for part in parts)
    held = {at for part in parts for at in range(part.start, part.end)}
    assert all(at in held or text[at].isspace() for at in range(len(text)))


@pytest.mark.parametrize("name", ["overlap", "chunk_size", "chunk_overlap"])
def test_a11_no_edge_takes_a_size_that_it_would_not_heed(
    run: Callable[..., Ran], tmp_path: Path, name: str
) -> None:
    file = write(tmp_path / "in", {"a.txt": "The gate is green."}) / "a.txt"
    assert run("add", file, f"--{name.replace('_', '-')}", "400").code == 2
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "attest.toml").write_text(f"{name} = 400\n", encoding="utf-8")
    ran = run("add", file)
    assert ran.code == 2
    assert name in ran.err


KOREAN = ["도서관", "은", "##은", "월요일", "##에", "쉰다", "hello", "cafe", "."]
_TEXT = "도서관은 월요일에 쉰다"


def _strips_by_parts() -> normalizers.Normalizer:
    parts = [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    return normalizers.Sequence(parts)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "normalizer",
    [normalizers.BertNormalizer(lowercase=True), _strips_by_parts(), normalizers.Lowercase(), None],
    ids=["bert", "by parts", "lower case alone", "none"],
)
def test_a04_hangul_stays_hangul_whatever_strips_the_accents(
    form: str, normalizer: normalizers.Normalizer | None
) -> None:
    backend = wordpiece(KOREAN)
    backend.normalizer = normalizer
    tokenizer = Tokenizer(backend)
    text = unicodedata.normalize("NFD", _TEXT) if form == "NFD" else _TEXT

    ids = [tokenizer.id_of(token) for token in ("도서관", "##은", "월요일", "##에", "쉰다")]
    assert tokenizer.encode(text) == ids
    if normalizer is not None:
        assert tokenizer.encode("HELLO") == [tokenizer.id_of("hello")]


def test_a04_a_decomposed_question_finds_composed_text(attest: Assistant, tmp_path: Path) -> None:
    text = "도서관은 월요일에 쉰다."
    folder = write(tmp_path, {"a.txt": text, "b.txt": unicodedata.normalize("NFD", text + " 둘")})
    attest.add(folder / "a.txt", folder / "b.txt")
    for form in ("NFC", "NFD"):
        asked = unicodedata.normalize(form, "도서관 월요일")
        found = attest.search(asked, mode="lexical")
        assert len(found.hits) in (1, 2)
        assert all("도서관" in hit.chunk.text for hit in found.hits)
