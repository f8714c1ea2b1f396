import io
import tracemalloc
import zipfile
from collections.abc import Callable
from time import perf_counter

import docx
import pptx
import pytest

from rag.loaders.docx import read_docx
from rag.loaders.errors import BrokenFile, LoadError, UnsupportedFile
from rag.loaders.hwp import read_hwpx
from rag.loaders.odf import read_odt
from rag.loaders.packages import (
    MOST_PARTS,
    XLSX,
    PackageFormat,
    open_package,
    open_part,
)
from rag.loaders.pptx import read_pptx
from rag.loaders.xlsx import read_xlsx
from rag.records import ExtractedText
from tests.rag.loaders.compound_files import compound
from tests.rag.loaders.docx_files import saved
from tests.rag.loaders.hwp_files import hwpx
from tests.rag.loaders.odf_files import odf, p
from tests.rag.loaders.package_files import MAIN_PARTS, overlapping, package, repacked, with_size
from tests.rag.loaders.xlsx_files import workbook

READERS: dict[str, Callable[[bytes, str], ExtractedText]] = {
    "docx": read_docx,
    "pptx": read_pptx,
    "xlsx": read_xlsx,
    "hwpx": read_hwpx,
    "odt": read_odt,
}


def _presentation() -> bytes:
    file = io.BytesIO()
    pptx.Presentation().save(file)
    return file.getvalue()


def _sound(kind: str) -> bytes:
    match kind:
        case "docx":
            return saved(docx.Document())
        case "pptx":
            return _presentation()
        case "xlsx":
            return workbook({"s": "<row><c><v>1</v></c></row>"})
        case "hwpx":
            return hwpx(["글"])
    return odf("text", p("글"))


def _part(kind: str) -> str:
    parts = {"pptx": "slideLayout1", "xlsx": "sheet1"}
    return parts.get(kind) or MAIN_PARTS[kind].rpartition("/")[2].removesuffix(".xml")


def _refused_quickly(kind: str, data: bytes) -> LoadError:
    """Gives the reason; it has to come without time or memory in proportion to the bomb."""
    tracemalloc.start()
    start = perf_counter()
    try:
        with pytest.raises(LoadError) as caught:
            READERS[kind](data, "stem")
        assert perf_counter() - start < 5
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()
    return caught.value


@pytest.mark.parametrize("kind", READERS)
def test_a_bomb_is_refused_before_it_is_unpacked(kind: str) -> None:
    bomb = package((MAIN_PARTS[kind], b"<x/>"), ("bomb.bin", bytes(60_000_000)))

    reason = _refused_quickly(kind, bomb)

    assert isinstance(reason, UnsupportedFile)
    assert "to 60,000,004 bytes; at most 50,000,000" in str(reason)


@pytest.mark.parametrize("kind", READERS)
def test_a_bomb_inside_a_bomb_is_never_opened(kind: str) -> None:
    inner = package(("a", bytes(30_000_000)))
    middle = package(*((f"{n}.zip", inner) for n in range(16)))
    bomb = package(*((f"{n}.zip", middle) for n in range(16)))

    assert "a ZIP archive, but no" in str(_refused_quickly(kind, bomb))


def test_a_document_that_embeds_a_bomb_is_read_without_it() -> None:
    bomb = package(("a", bytes(49_000_000)))
    document = docx.Document()
    document.add_paragraph("text")
    data = io.BytesIO(saved(document))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("word/embeddings/sheet.xlsx", bomb)

    assert read_docx(data.getvalue(), "stem").text == "text"


@pytest.mark.parametrize("kind", READERS)
def test_a_part_that_is_larger_than_it_claims_is_refused(kind: str) -> None:
    full = repacked(_sound(kind), **{_part(kind): b"<x>" + b" " * 1_000_000 + b"</x>"})
    name = next(
        n for n in zipfile.ZipFile(io.BytesIO(full)).namelist() if f"/{_part(kind)}." in f"/{n}"
    )

    assert isinstance(_refused_quickly(kind, with_size(full, name, 5)), BrokenFile)


@pytest.mark.parametrize("kind", READERS)
def test_parts_without_end_are_not_even_listed(kind: str) -> None:
    many = overlapping(MAIN_PARTS[kind], b"<x/>", 100_000)

    reason = _refused_quickly(kind, many)

    assert f"100,000 parts; at most {MOST_PARTS:,}" in str(reason)


