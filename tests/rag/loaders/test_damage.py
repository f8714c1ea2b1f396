"""Whatever happened to a file, it is read or refused with a reason; nothing else is raised."""

import io
import json
import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from rag.loaders import LoadError, load
from rag.loaders.zips import unpack
from tests.rag.loaders.epub_files import epub, page
from tests.rag.loaders.pdf_files import pdf

OUTPUT = {"output_type": "stream", "text": "y"}
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# A\n", "b"]},
        {"cell_type": "code", "source": "x", "outputs": [OUTPUT]},
    ]
}
NAVIGATION = page("<nav><a href='a.xhtml'>A</a></nav>")
MAIL = (
    "Subject: =?utf-8?B?7ZqM7J2Y?=\r\nDate: Mon, 02 Mar 2026 09:12:00 +0900\r\n"
    'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html; '
    "charset=euc-kr\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+YTwvcD4=\r\n--b\r\n"
    'Content-Type: text/csv; name="a.csv"\r\nContent-Disposition: attachment\r\n\r\na,b\r\n1,2\r\n'
    "--b--"
).encode("ascii")
FILES = {
    "a.csv": "도시,요금\n섬,7300\n".encode("cp949"),
    "a.eml": MAIL,
    "a.epub": epub({"a.xhtml": page("<h1>A</h1><p>b</p>")}, contents=NAVIGATION),
    "a.html": b"<title>t</title><table><tr><th>A<td rowspan=2>b<td colspan=3>c</table><ol><li>d",
    "a.ipynb": json.dumps(NOTEBOOK).encode(),
    "a.json": b'{"a": [{"b": 1.5, "c": null}, "\\u00e9", [true]], "d": {"e": "f"}}',
    "a.jsonl": b'{"a": 1}\n{"b": [1, 2]}\n',
    "a.mbox": b"From a Mon Mar 2 09:12:00 2026\n" + MAIL,
    "a.md": b"---\ntitle: T\n---\n# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n# c\n```\n",
    "a.mht": MAIL,
    "a.pdf": pdf([["one", "two"], ["three"]], title="T"),
    "a.rst": b"A\n=\n\n.. note:: b\n\n:ref:`c <d>` |e|\n\n== ==\na  b\n== ==\n1  2\n== ==\n"
    b"\n.. x::\n\n   z",
    "a.txt": "똠방각하 word".encode("cp949"),
}  # fmt: skip


def _damaged(data: bytes, rng: random.Random) -> bytes:
    content = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(content))
        match rng.randrange(4):
            case 0:
                content[place] = rng.randrange(256)
            case 1:
                del content[place : place + rng.randint(1, 12)]
            case 2:
                content[place:place] = content[: rng.randint(1, 40)]
            case _:
                content[place:place] = rng.choice(
                    (b"\x00", b"\xff\xfe", b"<", b"\x1b$)C", b"[", b"\x0e")
                )
        content = content or bytearray(b"x")
    return bytes(content)


@pytest.mark.parametrize("name", FILES)
def test_damage_is_no_crash(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    path = tmp_path / name
    for _ in range(60):
        path.write_bytes(_damaged(FILES[name], rng))
        with suppress(LoadError):
            document = load(path)
            assert document.text.encode("utf-8")
            assert document.title.encode("utf-8")
            starts = [section.start for section in document.sections]
            assert starts == sorted(starts)
            assert all(0 <= start <= len(document.text) for start in starts)


def test_a_damaged_archive_is_no_crash(tmp_path: Path) -> None:
    rng = random.Random("zip")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/가.txt", "word " * 50)
        archive.writestr("b.md", "# b")
    for turn in range(100):
        (tmp_path / "a.zip").write_bytes(_damaged(file.getvalue(), rng))
        with suppress(LoadError):
            members = unpack(tmp_path / "a.zip", tmp_path / str(turn))
            assert all((member.file is None) == bool(member.refused) for member in members)
