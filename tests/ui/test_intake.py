"""Files on their way into a real library, on a tiny encoder."""

import io
import zipfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from numpy.typing import NDArray

from rag import Assistant, Settings
from tests.builders import spelling_encoder
from ui.intake import Arrival, take_in


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_encoder(tmp_path_factory.mktemp("models") / "tiny-encoder")


@pytest.fixture
def attest(tmp_path: Path, encoder_folder: Path) -> Iterator[Assistant]:
    settings = Settings(home=tmp_path / "home", encoder=str(encoder_folder), threads=1)
    with Assistant.open(settings) as opened:
        yield opened


def handed_over(folder: Path, files: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Files as a browser's upload leaves them: each alone in a folder, under a plain name."""
    places = []
    for number, content in enumerate(files.values()):
        place = folder / str(number) / "upload"
        place.parent.mkdir(parents=True)
        place.write_bytes(content)
        places.append(str(place))
    return places, list(files)


def taken(attest: Assistant, folder: Path, files: Mapping[str, bytes]) -> list[tuple[Arrival, ...]]:
    return list(take_in(attest, *handed_over(folder, files), lambda error: f"said: {error}"))


def archive(**members: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for name, text in members.items():
            opened.writestr(f"보고서/{name}", text)
    return content.getvalue()


def statuses(arrival: Arrival) -> list[str]:
    return [outcome.status for outcome in arrival.outcomes]


def test_each_file_is_told_apart_and_only_what_is_read_is_kept(
    attest: Assistant, tmp_path: Path
) -> None:
    files = {
        "a.txt": b"The gate is green.",
        "자료.zip": archive(**{"one.txt": "The lamp is red.", "two.txt": ""}),
        "broken.pdf": b"%PDF-1.4 nothing more",
        " .. ": b"x",
        "<img src=x onerror=1>.txt": b"The door is blue.",
    }
    steps = taken(attest, tmp_path / "sent", files)
    last = steps[-1]
    assert [arrival.name for arrival in last] == list(files)
    assert [statuses(arrival) for arrival in last] == [
        ["added"], ["added", "empty"], ["failed"], ["failed"], ["added"]
    ]  # fmt: skip
    assert [outcome.path.split("/")[-2:] for outcome in last[1].outcomes] == [
        ["보고서", "one.txt"], ["보고서", "two.txt"]
    ]  # fmt: skip
    assert "said: " in (last[3].outcomes[0].reason or "")
    assert all(arrival.ended for arrival in last)
    assert not any(arrival.is_read for arrival in steps[0])
    assert not [file for file in (tmp_path / "sent").rglob("*") if file.is_file()]
    kept = [file.name for file in (tmp_path / "home" / "uploads").rglob("*") if file.is_file()]
    assert sorted(kept) == ["_img src=x onerror=1_.txt", "a.txt", "자료.zip"]


def test_many_small_files_are_encoded_together(
    attest: Assistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = attest.models.embedder(attest.settings.encoder)
    encoded: list[int] = []
    embed = embedder.embed_documents

    def counted(texts: Sequence[str]) -> NDArray[np.float32]:
        encoded.append(len(texts))
        return embed(texts)

    monkeypatch.setattr(embedder, "embed_documents", counted)
    files = {f"{number}.txt": f"Gate {number} is green.".encode() for number in range(30)}
    last = taken(attest, tmp_path / "sent", files)[-1]
    assert [statuses(arrival) for arrival in last] == [["added"]] * 30
    assert encoded == [30]


def test_words_are_found_while_vectors_are_being_made(
    attest: Assistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = attest.models.embedder(attest.settings.encoder)
    go_on, embed = Event(), embedder.embed_documents
    monkeypatch.setattr(embedder, "embed_documents", lambda t: go_on.wait(120) and embed(t))
    files = {"a.txt": b"The gate is green.", "b.zip": archive(**{"c.txt": "The lamp is red."})}
    steps = take_in(attest, *handed_over(tmp_path / "sent", files), str)
    for step in steps:
        if all(arrival.rows for arrival in step):
            break
    assert [row.pending for arrival in step for row in arrival.rows] == [1, 1]
    assert [arrival.ended for arrival in step] == [False, False]
    assert len(attest.search("lamp", mode="lexical").hits) == 1
    go_on.set()
    *_, last = steps
    assert [statuses(arrival) for arrival in last] == [["added"], ["added"]]
    assert attest.status().pending == 0


def test_the_same_file_again_is_there_already(attest: Assistant, tmp_path: Path) -> None:
    content = b"The gate is green."
    twice = {"a.txt": content, "b.txt": content}
    assert [statuses(each) for each in taken(attest, tmp_path / "1", twice)[-1]] == [
        ["added"], ["duplicate"]
    ]  # fmt: skip
    assert [statuses(each) for each in taken(attest, tmp_path / "2", {"a.txt": content})[-1]] == [
        ["unchanged"]
    ]


def test_what_stops_everything_is_told_of_each_file(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", encoder=str(tmp_path / "no-such-encoder"))
    with Assistant.open(settings) as attest:
        last = taken(attest, tmp_path / "sent", {"a.txt": b"a", "b.txt": b"b"})[-1]
    assert [statuses(arrival) for arrival in last] == [["failed"], ["failed"]]
    assert all("no-such-encoder" in (each.outcomes[0].reason or "") for each in last)
    assert not list((tmp_path / "home" / "uploads").glob("*/*"))


def test_it_goes_on_when_the_visitor_leaves(attest: Assistant, tmp_path: Path) -> None:
    files = {f"{number}.txt": f"Gate {number} is green.".encode() for number in range(3)}
    steps = take_in(attest, *handed_over(tmp_path / "sent", files), str)
    while not all(arrival.is_read for arrival in next(steps)):
        pass
    assert isinstance(steps, Generator)
    steps.close()
    for _ in range(600):
        if attest.status().vectors == 3:
            break
        Event().wait(0.1)
    assert attest.status().vectors == 3
