import io
import stat
import zipfile
from pathlib import Path

import pytest

from rag.loaders import zips
from rag.loaders.errors import BrokenFile, EmptyFile, UnsupportedFile
from rag.loaders.formats import load
from rag.loaders.zips import Member, unpack


def _zip(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def _unpack(tmp_path: Path, data: bytes) -> list[Member]:
    path = tmp_path / "자료 모음.zip"
    path.write_bytes(data)
    return unpack(path, tmp_path / "out")


def _named_by_bytes(name: bytes, content: bytes = b"text") -> bytes:
    """An archive whose names are not said to be UTF-8, as Windows writes it."""
    stand_in = ("x" * len(name)).encode("ascii")
    return _zip((stand_in.decode("ascii"), content)).replace(stand_in, name)


def test_members_come_with_their_names_and_files(tmp_path: Path) -> None:
    members = _unpack(tmp_path, _zip(("b/2.md", b"# two"), ("1.TXT", b"one"), ("b/", b"")))

    assert [member.name for member in members] == ["b/2.md", "1.TXT"]
    assert [member.file and member.file.name for member in members] == ["2.md", "1.TXT"]
    assert [member.file and member.file.read_bytes() for member in members] == [b"# two", b"one"]
    assert all(member.file and member.file.is_relative_to(tmp_path / "out") for member in members)


def test_what_a_folder_would_pass_over_is_passed_over(tmp_path: Path) -> None:
    junk = ["__MACOSX/._a.txt", ".DS_Store", "Thumbs.db", "a/.git/x.txt", "~$plan.docx", "x.exe"]

    members = _unpack(tmp_path, _zip(*((name, b"x") for name in junk), ("a.txt", b"a")))

    assert [member.name for member in members] == ["a.txt"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("보고서/점심메뉴.txt".encode("cp949"), "보고서/점심메뉴.txt"),
        ("똠방각하.txt".encode("cp949"), "똠방각하.txt"),
        ("점심메뉴.txt".encode(), "점심메뉴.txt"),
        ("보고서\\점심.txt".encode("cp949"), "보고서/점심.txt"),
        ("café.txt".encode("cp437"), "café.txt"),
    ],
)
def test_names_in_the_encoding_of_their_system(tmp_path: Path, written: bytes, name: str) -> None:
    (member,) = _unpack(tmp_path, _named_by_bytes(written))

    assert member.name == name
    assert member.file is not None
    assert member.file.name == name.rpartition("/")[2]


def test_names_from_macos_are_composed(tmp_path: Path) -> None:
    (member,) = _unpack(tmp_path, _zip(("\u1112\u1161\u11ab.txt", b"x")))

    assert member.name == "한.txt"


def test_a_name_in_the_extra_field_counts(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("____.txt")
    name = "한글.txt".encode()
    info.extra = b"\x75\x70" + (5 + len(name)).to_bytes(2, "little") + b"\x01" + bytes(4) + name

    (member,) = _unpack(tmp_path, _zip((info, b"x")))

    assert member.name == "한글.txt"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil.txt", "leads out"),
        ("..\\evil.txt", "leads out"),
        ("a/../../evil.txt", "leads out"),
        ("/etc/evil.txt", "absolute"),
        ("C:\\evil.txt", "absolute"),
        ("\\\\server\\evil.txt", "absolute"),
        ("CON.txt", "device"),
        ("a/lpt1.txt", "device"),
        ("e\x01vil.txt", "control"),
    ],
)
def test_an_unsafe_name_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    before = sorted(tmp_path.parent.iterdir())

    bad, good = _unpack(tmp_path, _zip((name, b"x"), ("good.txt", b"x")))

    assert bad.file is None
    assert reason in (bad.refused or "")
    assert ".." not in bad.name
    assert not bad.name.startswith("/")
    assert good.file is not None
    assert sorted(tmp_path.parent.iterdir()) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "자료 모음.zip"]


