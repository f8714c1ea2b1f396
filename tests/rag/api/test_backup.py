"""What a backup brings back, and what it does not give away."""

import sqlite3
from contextlib import closing
from pathlib import Path

from fastapi.testclient import TestClient

from index.keys import Keys
from rag import Assistant, Settings
from rag.access import new_key, set_password
from rag.api import create_app
from rag.jobs import Worker
from rag.work import KINDS
from tests.rag.api.conftest import HERE

QUERY = {"query": "warranty of the lamp", "k": 3}


def found(home: Assistant) -> list[tuple[str, str]]:
    hits = home.search(QUERY["query"], k=3).hits
    return [(hit.chunk.document.title, hit.chunk.text) for hit in hits]


def test_an_archive_of_a_library_that_is_served_brings_back_its_documents_and_no_secrets(
    library: Assistant, settings: Settings, tmp_path: Path
) -> None:
    keys = Keys(library.catalog.database)
    _, text = new_key(keys, "script", access="write")
    set_password(keys, "correct horse")
    Worker(library, KINDS).put("report", "default", {"clusters": None})
    with TestClient(create_app(library), base_url=HERE) as client:
        client.headers["authorization"] = f"Bearer {text}"
        sent = {"files": ("note.txt", "문은 초록색이다.".encode())}
        assert client.post("/api/documents", files=sent).status_code == 200
        library.export(tmp_path / "backup.zip")
        expected = found(library)
    other = settings.model_copy(update={"home": tmp_path / "restored"})
    with Assistant.open(other) as restored:
        restored.import_archive(tmp_path / "backup.zip")
        assert found(restored) == expected
        assert restored.text("note.txt") == "문은 초록색이다."
        assert restored.find("note.txt").path.startswith(str(other.home))
        assert restored.verify().problems == ()
        kept = Keys(restored.catalog.database)
        assert (kept.all(), kept.password()) == ([], None)
        assert Worker(restored, KINDS).jobs.all() == []


def test_a_copy_of_the_database_alone_is_enough(
    library: Assistant, settings: Settings, tmp_path: Path
) -> None:
    """Taken while a server runs; indexes are made again, keys go on opening."""
    _, text = new_key(Keys(library.catalog.database), "script")
    other = settings.model_copy(update={"home": tmp_path / "restored"})
    other.home.mkdir()
    with (
        closing(sqlite3.connect(library.settings.home / "attest.db")) as source,
        closing(sqlite3.connect(other.home / "attest.db")) as target,
    ):
        source.backup(target)
    expected = found(library)
    with Assistant.open(other) as restored:
        assert found(restored) == expected
        assert Keys(restored.catalog.database).of(text) is not None
