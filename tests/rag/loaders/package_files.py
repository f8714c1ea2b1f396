"""Archives that a reader should refuse, and the smallest ones that it should not."""

import io
import struct
import zipfile

MAIN_PARTS = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/workbook.xml",
    "hwpx": "Contents/section0.xml",
    "odt": "content.xml",
}


def package(*parts: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in parts:
            archive.writestr(name, content)
    return file.getvalue()


def with_size(data: bytes, name: str, size: int) -> bytes:
    """Lets the directory claim another unpacked size for a part."""
    changed = bytearray(data)
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    struct.pack_into("<I", changed, entry + 24, size)
    return bytes(changed)


def overlapping(name: str, content: bytes, copies: int) -> bytes:
    """Lists one part under many names: the directory is all that grows."""
    data = package((name, content))
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(
        entry.replace(name.encode(), f"{number:0{len(name)}d}".encode()) for number in range(copies)
    )
    count = min(copies, 0xFFFF)
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(entries), start, 0)
    return data[:start] + entries + tail


def repacked(data: bytes, **parts: bytes) -> bytes:
    """Puts other content into XML parts; a key is the name of a file without its suffix."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            stem = name.rpartition("/")[2].removesuffix(".xml")
            new.writestr(name, parts.get(stem, old.read(name)))
    return file.getvalue()