@pytest.mark.parametrize(
    "name", ["%2e%2e%2fevil.txt", "ab:c|d?.txt", "x" * 300 + ".txt", "가" * 200 + ".md", " .txt"]
)
def test_an_odd_name_is_stored_under_a_safe_one(tmp_path: Path, name: str) -> None:
    (member,) = _unpack(tmp_path, _zip((name, b"x")))

    assert member.file is not None
    assert member.file.read_bytes() == b"x"
    assert member.file.suffix == name[name.rindex(".") :]
    assert len(member.file.name.encode()) < 255
    assert not set(member.file.name) & set('<>:"|?*\\/')


def _marked_encrypted(data: bytes) -> bytes:
    content = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def test_locked_linked_and_damaged_members_are_refused_and_the_others_kept(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    stored = zipfile.ZipInfo("bad.txt")
    data = _zip(
        ("locked.txt", b"x"), (link, b"/etc/passwd"), (stored, b"damage"), ("ok.txt", b"ok")
    )
    data = _marked_encrypted(data).replace(b"damage", b"dAmage")

    locked, linked, damaged, kept = _unpack(tmp_path, data)

    assert "password (암호)" in (locked.refused or "")
    assert linked.refused == "it is a symbolic link, not a file"
    assert damaged.refused == "it is damaged: it cannot be unpacked"
    assert kept.file is not None


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_both_kept(tmp_path: Path) -> None:
    members = _unpack(tmp_path, _zip(("a/x.txt", b"1"), ("a/x.txt", b"2")))

    assert [member.name for member in members] == ["a/x.txt", "a/x (2).txt"]
    assert [member.file and member.file.read_bytes() for member in members] == [b"1", b"2"]


def test_archives_inside_each_other_are_read_to_a_depth(tmp_path: Path) -> None:
    data = _zip(("4.txt", b"four"))
    for depth in (3, 2, 1):
        data = _zip((f"{depth}.txt", b"x"), ("in.zip", data))

    members = _unpack(tmp_path, data)

    assert [member.name for member in members] == [
        "1.txt",
        "in.zip/2.txt",
        "in.zip/in.zip/3.txt",
        "in.zip/in.zip/in.zip",
    ]
    assert "at most 3 inside each other" in (members[-1].refused or "")
    assert not list((tmp_path / "out").rglob("*.zip"))


def test_a_broken_archive_inside_is_refused_alone(tmp_path: Path) -> None:
    broken, good = _unpack(tmp_path, _zip(("in.zip", b"words"), ("a.txt", b"x")))

    assert broken.refused == "the file is damaged or no ZIP archive"
    assert good.file is not None


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedFile, match=r"unpacks from [\d,]+ to 60,000,000 bytes; at most 50"
    ):
        _unpack(tmp_path, _zip(("a.txt", bytes(60_000_000))))
    assert not (tmp_path / "out").exists()


def test_a_bomb_inside_another_archive_is_refused(tmp_path: Path) -> None:
    bomb = _zip(("a.txt", bytes(60_000_000)))

    inner, kept = _unpack(tmp_path, _zip(("in.zip", bomb), ("a.txt", b"x")))

    assert "unpacks from" in (inner.refused or "")
    assert kept.file is not None


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "MOST_MEMBERS", 5)

    with pytest.raises(UnsupportedFile, match="holds 6 files; at most 5"):
        _unpack(tmp_path, _zip(*((f"{n}.txt", b"x") for n in range(6))))


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"words", BrokenFile, "damaged or no ZIP archive"),
        (_zip(("a.txt", b"x" * 500))[:60], BrokenFile, "damaged or no ZIP archive"),
        (_zip(), EmptyFile, "no file that can be read: 0 are"),
        (_zip(("a.exe", b"x"), (".a.txt", b"x")), EmptyFile, "no file that can be read: 2 are"),
    ],
)
def test_an_archive_without_files_says_why(
    tmp_path: Path, data: bytes, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        _unpack(tmp_path, data)


def test_an_archive_itself_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(_zip(("a.txt", b"x")))

    with pytest.raises(
        UnsupportedFile, match="an archive: it has no text of its own, but holds files"
    ):
        load(path)
