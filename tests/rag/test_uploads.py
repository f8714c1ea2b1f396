from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.uploads import all_kept, discard, keep, kept, safe_name


@pytest.mark.parametrize(
    "name",
    [
        "../evil.txt",
        "..\\evil.txt",
        "/etc/evil.txt",
        "a/../../evil.txt",
        "%2e%2e%2fevil.txt",
        "e\0vil.txt",
        "CON.txt",
        "<img src=x onerror=1>.txt",
        "긴" * 300 + ".txt",
        "trailing.txt. ",
    ],
)
def test_a_crafted_name_stays_inside_its_folder(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    before = set(tmp_path.iterdir())

    file = keep(home, name, b"text")

    assert file.resolve().is_relative_to((home / "uploads").resolve())
    assert file.read_bytes() == b"text"
    assert set(tmp_path.iterdir()) - before == {home}
    assert file.name.upper().split(".")[0] != "CON"


@pytest.mark.parametrize("name", ["", ".", "..", "///", "\0"])
def test_a_name_of_nothing_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not a name for a file"):
        keep(tmp_path, name, b"text")


def test_names_are_kept_as_people_write_them() -> None:
    assert safe_name("점심메뉴 (수요일).txt") == "점심메뉴 (수요일).txt"


def test_only_uploads_are_kept_files(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("mine", encoding="utf-8")
    home = tmp_path / "home"
    file = keep(home, "a.zip", b"text")

    assert kept(home, str(own)) is None
    assert kept(home, str(file)) == kept(home, f"{file}/inner/b.txt") == file
    assert all_kept(home) == [file]
    discard(file)
    assert own.exists()
    assert not file.parent.exists()
    assert all_kept(home) == []
    assert kept(home, str(file)) is None
