"""A01, A02, A06 and their like: bytes become the letters that were meant, or a reason."""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.hard_inputs.conftest import Shelve
from tests.acceptance.hard_inputs.shelf import Shelf
from tests.rag.loaders.pdf_files import NO_CHARACTER, pdf

ROOT = Path(__file__).parents[3]
_ENGLISH = "The storage room is locked at nine; please return the key on your way out.\n"


def _mail(charset: str, subject: bytes, body: bytes) -> bytes:
    word = f"=?{charset}?B?{base64.b64encode(subject).decode()}?="
    head = f"From: a@example.org\r\nSubject: {word}\r\nContent-Type: text/plain; charset={charset}"
    return head.encode() + b"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" + body


# The file, what its text must hold, and the encoding that is reported (None: that of the format).
KOREAN: dict[str, tuple[bytes, str, str | None]] = {
    "notice.txt": (
        "이삿날 알림\n정문은 은하로 9길입니다. 똠얌 가게와 쀍도 옵니다.\n".encode("cp949"),
        "똠얌 가게와 쀍도",
        "cp949",
    ),
    "windows.txt": (
        "회의실 예약\r\n둘째 주 수요일\r\n".encode("cp949"),
        "회의실 예약\n둘째",
        "cp949",
    ),
    "one_word.txt": ("개나리".encode("cp949"), "개나리", "cp949"),
    "half.txt": (
        (_ENGLISH * 20 + "진달래는 뒷마당에 핀다.\n" + _ENGLISH * 20).encode("cp949"),
        "진달래는 뒷마당에 핀다.",
        "cp949",
    ),
    "signs.txt": (
        "① 신청서 ② 목련 사본 ㈜한빛 ℡ 02-123 ㎡".encode("cp949"),
        "② 목련 사본 ㈜한빛 ℡",
        "cp949",
    ),
    "cells.csv": (
        '이름,메모\n봉숭아,"쀍, 화분 둘"\n'.encode("cp949"),
        "메모: 쀍, 화분 둘",
        "cp949",
    ),
    "page.html": (
        "<meta charset=euc-kr><title>꽃집</title><p>수선화 ½ 쀍".encode("cp949", "replace"),
        "수선화",
        "cp949",
    ),
    "no_meta.html": (
        "<title>꽃집</title><p>해바라기는 여름에 쀍 핀다".encode("cp949"),
        "해바라기는 여름에 쀍 핀다",
        "cp949",
    ),
    "list.json": ('{"이름": "채송화", "곳": "쀍"}'.encode("cp949"), "이름: 채송화", "cp949"),
    "utf16.txt": ("맨드라미는 담 밑에 심는다.\n".encode("utf-16"), "맨드라미는 담 밑에", "utf-16"),
    "utf16_bare.txt": (
        "과꽃은 울타리에 심는다.\n".encode("utf-16-le"),
        "과꽃은 울타리에",
        "utf-16-le",
    ),
    "utf8_mark.txt": ("백일홍은 마당에 심는다.\n".encode("utf-8-sig"), "백일홍은 마당에", None),
    "seven_bits.eml": (
        _mail(
            "iso-2022-kr",
            "금잔화".encode("iso2022_kr"),
            "금잔화는 거실에 둔다.\n".encode("iso2022_kr"),
        ),
        "금잔화는 거실에 둔다.",
        None,
    ),
    "old_label.eml": (
        _mail(
            "ks_c_5601-1987",
            "분꽃".encode("cp949"),
            "분꽃 곁의 쀍은 창가에 둔다.\n".encode("cp949"),
        ),
        "분꽃 곁의 쀍은",
        None,
    ),
}

_DAMAGED = "창고 점검은 월요일이다. 쀍쓰네 가게 옆이다.\n".encode("cp949")
UNREADABLE = {
    "cut.txt": (_DAMAGED * 4 + "끝".encode("cp949")[:1], "월요일", 1),
    "stray.txt": (_DAMAGED * 5 + b"\xff" + _DAMAGED * 5, "가게 옆", 1),
    "nul.txt": (b"Valve K\x0021 is left of \x00north.\n" + _ENGLISH.encode(), "is left of", 2),
    "nul_few.txt": (b"Valve K\x0022 shuts the pump\n", "shuts the pump", 1),
    "bell.csv": (b"name,note\nvalve,K\x0723 is red\n" + b"pump,fine\n" * 9, "is red", 1),
    "control.html": (b"<p>valve K&#1;24 is blue</p>", "is blue", 1),
    "glyph.pdf": (
        pdf([["창고 점검표", f"K{NO_CHARACTER}25 {NO_CHARACTER}동쪽"]]),
        "창고 점검표",
        2,
    ),
}


@pytest.fixture(scope="module")
def shelf(shelve: Shelve) -> Shelf:
    return shelve({name: row[0] for name, row in {**KOREAN, **UNREADABLE}.items()})


@pytest.mark.parametrize("name", KOREAN)
def test_a01_korean_of_every_origin_is_read_and_found(shelf: Shelf, name: str) -> None:
    _, held, encoding = KOREAN[name]
    text, outcome = shelf.text(name), shelf.outcomes[name]

    assert held in text
    assert "\ufffd" not in text
    assert outcome.warnings == (() if encoding is None else (f"read as {encoding}",))
    word = re.split(r"[은는을를 ]", held.split("\n")[0].split(": ")[-1])[0]
    assert name in [hit.chunk.document.path.rpartition("/")[2] for hit in shelf.hits(word)]


@pytest.mark.parametrize("name", UNREADABLE)
def test_a06_what_cannot_be_read_is_a_gap_that_is_counted(shelf: Shelf, name: str) -> None:
    _, held, count = UNREADABLE[name]
    text, outcome = shelf.text(name), shelf.outcomes[name]

    assert held in text
    assert not re.search(r"[^\n\t\x20-\x7e\x80-\U0010ffff]", text)
    assert not re.search(r"K2\d", text)
    plural = "" if count == 1 else "s"
    assert outcome.warnings[-1] == f"{count} unreadable character{plural}"
    rows = {row.id: row for row in shelf.attest.documents()}
    assert rows[outcome.id or 0].warnings == outcome.warnings


def test_a02_nothing_depends_on_the_encoding_of_the_machine(
    tmp_path: Path, encoder_folder: Path
) -> None:
    file, page = tmp_path / "나비 — ☕.txt", tmp_path / "report.html"
    file.write_text("고양이 기록 ☕\n나비는 사료를 먹었다. 그릇은 €3짜리다.\n", encoding="utf-8")
    own = {"HOME": str(tmp_path / "home"), "ENCODER": str(encoder_folder), "THREADS": "1"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {f"ATTEST_{key}": value for key, value in own.items()}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    warn = ["-X", "warn_default_encoding", "-W", "always::EncodingWarning"]
    done = subprocess.run(
        [sys.executable, *warn, "-m", "tests.acceptance.hard_inputs.session", str(file), str(page)],
        cwd=ROOT,
        env=environment | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    assert "Traceback" not in err
    assert (out.count("exit 0"), out.count("exit 2")) == (5, 1), out + err
    assert (out.count("then 0"), out.count("then 1")) == (4, 2), out + err
    assert "나비는 사료를" in out
    assert "나비" in page.read_text(encoding="utf-8")
    packages = ("encoder", "generator", "index", "rag", "transformer", "ui")
    ours = rf"^{re.escape(str(ROOT))}/(?:{'|'.join(packages)})/.*EncodingWarning"
    assert re.findall(ours, err, re.M) == []
