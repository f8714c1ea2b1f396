import io
import zipfile
from pathlib import Path

import pytest

from rag.loaders.epub import read_epub
from rag.loaders.errors import BrokenFile, UnsupportedFile
from tests.rag.loaders.epub_files import epub, page

NAVIGATION = page(
    '<nav epub:type="landmarks"><a href="a.xhtml">Start</a></nav>'
    '<nav epub:type="toc"><ol><li><a href="a.xhtml#top">1. 여름</a><ol>'
    '<li><a href="a.xhtml#s2">둘째</a></li></ol></li><li><a href="b%20c.xhtml">2. 겨울</a></li>'
    "</ol></nav>"
)
MAP = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>1. 여름'
    '</text></navLabel><content src="a.xhtml"/></navPoint><navPoint><navLabel><text>2. 겨울</text>'
    '</navLabel><content src="b%20c.xhtml"/></navPoint></navMap></ncx>'
)


@pytest.mark.parametrize("contents", [NAVIGATION, MAP])
def test_chapters_in_the_order_of_the_book_under_their_names(contents: str) -> None:
    chapters = {
        "b%20c.xhtml": page("<p>눈이 온다.</p>"),
        "a.xhtml": page("<h2>여름</h2><p>덥다.</p>"),
    }

    document = read_epub(
        epub(chapters, order=["a.xhtml", "b%20c.xhtml"], contents=contents), "stem"
    )

    assert document.text == "여름\n\n덥다.\n\n2. 겨울\n\n눈이 온다."
    assert [s.heading for s in document.sections] == [("여름",), ("2. 겨울",)]
    assert document.title == "섬의 사계"
    assert document.media_type == "application/epub+zip"
    assert document.warnings == ()


def test_a_chapter_does_not_stand_under_the_one_before() -> None:
    chapters = {
        "a.xhtml": page("<h1>A</h1><p>x</p>"),
        "b.xhtml": page("<p>before</p><h3>B</h3><p>y</p>"),
    }

    document = read_epub(epub(chapters), "stem")

    found = [(s.heading, document.text[s.start :].split("\n")[0]) for s in document.sections]
    assert found == [(("A",), "A"), ((), "before"), (("B",), "B")]


def test_a_chapter_without_a_name_takes_that_of_its_page() -> None:
    chapters = {
        "a.xhtml": page("<p>x</p>", title="섬의 사계"),
        "b.xhtml": page("<p>y</p>", title="Spring"),
    }

    assert read_epub(epub(chapters), "stem").text == "x\n\nSpring\n\ny"


def test_a_missing_chapter_is_named_and_the_others_kept() -> None:
    document = read_epub(epub({"a.xhtml": page("<p>x</p>"), "b.xhtml": ""}), "stem")

    assert document.text == "x"
    assert document.warnings == ("chapters that could not be read: OEBPS/b.xhtml",)


def _encryption(algorithm: str, path: str) -> dict[str, str]:
    return {
        "META-INF/encryption.xml": '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        f'<e:EncryptedData><e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherData>'
        f'<e:CipherReference URI="{path}"/></e:CipherData></e:EncryptedData></encryption>'
    }


def test_a_protected_book_says_so_and_disguised_fonts_do_not_matter() -> None:
    chapters = {"a.xhtml": page("<p>x</p>")}
    locked = _encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OEBPS/a.xhtml")
    fonts = _encryption("http://www.idpf.org/2008/embedding", "OEBPS/f.otf")

    with pytest.raises(BrokenFile, match=r"protected against copying \(DRM\)"):
        read_epub(epub(chapters, extra=locked), "stem")
    assert read_epub(epub(chapters, extra=fonts), "stem").text == "x"


def _zip(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"words", BrokenFile, "damaged or no EPUB"),
        (epub({"a.xhtml": page("<p>x</p>")})[:300], BrokenFile, "damaged"),
        (epub({}, extra={"META-INF/container.xml": ""}), BrokenFile, "container.xml is no XML"),
        (_zip("a.txt", b"x"), BrokenFile, "a ZIP archive, but no EPUB book"),
        (_zip("bomb", bytes(60_000_000)), UnsupportedFile, "unpacks from .* to 60,000,000 bytes"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        read_epub(data, "stem")


def test_entities_do_not_grow_and_reach_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("salary", encoding="utf-8")
    package = (
        f'<!DOCTYPE package [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY a "aaaaaaaaaa">'
        '<!ENTITY b "&a;&a;&a;&a;">]><package xmlns:dc="d"><dc:title>T &x; &b;</dc:title><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    data = epub({"a.xhtml": page("<p>x</p>")}, extra={"OEBPS/book.opf": package})

    document = read_epub(data, "stem")

    assert "salary" not in document.title
    assert document.text == "x"


def test_a_chapter_that_is_named_again_counts_once() -> None:
    assert read_epub(epub({"a.xhtml": page("<p>x</p>")}, order=["a.xhtml"] * 9), "stem").text == "x"
