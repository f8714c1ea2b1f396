"""Files on their way into the library, and what follows when they change."""

import unicodedata
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from encoder import Embedder
from rag import Assistant
from rag.ingest import Outcome
from rag.records import Within
from rag.sources import on_disk, sources, stored_path

LONG = "# Notes\n\n" + "\n\n".join(
    f"## Part {i}\n\n" + f"The pump number {i} is checked every {i + 3} days by the shift. " * 6
    for i in range(8)
)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that goes through an encoder from here on."""
    texts: list[str] = []
    original = Embedder.embed_documents

    def noting(self: Embedder, given: Sequence[str]) -> NDArray[np.float32]:
        texts.extend(given)
        return original(self, given)

    monkeypatch.setattr(Embedder, "embed_documents", noting)
    return texts


def _write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def _statuses(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {Path(outcome.path).name: outcome.status for outcome in outcomes}


def test_an_unchanged_file_costs_nothing(
    attest: Assistant, tmp_path: Path, encoded: list[str]
) -> None:
    _write(tmp_path / "in", "a.md", LONG)
    (first,) = attest.add(tmp_path / "in")
    assert first.status == "added"
    assert len(encoded) == first.chunks > 4
    encoded.clear()
    (second,) = attest.add(tmp_path / "in")
    assert (second.status, second.chunks, second.id) == ("unchanged", first.chunks, first.id)
    assert encoded == []


def test_only_what_changed_is_encoded_again(
    attest: Assistant, tmp_path: Path, encoded: list[str]
) -> None:
    file = _write(tmp_path / "in", "a.md", LONG)
    (first,) = attest.add(file)
    encoded.clear()
    file.write_text(LONG.replace("The pump number 5", "The crane number 5"), encoding="utf-8")
    (second,) = attest.add(file)
    assert (second.status, second.id, second.chunks) == ("updated", first.id, first.chunks)
    assert 1 <= len(encoded) <= 2
    assert all("crane" in text for text in encoded)
    status = attest.status()
    assert status.chunks == status.vectors == first.chunks
    fresh = attest.search("The crane number 5", mode="dense", k=50)
    assert any("crane" in hit.chunk.text for hit in fresh.hits)


def test_a_renamed_file_is_cited_by_its_new_name(
    attest: Assistant, tmp_path: Path, encoded: list[str]
) -> None:
    file = _write(tmp_path / "in", "old name.txt", "The gate is green.")
    (first,) = attest.add(file)
    encoded.clear()
    file.rename(tmp_path / "in" / "new name.txt")
    (second,) = attest.sync(tmp_path / "in")
    assert (second.status, second.id) == ("updated", first.id)
    assert second.reason == f"renamed from {stored_path(file)}"
    assert encoded == []
    (row,) = attest.documents()
    assert (Path(row.path).name, row.title) == ("new name.txt", "new name")
    (hit,) = attest.search("gate").hits
    assert Path(hit.chunk.document.path).name == "new name.txt"


def test_a_copy_is_no_rename(attest: Assistant, tmp_path: Path) -> None:
    _write(tmp_path / "in", "a.txt", "The gate is green.")
    attest.add(tmp_path / "in")
    _write(tmp_path / "in", "b.txt", "The gate is green.")
    assert _statuses(attest.add(tmp_path / "in")) == {"a.txt": "unchanged", "b.txt": "duplicate"}
    assert len(attest.search("gate").hits) == 1


def test_a_decomposed_name_on_disk_is_not_gone(attest: Assistant, tmp_path: Path) -> None:
    name = "점심메뉴_수요일.txt"
    file = _write(tmp_path / "in", unicodedata.normalize("NFD", name), "비빔밥과 미역국")
    assert Path(stored_path(file)).name == name
    found = on_disk(stored_path(file))
    assert found is not None
    assert found.read_text(encoding="utf-8") == "비빔밥과 미역국"
    attest.add(tmp_path / "in")
    _write(tmp_path / "in", "copy.txt", "비빔밥과 미역국")
    assert _statuses(attest.add(tmp_path / "in")) == {name: "unchanged", "copy.txt": "duplicate"}
    assert [hit.chunk.text for hit in attest.search("비빔밥", within=Within(paths=(name,))).hits]


def test_sync_removes_what_is_gone_only_when_asked(attest: Assistant, tmp_path: Path) -> None:
    folder, other = tmp_path / "in", _write(tmp_path / "out", "c.txt", "The winch is blue.")
    gone = _write(folder, "a.txt", "The pump is red.")
    _write(folder, "b.txt", "The crane is black.")
    attest.add(folder, other)
    gone.unlink()
    other.unlink()
    assert _statuses(list(attest.sync(folder))) == {"b.txt": "unchanged"}
    assert [Path(path).name for _, path in attest.gone(folder)] == ["a.txt"]
    assert _statuses(list(attest.sync(folder, prune=True))) == {
        "b.txt": "unchanged",
        "a.txt": "removed",
    }
    assert sorted(Path(row.path).name for row in attest.documents()) == ["b.txt", "c.txt"]


def test_a_missing_folder_prunes_nothing(attest: Assistant, tmp_path: Path) -> None:
    file = _write(tmp_path / "in", "a.txt", "The pump is red.")
    attest.add(file)
    file.unlink()
    (tmp_path / "in").rmdir()
    with pytest.raises(Exception, match="no such file or folder"):
        list(attest.sync(tmp_path / "in", prune=True))
    assert len(attest.documents()) == 1


def test_a_stop_keeps_what_is_done_and_the_next_run_goes_on(
    attest: Assistant, tmp_path: Path
) -> None:
    for i in range(6):
        _write(tmp_path / "in", f"{i}.txt", f"Note {i} says that the lamp number {i} is lit.")
    asked = iter(range(3))
    assert list(attest.ingest([tmp_path / "in"], stop=lambda: next(asked, None) is None)) == []
    assert attest.status().vectors == 0
    again = attest.add(tmp_path / "in")
    assert len(again) == 6
    assert attest.status().chunks == attest.status().vectors == 6


def test_words_are_found_before_the_vectors_are_made(attest: Assistant, tmp_path: Path) -> None:
    file = _write(tmp_path / "in", "a.txt", "The gate is green.")
    # Asked before a file is examined, before it is read, and before it is encoded.
    answers = iter([False, False])
    assert list(attest.ingest([file], stop=lambda: next(answers, True))) == []
    status = attest.status()
    assert (status.chunks, status.vectors, status.pending) == (1, 0, 1)
    found = attest.search("gate")
    assert found.pending == 1
    assert [hit.chunk.text for hit in found.hits] == ["The gate is green."]
    assert attest.search("gate", mode="dense").hits == ()
    (row,) = attest.documents()
    assert (row.status, row.pending) == ("indexed", 1)
    (outcome,) = attest.add(file)
    assert outcome.status == "unchanged"
    assert attest.search("gate", mode="dense").hits
    assert attest.search("gate").pending == attest.status().pending == 0


def test_members_of_an_archive_are_documents(attest: Assistant, tmp_path: Path) -> None:
    archive = tmp_path / "in" / "bundle.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("notes/gate.txt", "The gate is green.")
        made.writestr("notes/공지.txt", "창고는 월요일에 쉰다.")
        made.writestr("notes/.hidden.txt", "secret")
    outcomes = attest.add(archive.parent)
    assert _statuses(outcomes) == {"gate.txt": "added", "공지.txt": "added"}
    (hit,) = attest.search("gate", mode="lexical").hits
    assert hit.chunk.document.path == f"{stored_path(archive)}/notes/gate.txt"
    assert hit.chunk.document.title == "gate"
    assert set(_statuses(attest.add(archive.parent)).values()) == {"unchanged"}
    assert attest.gone(archive.parent) == []
    archive.unlink()
    assert len(attest.gone(archive.parent)) == 2


def test_an_uploaded_archive_is_kept_as_long_as_a_member_is(
    attest: Assistant, tmp_path: Path
) -> None:
    archive = tmp_path / "b.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a.txt", "The gate is green.")
        made.writestr("b.txt", "The pump is red.")
    first, second = attest.upload("b.zip", archive.read_bytes())
    kept = Path(first.path).parent
    attest.remove([first.id or 0])
    assert kept.is_file()
    attest.remove([second.id or 0])
    assert not kept.exists()


def test_a_refused_upload_is_not_kept(attest: Assistant) -> None:
    (outcome,) = attest.upload("a.pdf", b"no pdf at all")
    assert outcome.status == "failed"
    assert not Path(outcome.path).exists()
    (row,) = attest.documents()
    assert (row.status, row.reason) == ("failed", outcome.reason)


def test_a_home_inside_the_folder_is_not_taken_in(attest: Assistant, tmp_path: Path) -> None:
    _write(tmp_path, "a.txt", "The gate is green.")
    attest.add(tmp_path)
    attest.search("gate")
    _write(attest.settings.home, "inside.txt", "no document")
    assert _statuses(attest.add(tmp_path)) == {"a.txt": "unchanged"}
    found = list(sources([tmp_path], attest.settings.home, tmp_path))
    assert [source.path for source in found] == [stored_path(tmp_path / "a.txt")]


def test_tags_are_put_on_and_narrow_a_search(attest: Assistant, tmp_path: Path) -> None:
    _write(tmp_path / "in", "a.txt", "The gate is green.")
    _write(tmp_path / "in", "b.txt", "The gate is brown.")
    attest.add(tmp_path / "in" / "a.txt", tags=["#공사 2024", "site"])
    attest.add(tmp_path / "in" / "b.txt")
    assert attest.find("a.txt").tags == ("site", "공사 2024")
    tagged = attest.search("gate", within=Within(tags=("공사 2024",)))
    assert [hit.chunk.text for hit in tagged.hits] == ["The gate is green."]
    attest.tag(["a.txt"], remove=["site"])
    assert attest.search("gate", within=Within(tags=("site",))).hits == ()
    with pytest.raises(Exception, match="is no tag"):
        attest.tag(["a.txt"], add=["  "])
