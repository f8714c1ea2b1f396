"""PDF files made by hand: any text, in sizes, with glyphs that name no character, and outlines."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

NO_CHARACTER = "\ue000"  # drawn as a glyph to which the font's table gives no character


@dataclass(frozen=True)
class Entry:
    """An entry of the outline: a title that points to a page (by index)."""

    title: str
    page: int


@dataclass(frozen=True)
class Placed:
    """A line at a place of its own, in points from the lower left corner."""

    text: str
    left: int
    top: int


@dataclass(frozen=True)
class Picture:
    """A page that is a picture: grey dots, row by row, as a scanner makes it."""

    width: int
    height: int
    dots: bytes


def open_but_restricted_pdf(line: str) -> bytes:
    """A file that opens without a password and needs one only for printing (revision 4)."""
    padding = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
    owner, permissions, identity = b"\xab" * 32, (-4).to_bytes(4, "little", signed=True), b"\1" * 16
    key = hashlib.md5(padding + owner + permissions + identity).digest()
    for _ in range(50):
        key = hashlib.md5(key).digest()
    user = hashlib.md5(padding + identity).digest()
    for turn in range(20):
        user = _rc4(bytes(byte ^ turn for byte in key), user)
    encryption = (
        "/Encrypt << /Filter /Standard /V 4 /R 4 /Length 128 /P -4 "
        f"/O <{owner.hex()}> /U <{user.hex()}{'00' * 16}> /StmF /Identity /StrF /Identity "
        "/CF << /StdCF << /CFM /AESV2 /Length 16 /AuthEvent /DocOpen >> >> >> "
        f"/ID [<{identity.hex()}> <{identity.hex()}>]"
    )
    return pdf([[line]], trailer=encryption)


def _rc4(key: bytes, data: bytes) -> bytes:
    box = list(range(256))
    i = j = 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    i = j = 0
    out = []
    for byte in data:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)


def locked_pdf() -> bytes:
    """A file whose password check fails for the empty password: no key fits made-up hashes."""
    encryption = (
        f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{'ab' * 32}> /U <{'cd' * 32}> >>"
    )
    return pdf([["secret"]], trailer=f"{encryption} /ID [<{'01' * 16}> <{'01' * 16}>]")


def pdf(
    pages: Sequence[Sequence[str | Placed] | Picture],
    *,
    title: str = "",
    outline: Sequence[Entry] = (),
    large: Sequence[str] = (),
    trailer: str = "",
) -> bytes:
    """Draws each page's lines below each other, those in `large` in twice the size."""
    lines = [line for page in pages if not isinstance(page, Picture) for line in page]
    letters = sorted({letter for line in lines for letter in _text_of(line)})
    codes = {letter: code for code, letter in enumerate(letters, start=1)}
    named = {code: letter.replace(NO_CHARACTER, "\0") for letter, code in codes.items()}
    n_pages = len(pages)
    first_page, first_entry = 7, 7 + 2 * n_pages
    kids = " ".join(f"{first_page + 2 * n} 0 R" for n in range(n_pages))
    outlines = f"/Outlines {first_entry} 0 R" if outline else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {outlines} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {n_pages} >>",
        "<< /Type /Font /Subtype /Type0 /BaseFont /Mini /Encoding /Identity-H "
        "/DescendantFonts [4 0 R] /ToUnicode 5 0 R >>",
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Mini /DW 600 /CIDSystemInfo "
        "<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor << "
        "/Type /FontDescriptor /FontName /Mini /Flags 4 /FontBBox [0 -200 1000 900] "
        "/ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>",
        _stream(_names(named)),
        f"<< /Title <{_utf16(title)}> >>",
    ]
    for number, page in enumerate(pages):
        if isinstance(page, Picture):
            objects += _picture(page, 8 + 2 * number)
            continue
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 842] /Contents {8 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(_stream(_drawing(page, codes, large)))
    if outline:
        objects.append(
            f"<< /Type /Outlines /First {first_entry + 1} 0 R "
            f"/Last {first_entry + len(outline)} 0 R /Count {len(outline)} >>"
        )
    for number, entry in enumerate(outline, start=first_entry + 1):
        following = f"/Next {number + 1} 0 R" if number < first_entry + len(outline) else ""
        objects.append(
            f"<< /Title <{_utf16(entry.title)}> /Parent {first_entry} 0 R {following} "
            f"/Dest [{first_page + 2 * entry.page} 0 R /Fit] >>"
        )
    return _file(objects, trailer)


def _text_of(line: str | Placed) -> str:
    return line.text if isinstance(line, Placed) else line


def _picture(page: Picture, content: int) -> list[str]:
    """The page, and its content with the picture inline, at 300 dots an inch."""
    width, height = page.width * 72 / 300, page.height * 72 / 300
    drawing = (
        f"{width} 0 0 {height} 0 0 cm BI /W {page.width} /H {page.height} /BPC 8 /CS /G /F /AHx ID "
        f"{page.dots.hex()}> EI"
    )
    return [
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents {content} 0 R >>",
        _stream(drawing),
    ]


def _drawing(page: Sequence[str | Placed], codes: dict[str, int], large: Sequence[str]) -> str:
    sizes = [24 if line in large else 12 for line in page]
    drawn = []
    for line, size, below in zip(page, sizes, accumulate(sizes, initial=0), strict=False):
        glyphs = "".join(f"{codes[letter]:04x}" for letter in _text_of(line))
        left, top = (line.left, line.top) if isinstance(line, Placed) else (40, 800 - 2 * below)
        drawn.append(f"BT /F1 {size} Tf 1 0 0 1 {left} {top} Tm <{glyphs}> Tj ET")
    return "\n".join(drawn)


def _names(named: dict[int, str]) -> str:
    """The table that gives each glyph its character."""
    rows = "\n".join(f"<{code:04x}> <{_utf16(letter)[4:]}>" for code, letter in named.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(named)} beginbfchar\n{rows}\nendbfchar\n"
        "endcmap CMapName currentdict /CMap defineresource pop end end"
    )


def _utf16(text: str) -> str:
    return "feff" + text.encode("utf-16-be").hex()


def _stream(content: str) -> str:
    return f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"


def _file(objects: Sequence[str], trailer: str) -> bytes:
    content = b"%PDF-1.7\n"
    places = []
    for number, each in enumerate(objects, start=1):
        places.append(len(content))
        content += f"{number} 0 obj\n{each}\nendobj\n".encode("ascii")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 6 0 R {trailer} >>\n"
        f"startxref\n{len(content)}\n%%EOF"
    )
    return content + end.encode("ascii")