@pytest.mark.parametrize("kind", READERS)
def test_parts_that_overlap_are_refused(kind: str) -> None:
    reason = _refused_quickly(kind, overlapping(MAIN_PARTS[kind], b"<x/>" * 1000, 500))

    assert "parts of the archive overlap" in str(reason)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "name", ["../evil.xml", "/etc/evil.xml", "a/../../evil.xml", "..\\evil.xml", "C:evil.xml"]
)
def test_a_part_outside_of_the_archive_is_refused(kind: str, name: str) -> None:
    with pytest.raises(BrokenFile, match="outside of its own folders"):
        READERS[kind](package((MAIN_PARTS[kind], b"<x/>"), (name, b"<x/>")), "stem")


LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
DTDS = {
    "entities in entities": b'<!DOCTYPE x [<!ENTITY l0 "ha">' + LAUGHS + b"]><x>&l9;</x>",
    "a file of the machine": b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>',
    "a DTD from elsewhere": b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><x/>',
    "after a long comment": b"<!--" + b" " * 200_000 + b"--><!DOCTYPE x []><x/>",
    "in UTF-16": '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE x []><x/>'.encode("utf-16"),
    "in EUC-KR": b'<?xml version="1.0" encoding="EUC-KR"?><!DOCTYPE x []><x/>',
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", DTDS)
def test_entities_are_refused(kind: str, name: str) -> None:
    data = repacked(_sound(kind), **{_part(kind): DTDS[name]})

    assert "entities of its own (a DTD)" in str(_refused_quickly(kind, data))


@pytest.mark.parametrize("kind", READERS)
def test_a_locked_file_says_that_it_needs_a_password(kind: str) -> None:
    locked = compound({"EncryptionInfo": b"x" * 200, "EncryptedPackage": b"y" * 9000})
    if kind == "hwpx":
        flagged = bytearray(package(("Contents/section0.xml", b"<x/>")))
        flagged[flagged.index(b"PK\x01\x02") + 8] |= 1
        locked = bytes(flagged)

    with pytest.raises(BrokenFile, match=r"locked with a password: save a copy without .*암호"):
        READERS[kind](locked, "stem")


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_an_old_file_under_a_new_name_says_so(kind: str) -> None:
    old = compound({"WordDocument": b"x" * 5000})

    with pytest.raises(BrokenFile, match=rf"older format .* its suffix back \(\.{kind[:3]}\)"):
        READERS[kind](old, "stem")


@pytest.mark.parametrize("kind", READERS)
def test_another_format_under_the_name_is_named(kind: str) -> None:
    other = "xlsx" if kind == "docx" else "docx"

    with pytest.raises(BrokenFile, match=rf"not a \.{kind}.* but .*: give it the suffix \.{other}"):
        READERS[kind](_sound(other), "stem")


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("data", [b"plain text", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)])
def test_damage_gives_a_reason(kind: str, data: bytes) -> None:
    with pytest.raises(BrokenFile, match=r"damaged or no|a ZIP archive, but no"):
        READERS[kind](data, "stem")


@pytest.mark.parametrize("kind", READERS)
def test_half_a_file_gives_a_reason(kind: str) -> None:
    data = _sound(kind)

    with pytest.raises(BrokenFile, match="damaged or no"):
        READERS[kind](data[: len(data) // 2], "stem")


def test_one_part_may_not_be_too_large() -> None:
    archive = package(("word/document.xml", b"<x/>"), ("word/noise.bin", bytes(100)))
    large = with_size(archive, "word/document.xml", 30_000_000)
    few = PackageFormat("Word document", ".docx", ".doc", "word", largest_part=1_000_000)

    with pytest.raises(
        UnsupportedFile, match="30,000,000 bytes; at most 1,000,000 are read: split"
    ):
        open_package(large, few)


def test_parts_are_found_by_any_slash_and_case() -> None:
    archive = open_package(package(("XL\\Workbook.xml", b"<x/>")), XLSX)

    found = open_part(archive, "/xl/workbook.xml")

    assert found is not None
    with found:
        assert found.read() == b"<x/>"
    assert open_part(archive, "xl/none.xml") is None
