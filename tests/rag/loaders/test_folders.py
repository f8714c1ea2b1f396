import os
from pathlib import Path

import pytest

from rag.loaders import walk


def _fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text", encoding="utf-8")


def _walked(*paths: Path, root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in walk(paths)]


def test_a_folder_gives_what_can_be_read_in_order(tmp_path: Path) -> None:
    _fill(tmp_path, "b/2.txt", "b/10.TXT", "a.md", "c.pdf", "나.txt", "가.txt")
    _fill(tmp_path, ".hidden.txt", ".git/x.txt", "~$plan.docx", "Thumbs.db", "desktop.ini", "x.exe")

    assert _walked(tmp_path, root=tmp_path) == [
        "a.md",
        "b/10.TXT",
        "b/2.txt",
        "c.pdf",
        "가.txt",
        "나.txt",
    ]


def test_a_named_file_is_given_whatever_it_is(tmp_path: Path) -> None:
    _fill(tmp_path, ".hidden.txt", "x.exe")
    named = [tmp_path / "x.exe", tmp_path / ".hidden.txt", tmp_path / "none.txt"]

    assert list(walk(named)) == named


def test_a_file_reached_twice_is_given_once(tmp_path: Path) -> None:
    _fill(tmp_path, "a/1.txt", "a/2.txt")

    assert _walked(tmp_path / "a/2.txt", tmp_path, tmp_path / "a", root=tmp_path) == [
        "a/2.txt",
        "a/1.txt",
    ]


def _link(link: Path, target: Path) -> None:
    try:
        link.symlink_to(target, target_is_directory=target.is_dir())
    except OSError:
        pytest.skip("this system does not let us make symbolic links")


def test_links_out_of_the_folder_and_in_circles_are_passed_over(tmp_path: Path) -> None:
    _fill(tmp_path, "in/1.txt", "out/secret.txt")
    _link(tmp_path / "in/circle", tmp_path / "in")
    _link(tmp_path / "in/leak.txt", tmp_path / "out/secret.txt")
    _link(tmp_path / "in/leak", tmp_path / "out")
    _link(tmp_path / "in/same.txt", tmp_path / "in/1.txt")
    _link(tmp_path / "in/broken.txt", tmp_path / "in/none.txt")

    walked = _walked(tmp_path / "in", root=tmp_path)

    assert [name for name in walked if "leak" in name or "circle" in name] == []
    assert "in/1.txt" in walked
    assert "in/same.txt" not in walked


def test_a_named_folder_may_be_a_link(tmp_path: Path) -> None:
    _fill(tmp_path, "real/1.txt")
    _link(tmp_path / "link", tmp_path / "real")

    assert _walked(tmp_path / "link", root=tmp_path) == ["link/1.txt"]


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="the superuser may read all folders"
)
def test_a_folder_that_cannot_be_opened_is_given_itself(tmp_path: Path) -> None:
    _fill(tmp_path, "shut/1.txt")
    (tmp_path / "shut").chmod(0)

    try:
        assert _walked(tmp_path, root=tmp_path) == ["shut"]
    finally:
        (tmp_path / "shut").chmod(0o700)


def test_links_that_go_in_circles_are_no_crash(tmp_path: Path) -> None:
    _fill(tmp_path, "1.txt")
    _link(tmp_path / "a.txt", tmp_path / "b.txt")
    _link(tmp_path / "b.txt", tmp_path / "a.txt")

    assert "1.txt" in _walked(tmp_path, root=tmp_path)
    assert list(walk([tmp_path / "a.txt"])) == [tmp_path / "a.txt"]
