import io
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from rag.loaders import BrokenFile, EmptyFile, UnsupportedFile, load, walk
from rag.loaders.ocr import NotRecognised, Recogniser
from rag.loaders.ocr_words import pages_of
from rag.loaders.pdf import read_pdf
from tests.rag.loaders.pdf_files import Picture, pdf


def _has_tesseract() -> bool:
    program = shutil.which("tesseract")
    if program is None:
        return False
    listed = subprocess.run([program, "--list-langs"], capture_output=True, check=False, text=True)
    return {"kor", "eng"} <= set(listed.stdout.split())


needs_tesseract = pytest.mark.skipif(
    not _has_tesseract(), reason="tesseract-ocr and tesseract-ocr-kor are not installed"
)


def _image(*lines: str) -> Image.Image:
    image = Image.new("L", (900, 100 + 70 * len(lines)), 255)
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((40, 40 + 70 * number), line, fill=0, font=ImageFont.load_default(48))
    return image


def _scan(*lines: str) -> Picture:
    image = _image(*lines)
    return Picture(image.width, image.height, image.tobytes())


def _png(*lines: str, kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    _image(*lines).save(file, kind)
    return file.getvalue()


def test_a_scanned_file_says_what_would_make_it_readable() -> None:
    with pytest.raises(
        EmptyFile,
        match=r"no text layer: it looks scanned \(1 pages\); .*apt install tesseract-ocr "
        r"tesseract-ocr-kor.*ocr = true in attest.toml, ATTEST_OCR=true, or attest add --ocr",
    ):
        read_pdf(pdf([_scan("Hello")]), "stem")


def test_a_picture_is_read_only_where_recognition_is_on(tmp_path: Path) -> None:
    (tmp_path / "scan.png").write_bytes(_png("Hello"))

    with pytest.raises(UnsupportedFile, match="no text layer: to have it recognised, install"):
        load(tmp_path / "scan.png")
    assert list(walk([tmp_path])) == []
    assert list(walk([tmp_path], ocr=True)) == [tmp_path / "scan.png"]


@needs_tesseract
def test_pages_without_a_text_layer_are_recognised() -> None:
    data = pdf([["written text"], _scan("SCANNED WORDS", "and more"), []])

    document = read_pdf(data, "stem", ocr=True)

    texts = [document.text[page.start : page.end] for page in document.pages]
    assert texts[0] == "written text"
    assert "SCANNED WORDS" in texts[1]
    assert texts[2] == ""
    assert document.warnings == (
        "no text on page 3: scanned or blank",
        "text recognised by OCR on page 2: letters may be wrong",
    )
    assert document.sections == ()


@needs_tesseract
def test_a_file_of_scans_is_read_by_load(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf([_scan("FIRST PAGE")]))

    assert "FIRST PAGE" in load(tmp_path / "a.pdf", ocr=True).text


@needs_tesseract
@pytest.mark.parametrize(
    ("name", "kind"), [("a.png", "PNG"), ("a.jpg", "JPEG"), ("a.tiff", "TIFF")]
)
def test_pictures_of_text(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(_png("OPENING HOURS", kind=kind))

    document = load(tmp_path / name, ocr=True)

    assert "OPENING HOURS" in document.text
    assert document.media_type == f"image/{kind.lower()}"
    assert document.warnings == ("text recognised by OCR",)


@needs_tesseract
def test_a_picture_with_pages(tmp_path: Path) -> None:
    _image("PAGE ONE").save(tmp_path / "a.tif", save_all=True, append_images=[_image("PAGE TWO")])

    document = load(tmp_path / "a.tif", ocr=True)

    texts = [document.text[page.start : page.end] for page in document.pages]
    assert [page.number for page in document.pages] == [1, 2]
    assert "ONE" in texts[0]
    assert "TWO" in texts[1]


@needs_tesseract
def test_what_shows_no_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "blank.png").write_bytes(_png(""))
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nwords")

    with pytest.raises(EmptyFile, match="no text is recognised"):
        load(tmp_path / "blank.png", ocr=True)
    with pytest.raises(BrokenFile, match="the picture cannot be read: text recognition failed"):
        load(tmp_path / "bad.png", ocr=True)
    with pytest.raises(EmptyFile, match="no text was recognised in its pictures"):
        read_pdf(pdf([_scan("")]), "stem", ocr=True)


@needs_tesseract
def test_a_page_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(NotRecognised, match="more than 0 seconds"):
        Recogniser.find().read(_png("Hello"), seconds=0.001)


def _program(folder: Path, script: str) -> None:
    program = folder / "tesseract"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    scanned, mixed = pdf([_scan("Hello")]), pdf([["written"], []])

    with pytest.raises(UnsupportedFile, match="not installed: apt install tesseract-ocr"):
        read_pdf(scanned, "stem", ocr=True)
    assert read_pdf(pdf([["written"]]), "stem", ocr=True).warnings == ()
    assert "not installed" in read_pdf(mixed, "stem", ocr=True).warnings[-1]
    _program(tmp_path, "echo eng")
    with pytest.raises(
        UnsupportedFile, match="lacks language data: apt install tesseract-ocr-kor "
    ):
        read_pdf(scanned, "stem", ocr=True)
    _program(tmp_path, "exit 3")
    with pytest.raises(UnsupportedFile, match=r"text recognition is on, but .* fails"):
        read_pdf(scanned, "stem", ocr=True)


@needs_tesseract
def test_korean_is_recognised() -> None:
    try:
        font = ImageFont.truetype("NanumSquareRoundB.ttf", 48)
    except OSError:
        pytest.skip("no Korean font to draw with is installed")
    image = Image.new("L", (900, 160), 255)
    ImageDraw.Draw(image).text((40, 40), "도서관 휴관 안내", fill=0, font=font)

    document = read_pdf(pdf([Picture(image.width, image.height, image.tobytes())]), "f", ocr=True)

    assert "도서관" in document.text


def _table(*lines: tuple[int, str]) -> str:
    """What tesseract writes of a page: lines at a height, words of ten dots a letter."""
    rows = ["level\tpage_num\tblock_num\t…", "1\t1\t0\t0\t0\t0\t0\t0\t900\t900\t-1\t"]
    for number, (top, line) in enumerate(lines):
        for place, word in enumerate(line.split(" ")):
            left = 10 * len(" ".join(line.split(" ")[:place])) + 10 * bool(place)
            if not word:
                continue
            box = f"{left}\t{top}\t{10 * len(word)}\t20"
            rows.append(f"5\t1\t1\t1\t{number}\t{place}\t{box}\t90\t{word}")
    return "\n".join(rows)


def test_scanned_columns_are_read_one_after_the_other() -> None:
    left = ["first column of words", "that goes on below it", "until it has its end."]
    right = ["second column starts", "with words of its own", "that stay for itself."]
    lines = [f"{one:30}{two}" for one, two in zip(left * 2, right * 2, strict=True)]
    title = "a title over both of the columns of this page"
    table = _table((0, title), *((40 + 30 * n, line) for n, line in enumerate(lines)))

    assert pages_of(table) == ["\n".join((title, *left * 2, *right * 2))]


def test_a_table_without_words_is_a_blank_page() -> None:
    assert pages_of(_table()) == [""]
    assert pages_of("") == []
