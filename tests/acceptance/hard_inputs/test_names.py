"""A03, A29, A31 and their like: names that were composed, crafted, or written as markup."""

import unicodedata
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Literal

import pytest
from fastapi.testclient import TestClient

from rag import Assistant
from rag.api import create_app
from rag.records import Within
from tests.acceptance.hard_inputs.conftest import Shelve
from tests.acceptance.hard_inputs.shelf import Shelf, name_of, upload, write

CRAFTED = [
    "../evil.txt",
    "..\\evil.txt",
    "/etc/evil.txt",
    "a/../../evil.txt",
    "%2e%2e%2fevil.txt",
    "e\0vil.txt",
    ".",
    "..",
    "",
    "CON.txt",
    "con .txt",
    "COM¹.txt",
    "NUL.tar.txt",
    "CONIN$",
    "C:\\Windows\\evil.txt",
    "\\\\server\\share\\evil.txt",
    "evil.txt:hidden",
    "~/.ssh/evil.txt",
    ".htaccess",
    "....//....//evil.txt",
    "evil.txt/",
    "evil\r\nX: y.txt",
    "gpj\u202etxt.evil",
    "\u200b",
    "‥/evil.txt",
    "a." + "x" * 300,
    "긴" * 200 + ".txt",
    "<img src=x onerror=1>.txt",
]


@pytest.fixture(scope="module")
def crafted(shelve: Shelve) -> Shelf:
    """A library that takes in all the crafted names."""
    return shelve({"first.txt": b"The pump is red."})


