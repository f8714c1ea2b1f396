import os
import unicodedata
from pathlib import Path

import pytest

import rag.loaders as loaders
from rag.loaders import (
    LARGEST,
    SUPPORTED,
    BrokenFile,
    EmptyFile,
    LoadError,
    UnsupportedFile,
    load,
    media_type,
)
from tests.rag.loaders.epub_files import epub, page
from tests.rag.loaders.pdf_files import pdf


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.txt", b"text", "text/plain"),
        ("a.MD", b"# text", "text/markdown"),
        ("a.html", b"<p>text", "text/html"),
        ("a.htm", b"<p>text", "text/html"),
        ("a.csv", b"a,b\n1,2", "text/csv"),
        ("a.tsv", b"a\tb\n1\t2", "text/tab-separated-values"),
        ("a.pdf", pdf([["text"]]), "application/pdf"),
        ("a.text", b"text", "text/plain"),
        ("a.rst", b"text", "text/x-rst"),
        ("a.json", b'{"a": "text"}', "application/json"),
        ("a.jsonl", b'{"a": "text"}', "application/jsonl"),
        ("a.ndjson", b'{"a": "text"}', "application/jsonl"),
        (
            "a.ipynb",
            b'{"cells": [{"cell_type": "raw", "source": "x"}]}',
            "application/x-ipynb+json",
        ),
        ("a.epub", epub({"a.xhtml": page("<p>text</p>")}), "application/epub+zip"),
        ("a.eml", b"Subject: x\n\ntext", "message/rfc822"),
        ("a.mbox", b"From x Mon 09:12\nSubject: x\n\ntext", "application/mbox"),
        ("a.mht", b"Content-Type: text/html\n\n<p>text", "multipart/related"),
        ("a.xhtml", b"<p>text</p>", "text/html"),
        ("a.py", b"print('text')", "text/plain"),
        ("README", "설명 text".encode(), "text/plain"),
    ],
)
def test_the_suffix_chooses(tmp_path: Path, name: str, content: bytes, media_type: str) -> None:
    document = load(_file(tmp_path, name, content))

    assert document.media_type == media_type
    assert document.text


def test_a_title_from_a_decomposed_name_is_composed(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "점심메뉴_수요일")

    document = load(_file(tmp_path, f"{name}.txt", "된장국".encode()))

    assert document.title == "점심메뉴_수요일"


@pytest.mark.parametrize(
    ("name", "content", "error", "reason"),
    [
        ("a.txt", b"", EmptyFile, "0 bytes"),
        ("a.txt", " \n\t\u3000".encode(), EmptyFile, "no text in the file"),
        ("a.html", b"<script>x</script>", EmptyFile, "no text in the file"),
        ("a.pdf", "글자 파일".encode(), BrokenFile, "not a PDF"),
        ("a.txt", pdf([["text"]]), BrokenFile, "is a PDF, not text"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", UnsupportedFile, r"\.doc .*\.docx.*\.pdf"),
        ("a.xls", b"PK\x03\x04", UnsupportedFile, r"\.xls files are not supported"),
        ("blob", bytes(50), UnsupportedFile, "a file without a suffix is not supported"),
    ],
)
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, content: bytes, error: type[LoadError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        load(_file(tmp_path, name, content))


def test_a_file_past_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)

    with pytest.raises(UnsupportedFile, match="200,000,001 bytes; at most 200,000,000"):
        load(path)


def test_what_is_not_there_or_no_file_is_a_reason_too(tmp_path: Path) -> None:
    with pytest.raises(BrokenFile, match="does not exist"):
        load(tmp_path / "none.txt")
    with pytest.raises(BrokenFile, match="a folder or a device"):
        load(tmp_path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may read all files")
def test_a_file_without_permission_is_a_reason_too(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.txt", b"text")
    path.chmod(0)

    with pytest.raises(BrokenFile, match="cannot be opened"):
        load(path)


def test_each_error_has_its_status() -> None:
    assert [error.status for error in (EmptyFile, UnsupportedFile, BrokenFile)] == [
        "empty",
        "unsupported",
        "failed",
    ]


def test_the_media_type_is_known_without_reading() -> None:
    assert media_type(Path("none.PDF")) == "application/pdf"
    assert media_type(Path("none.xyz")) == "application/octet-stream"


def test_the_front_is_sorted_and_real() -> None:
    assert loaders.__all__ == sorted(loaders.__all__, key=lambda name: (not name.isupper(), name))
    assert all(hasattr(loaders, name) for name in loaders.__all__)
    assert ".pdf" in SUPPORTED
