import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from rag.loaders import BrokenFile, EmptyFile, LoadError, UnsupportedFile, wire
from rag.loaders.wire import Limits, Malformed, OutOfMemory, Reply, Request
from rag.records import ExtractedText, Page, Section

DOCUMENT = ExtractedText(
    text="첫 장\n\none page\n\ntwo 🧑🏽‍🌾",
    title="report  (1)",
    media_type="application/x-hwp+zip",
    pages=(Page(1, 0, 13), Page(2, 15, 23)),
    sections=(Section(0, ("첫 장",)), Section(15, ("첫 장", "two"))),
    warnings=("3 unreadable characters",),
)


def _changed(**changes: object) -> Reply:
    details, text = wire.pack(DOCUMENT)
    if isinstance(new := changes.pop("text", None), str):
        text = new.encode("utf-8", "surrogatepass")
    return Reply(json.dumps({**json.loads(details), **changes}).encode(), text)


def test_a_document_comes_across_whole() -> None:
    """A field that is added to the record has to be carried too."""
    empty = ExtractedText("", "", "")
    assert all(
        getattr(DOCUMENT, field.name) != getattr(empty, field.name)
        for field in fields(ExtractedText)
    )
    assert wire.unpack(wire.pack(DOCUMENT)) == DOCUMENT


@pytest.mark.parametrize("error", [EmptyFile, UnsupportedFile, BrokenFile])
def test_a_reason_comes_across(error: type[LoadError]) -> None:
    outcome = wire.unpack(wire.pack(error("읽을 글이 없다")))

    assert type(outcome) is error
    assert str(outcome) == "읽을 글이 없다"


def test_a_reason_cannot_draw_on_a_terminal_or_fill_it() -> None:
    outcome = wire.unpack(wire.pack(BrokenFile("a\x1b[2J\ud800b" + "c" * 10_000)))

    assert str(outcome).startswith("a [2J bc")
    assert len(str(outcome)) == 2_000


def test_requests_and_limits_come_across() -> None:
    request = Request(Path("/자료/\udcff.txt"), True)
    assert wire.unpack_request(wire.pack_request(request)) == request
    limits = Limits(1.5, 60.0, 1 << 40)
    assert wire.unpack_limits(wire.pack_limits(limits)) == limits
    assert limits.time(request) == 60.0


@pytest.mark.parametrize(
    "changes",
    [
        {"text": ""},
        {"text": " \n"},
        {"text": "\u1112\u1161"},
        {"text": "a\x00b"},
        {"text": "a\r\nb"},
        {"text": "a\ud800b"},
        {"title": 7},
        {"title": "a\x00"},
        {"title": "a\ud800"},
        {"media_type": "text/html; <script>"},
        {"pages": [[1, 0, 24]]},
        {"pages": [[1, 5, 4]]},
        {"pages": [[1, -1, 4]]},
        {"pages": [[1, 10, 12], [2, 5, 8]]},
        {"pages": [[0, 0, 4]]},
        {"pages": [[1 << 70, 0, 4]]},
        {"pages": [[1.0, 0, 4]]},
        {"pages": [[True, 0, 4]]},
        {"pages": [[1, 0]]},
        {"pages": 5},
        {"sections": [[24, ["a"]]]},
        {"sections": [[9, ["a"]], [8, ["b"]]]},
        {"sections": [[0, [["a"]]]]},
        {"sections": [[0]]},
        {"warnings": [None]},
        {"warnings": None},
    ],
)
def test_a_document_that_cannot_be_is_not_believed(changes: dict[str, Any]) -> None:
    with pytest.raises(Malformed, match="a reply"):
        wire.unpack(_changed(**changes))


@pytest.mark.parametrize(
    "details",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"status": "added", "reason": "x"}',
        b'{"status": "empty", "reason": 4}',
        b'{"title": "t", "media_type": "a/b"}',
    ],
)
def test_what_is_no_reply_is_not_believed(details: bytes) -> None:
    with pytest.raises(Malformed, match="a reply"):
        wire.unpack(Reply(details, b"text"))


def test_want_of_memory_is_told() -> None:
    with pytest.raises(OutOfMemory):
        wire.unpack(wire.OUT_OF_MEMORY)


def test_what_is_too_large_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, what in (("LARGEST_TEXT", "text"), ("LARGEST_DETAILS", "headings and pages")):
        with monkeypatch.context() as patch:
            patch.setattr(wire, name, 5)
            outcome = wire.unpack(wire.pack(DOCUMENT))
        assert isinstance(outcome, UnsupportedFile)
        assert str(outcome).startswith(f"its {what} take ")
        assert str(outcome).endswith(" bytes; at most 5 are kept: split the file")


def test_frames_are_whole_or_not_at_all(tmp_path: Path) -> None:
    with (tmp_path / "pipe").open("wb") as sink:
        wire.send(sink, b"", b"x" * 3_000_000)
        sink.write((10).to_bytes(8, "big") + b"cut")
    with io.FileIO(tmp_path / "pipe") as source:
        assert wire.receive(source, 0) == b""
        assert wire.receive(source, 3_000_000) == b"x" * 3_000_000
        with pytest.raises(EOFError):
            wire.receive(source, 10)
    with io.FileIO(tmp_path / "pipe") as source:
        wire.receive(source, 0)
        with pytest.raises(Malformed, match="3000000 bytes where at most 2999999"):
            wire.receive(source, 2_999_999)