@pytest.mark.parametrize("name", CRAFTED)
def test_a31_an_upload_stays_in_the_home_or_is_refused(crafted: Shelf, name: str) -> None:
    home, content = crafted.attest.settings.home, f"Gate {CRAFTED.index(name)} is green.".encode()
    before, known = _below(home.parent, home), len(crafted.attest.documents())
    with TestClient(
        create_app(crafted.attest), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as client:
        answer = upload(client, (name, content))

    assert answer.status_code in (200, 400), answer.text
    assert _below(home.parent, home) == before
    if answer.status_code == 400:
        assert answer.json()["error"]["message"]
        assert len(crafted.attest.documents()) == known
        return
    (row,) = answer.json()["documents"]
    file = Path(row["path"])
    assert row["status"] == "added"
    assert file.resolve().is_relative_to((home / "uploads").resolve())
    assert file.read_bytes() == content
    assert not set(file.name) & set('<>:"|?*\\/%\0\r\n\u202e')
    assert file.name.split(".")[0].strip().upper() not in ("CON", "NUL", "COM¹", "CONIN$")


def _below(folder: Path, home: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_relative_to(home))


def test_a31_a_bad_name_refuses_the_whole_request(client: TestClient) -> None:
    answer = upload(client, ("good.txt", b"The gate is green."), ("..", b"The pump is red."))
    assert answer.status_code == 400
    assert "is not a name for a file" in answer.json()["error"]["message"]
    assert client.get("/api/documents").json()["documents"] == []


def test_a31_a_name_in_cp949_is_read_as_its_sender_wrote_it(client: TestClient) -> None:
    name = '회의록.txt"'.encode("cp949")
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="' + name
    body = head + b"\r\n\r\nThe gate is green.\r\n--x--\r\n"
    answer = client.post(
        "/api/documents", content=body, headers={"content-type": "multipart/form-data; boundary=x"}
    )
    assert name_of(answer.json()["documents"][0]["path"]) == "회의록.txt"
    kept = upload(client, ("Größe résumé.txt", b"The pump is red.")).json()["documents"][0]
    assert name_of(kept["path"]) == "Größe résumé.txt"


def test_a31_documents_are_read_and_removed_by_id_alone(client: TestClient, tmp_path: Path) -> None:
    upload(client, ("a.txt", b"The gate is green."))
    before = sorted(tmp_path.rglob("*.txt"))
    for path in ("..%2f..%2fetc", "%2e%2e", "a.txt", "1/../../x", "-1", "9" * 30):
        for answer in (
            client.delete(f"/api/documents/{path}"),
            client.get(f"/api/documents/{path}/text"),
        ):
            assert answer.status_code in (404, 405, 422)
            assert set(answer.json()) == {"error"}
    assert sorted(tmp_path.rglob("*.txt")) == before


def test_a31_members_of_archives_stay_inside_too(attest: Assistant, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with zipfile.ZipFile(folder / "box.zip", "w") as made:
        made.writestr("good/note.txt", "The gate is green.")
        for i, name in enumerate(
            ["../evil1.txt", "/etc/evil2.txt", "a/../../evil3.txt", "CON.txt"]
        ):
            made.writestr(name, f"The pump {i} is red.")
        made.writestr("..\\evil4.txt", "The winch is blue.")
    outside = _below(tmp_path, attest.settings.home)

    outcomes = {name_of(one.path): one for one in attest.add(folder)}
    assert _below(tmp_path, attest.settings.home) == outside
    assert outcomes["note.txt"].status == "added"
    assert not list(Path("/etc").glob("evil*"))
    for one in outcomes.values():
        assert one.path.startswith(str(folder / "box.zip"))
        assert one.status in ("added", "unsupported", "failed")


def test_a31_attachments_are_text_and_never_files(attest: Assistant, tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "Keys"
    message.set_content("See the attachment.")
    for i, name in enumerate(
        ["../../evil.txt", "C:\\evil.txt", "/etc/evil.txt", "..", "e\0vil.txt"]
    ):
        message.add_attachment(f"Key {i} hangs by the door.", filename=name)
    folder = write(tmp_path / "in", {})
    (folder / "keys.eml").write_bytes(message.as_bytes())
    outside = _below(tmp_path, attest.settings.home)

    (outcome,) = attest.add(folder)
    assert outcome.status == "added"
    assert _below(tmp_path, attest.settings.home) == outside
    assert "Key 0 hangs by the door." in attest.text(outcome.id or 0)
    attest.remove([outcome.id or 0])
    assert (folder / "keys.eml").exists()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a03_names_are_one_name_however_they_are_composed(
    attest: Assistant, client: TestClient, tmp_path: Path, form: Literal["NFC", "NFD"]
) -> None:
    names = ("점심메뉴_수요일.txt", "점심메뉴_목요일.txt")
    folder = write(
        tmp_path / "in",
        {
            unicodedata.normalize("NFD", names[0]): "수요일 점심은 칼국수다.",
            names[1]: "목요일 점심은 덮밥이다.",
            "저녁.txt": "저녁 점심 이야기.",
        },
    )
    attest.add(folder)
    typed = unicodedata.normalize(form, "점심메뉴*")

    found = attest.search("점심", within=Within(paths=(typed,)), mode="lexical").hits
    assert {name_of(hit.chunk.document.path) for hit in found} == set(names)
    asked = {"query": "점심", "filters": {"paths": [typed]}, "mode": "lexical"}
    assert len(client.post("/api/search", json=asked).json()["hits"]) == 2
    listed = [row["path"] for row in client.get("/api/documents").json()["documents"]]
    assert sorted(len(name_of(path)) for path in listed) == [6, 12, 12]
    (gone,) = attest.remove([unicodedata.normalize(form, names[0])])
    assert name_of(gone.path) == names[0]
    assert (folder / unicodedata.normalize("NFD", names[0])).read_text("utf-8").startswith("수요일")
    assert len(attest.documents()) == 2


_MARKUP = """# Tools <script>window.__pwn=1</script>

A hammer is <img src=x onerror="window.__pwn=2"> at the counter.
<script>window.__pwn=3</script> [how](javascript:window.__pwn=4)
<iframe srcdoc="<script>parent.__pwn=5</script>"></iframe>
It costs 500 a day.
"""


def test_a29_markup_in_a_note_is_text_in_every_answer(
    attest: Assistant, client: TestClient, tmp_path: Path
) -> None:
    done = upload(
        client,
        ("note.md", _MARKUP.encode()),
        ("<img src=x onerror=1>.txt", b"</script><script>window.__pwn=6</script> pump"),
        ("third.txt", b"The winch is blue."),
    ).json()
    assert done["summary"] == {"added": 3}
    answer = client.post("/api/search", json={"query": "hammer"})
    assert answer.headers["content-type"].startswith("application/json")
    assert "A hammer is <img" in answer.json()["hits"][0]["text"]

    page = tmp_path / "report.html"
    attest.report(page, clusters=3)
    html = page.read_text(encoding="utf-8").casefold()
    assert "hammer" in html
    for live in (
        "<script>window.__pwn",
        "<img src=x",
        "<iframe",
        'href="javascript',
        "</script><script>window",
    ):
        assert live not in html
