import base64
import shutil
from pathlib import Path

import pytest

from index.errors import UnknownDocument
from rag import Assistant
from rag.errors import NotFound
from rag.pages import page_picture
from rag.pdf_page import found

PDF = Path("samples/library/products/qx-808-manual.pdf")
QUOTE = "tighten the nuts of the U-bolts crosswise"


@pytest.fixture
def manual(attest: Assistant, tmp_path: Path) -> tuple[Assistant, int, Path]:
    """A library with one PDF, its id and its file."""
    file = tmp_path / "manual.pdf"
    shutil.copy(PDF, file)
    (done,) = attest.add(file)
    assert done.id is not None
    return attest, done.id, file


def test_the_words_of_a_quote_are_framed_on_their_page(
    manual: tuple[Assistant, int, Path],
) -> None:
    attest, document, _ = manual
    chunk = next(each for each in attest.catalog.chunks_of(document) if QUOTE in each.text)
    start = chunk.start + chunk.text.index(QUOTE)
    assert chunk.page is not None
    made = page_picture(attest, document, chunk.page, start, start + len(QUOTE))
    assert base64.b64decode(made.png).startswith(b"\x89PNG")
    assert 1 <= len(made.boxes) <= 3  # lines that it runs over
    for left, top, right, bottom in made.boxes:
        assert 0 < left < right < 1
        assert 0 < top < bottom < 1
        assert bottom - top < 0.03  # as high as a line


def test_another_file_than_was_read_is_not_shown(manual: tuple[Assistant, int, Path]) -> None:
    attest, document, file = manual
    with pytest.raises(NotFound, match="page 99 of"):
        page_picture(attest, document, 99, 0, 0)
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(NotFound, match="was changed since it was read"):
        page_picture(attest, document, 1, 0, 10)
    file.unlink()
    with pytest.raises(NotFound, match="no PDF file"):
        page_picture(attest, document, 1, 0, 10)


def test_what_is_no_pdf_has_no_pages(library: Assistant) -> None:
    with pytest.raises(NotFound, match="no PDF file"):
        page_picture(library, library.find("hours.txt").id, 1, 0, 5)
    with pytest.raises(UnknownDocument):
        page_picture(library, 999, 1, 0, 5)


def test_of_words_that_stand_twice_the_nearest_are_taken() -> None:
    text = "alpha" + "x" * 40 + "alpha"
    assert list(found(text, "alpha", 0.0)) == [(0, 5)]
    assert list(found(text, "alpha", 1.0)) == [(45, 50)]


def test_parts_of_a_quote_are_taken_only_where_they_are_sure() -> None:
    first, second = "thefirsthalfofit", "andanotherhalf16"
    assert list(found(f"x{first}y{second}", first + second, 0.5)) == [(1, 17), (18, 34)]
    assert list(found(f"{first}y{first}", first + second, 0.5)) == []
    assert list(found("page", "", 0.5)) == []
