import os
import sys
from pathlib import Path

import pytest

from rag.loaders import load, media_type, shown_name, walk
from rag.loaders.names import is_junk


def _written(name: bytes) -> str:
    """A name as Python gets it from a Linux disk."""
    return name.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\u1112\u1161\u11ab.txt", "한.txt"),
        (_written("점심메뉴.txt".encode("cp949")), "점심메뉴.txt"),
        (_written(b"\xb0\xa1.txt"), "가.txt"),
        (_written(b"caf\xe9.txt"), "caf\ufffd.txt"),
        ("홈/" + _written("메모".encode("cp949")) + "/a.txt", "홈/메모/a.txt"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX systems only")
def test_names_are_shown_whole(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such name")
def test_a_name_of_another_encoding_is_walked_opened_and_shown(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xb0\xa1.txt")
    path.write_text("text", encoding="utf-8")

    (found,) = walk([tmp_path])
    document = load(found)

    assert found == path
    assert document.title == "가"
    assert document.title.encode()
    assert media_type(found) == "text/plain"


def test_decomposed_and_composed_names_are_both_found(tmp_path: Path) -> None:
    names = ["\u110c\u1165\u11b7\u1109\u1175\u11b7_a.txt", "점심_b.txt"]
    for name in names:
        (tmp_path / name).write_text("된장국", encoding="utf-8")

    found = list(walk([tmp_path]))

    assert [shown_name(path.name) for path in found] == ["점심_a.txt", "점심_b.txt"]
    assert all(load(path).text == "된장국" for path in found)


@pytest.mark.parametrize(
    ("name", "junk"),
    [
        (".DS_Store", True),
        ("__MACOSX", True),
        ("Thumbs.db", True),
        ("~$plan.docx", True),
        ("DESKTOP.INI", True),
        ("plan.docx", False),
        ("...", True),
    ],
)
def test_what_systems_leave_is_junk(name: str, junk: bool) -> None:
    assert is_junk(name) is junk
