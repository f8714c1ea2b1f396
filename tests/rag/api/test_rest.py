"""Collections, likeness, reports, jobs, the documentation page, metrics and the log."""

import json
import logging
import re
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rag import Assistant
from rag.api import create_app
from rag.logs import Lines
from tests.rag.api.conftest import HERE


def ended(client: TestClient, job: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while job["status"] in ("waiting", "running") and time.monotonic() < deadline:
        time.sleep(0.05)
        job = client.get(f"/api/jobs/{job['id']}").json()
    return job


def test_collections_are_listed_weighed_and_dropped(client: TestClient, library: Assistant) -> None:
    listed = client.get("/api/collections").json()
    (row,) = listed["collections"]
    assert (row["name"], row["documents"], listed["default"]) == ("default", 3, "default")
    weighed = client.patch("/api/collections/default", json={"fusion_weight": 0.25})
    assert weighed.json()["fusion_weight"] == 0.25
    assert client.patch("/api/collections/default", json={"fusion_weight": 2}).status_code == 422
    shown = client.get("/api/collections/default").json()
    assert shown["documents"] == {"indexed": 3}
    assert str(library.settings.home) not in json.dumps(shown)
    kept = client.post("/api/documents", files={"files": ("note.txt", b"A gate.")})
    file = kept.json()["documents"][0]["path"]
    assert client.delete("/api/collections/default").json() == {"removed": 4}
    assert client.get("/api/collections/default").status_code == 404
    assert client.get("/api/documents").json() == {"documents": []}
    assert not library.settings.home.joinpath(file).exists()
    again = client.post("/api/documents", files={"files": ("note.txt", b"A gate.")})
    assert again.json()["summary"] == {"added": 1}
    assert client.post("/api/search", json={"query": "gate"}).json()["hits"]


def test_documents_like_one_like_a_text_and_like_a_file(
    reader: TestClient, standing: Assistant
) -> None:
    lamp = standing.find("warranty.md").id
    like = reader.post("/api/similar", json={"document": lamp, "k": 3}).json()
    assert len(like["hits"]) == 2
    assert like["hits"][0]["aligned"]
    assert lamp not in [hit["document"]["id"] for hit in like["hits"]]
    by_name = reader.post("/api/similar", json={"document": "warranty.md", "k": 3}).json()
    assert by_name["hits"] == like["hits"]
    hours = standing.find("hours.txt").id
    text = standing.text(hours)
    found = reader.post("/api/similar", json={"text": text, "k": 1}).json()
    assert found["hits"][0]["document"]["id"] == hours
    sent = {"file": ("../hours.txt", text.encode())}
    filed = reader.post("/api/similar/file", files=sent, params={"k": 1}).json()
    assert filed["hits"][0]["document"]["id"] == hours
    assert len(standing.documents()) == 3
    assert not (standing.settings.home / "uploads").exists()


def test_collections_are_made_and_renamed(client: TestClient, library: Assistant) -> None:
    made = client.post("/api/collections", json={"name": " 계약서 "})
    assert (made.status_code, made.json()["collection"]) == (201, "계약서")
    assert made.json()["documents"] == {}
    assert str(library.settings.home) not in made.text
    again = client.post("/api/collections", json={"name": "계약서"})
    assert (again.status_code, "already" in again.text) == (409, True)
    for name in ("", "a\nb", "x" * 256):
        assert client.post("/api/collections", json={"name": name}).status_code == 422

    both = {"name": "contracts", "fusion_weight": 0.25}
    named = client.patch("/api/collections/계약서", json=both).json()
    assert (named["collection"], named["fusion_weight"]) == ("contracts", 0.25)
    assert client.get("/api/collections/계약서").status_code == 404
    assert client.patch("/api/collections/contracts", json={}).status_code == 422
    taken = client.patch("/api/collections/contracts", json={"name": "default"})
    assert taken.status_code == 409
    assert client.patch("/api/collections/none", json={"name": "a"}).status_code == 404
    rows = client.get("/api/collections").json()["collections"]
    assert [row["name"] for row in rows] == ["contracts", "default"]


def test_a_collection_is_reached_by_a_name_with_slashes(client: TestClient) -> None:
    client.post("/api/collections", json={"name": "team/a"})
    assert client.get("/api/collections/team/a").json()["collection"] == "team/a"
    assert client.patch("/api/collections/team%2Fa", json={"name": "b/"}).status_code == 200
    assert client.delete("/api/collections/b/").json() == {"removed": 0}
    assert client.get("/api/collections/").status_code == 422  # no name


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "a\nb", "x" * 256])
def test_a_name_that_no_collection_can_have_makes_none(reader: TestClient, name: str) -> None:
    sent = reader.post(
        "/api/documents", params={"collection": name}, files={"files": ("a.txt", b"A.")}
    )
    assert sent.status_code == 422
    assert len(reader.get("/api/collections").json()["collections"]) == 1


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"document": "/etc/passwd"}, 404),
        ({"document": "warranty.md", "text": "a"}, 422),
        ({}, 422),
        ({"text": " \n"}, 422),
        ({"document": 2**70}, 404),
    ],
)
def test_likeness_that_cannot_be_is_told(
    reader: TestClient, asked: dict[str, Any], status: int
) -> None:
    """A file of the machine is none of the service's, whoever names it."""
    answered = reader.post("/api/similar", json=asked)
    assert answered.status_code == status
    assert answered.json()["error"]["message"]


def test_a_report_comes_at_once_or_as_a_job_with_its_page(
    client: TestClient, library: Assistant
) -> None:
    made = client.post("/api/report", json={"clusters": 2}).json()
    assert made["n_documents"] == 3
    job = client.post("/api/report", json={"clusters": 2, "background": True})
    assert job.status_code == 202
    done = ended(client, job.json())
    assert done["status"] == "done", done
    assert done["result"]["n_clusters"] == made["n_clusters"]
    page = client.get(done["result"]["html"])
    assert page.status_code == 200
    assert "sandbox" in page.headers["content-security-policy"]
    assert page.text.lstrip().lower().startswith("<!doctype html")
    kept = library.settings.home / "reports" / f"{done['id']}.html"
    assert kept.is_file()
    client.delete("/api/collections/default")  # nothing goes on naming what was removed
    assert not kept.exists()
    assert client.get("/api/jobs").json() == {"jobs": []}


def test_questions_are_put_to_every_document(client: TestClient) -> None:
    asked = {"questions": ["How long does the warranty last?", "연차는 며칠인가?"]}
    put = client.post("/api/every", json=asked)
    assert put.status_code == 202
    done = ended(client, put.json())
    assert (done["status"], done["done"], done["total"]) == ("done", 6, 6), done
    assert done["result"]["questions"] == asked["questions"]
    one = asked | {"filters": {"documents": ["hours.txt"]}}
    assert ended(client, client.post("/api/every", json=one).json())["total"] == 2
    assert client.post("/api/every", json={"questions": [" "]}).status_code == 422
    wrong = {"questions": ["a"], "filters": {"documents": ["none.txt"]}}
    assert client.post("/api/every", json=wrong).status_code == 404


def test_files_are_read_in_the_background(client: TestClient, library: Assistant) -> None:
    files = [
        ("files", ("문.txt", "문은 초록색이다.".encode())),
        ("files", ("junk.pdf", b"%PDF-1.4 no")),
    ]
    put = client.post("/api/documents", files=files, params={"background": True, "tags": "new"})
    assert put.status_code == 202
    assert put.json()["kind"] == "add"
    done = ended(client, put.json())
    assert (done["status"], done["done"], done["total"]) == ("done", 2, 2)
    assert done["result"]["summary"] == {"added": 1, "failed": 1}
    assert library.find("문.txt").tags == ("new",)
    kept = [file.name for file in (library.settings.home / "uploads").glob("*/*")]
    assert kept == ["문.txt"]  # what cannot be read is not kept
    assert client.get("/api/jobs").json()["jobs"][0] == done
    assert client.delete(f"/api/jobs/{done['id']}").json()["status"] == "done"
    assert client.get("/api/jobs/99").status_code == 404
    assert client.get(f"/api/jobs/{done['id']}/report.html").status_code == 404


def test_a_tag_that_cannot_be_is_told_before_the_job(client: TestClient) -> None:
    files = {"files": ("a.txt", b"A gate.")}
    put = client.post("/api/documents", files=files, params={"background": True, "tags": "#"})
    assert put.status_code == 422


def test_the_documentation_is_whole_from_this_machine(reader: TestClient) -> None:
    page = reader.get("/docs").text
    addresses = re.findall(r"(?:src|href|url)\s*[=:]\s*[\"']([^\"']+)", page)
    assert addresses
    assert all(address.startswith("/") for address in addresses), addresses
    for address in addresses:
        assert reader.get(address).status_code == 200, address
    assert reader.get("/docs/secrets.txt").status_code == 404
    schema = reader.get("/openapi.json").json()
    for path in ("/api/search", "/api/jobs/{job_id}", "/v1/chat/completions", "/api/report"):
        assert path in schema["paths"]
    assert "HTTPBearer" in schema["components"]["securitySchemes"]


def test_prometheus_reads_requests_and_documents(reader: TestClient) -> None:
    reader.post("/api/search", json={"query": "lamp"})
    reader.get("/api/documents/99/text")
    text = reader.get("/metrics").text
    assert re.search(
        r'attest_requests_total\{method="POST",route="/api/search",status="200"\} \d', text
    )
    assert 'route="/api/documents/{document_id}/text",status="404"' in text
    assert 'attest_documents{collection="default",status="indexed"} 3.0' in text
    assert "attest_desk_waiting 0.0" in text
    assert 'attest_request_seconds_bucket{le="0.3",route="/api/search"}' in text


def test_the_service_is_ready_once_its_models_are(library: Assistant) -> None:
    app = create_app(library)
    with TestClient(app, base_url=HERE) as client:
        assert client.get("/ready").status_code == 503
        app.state.warm.set()
        assert client.get("/ready").json() == {"status": "ready"}


def test_a_request_has_a_number_and_leaves_no_question_in_the_log(
    reader: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answered = reader.post(
        "/api/search", json={"query": "warranty of the lamp"}, headers={"x-request-id": "abc-1"}
    )
    assert answered.headers["x-request-id"] == "abc-1"
    reader.post("/v1/chat/completions", json={"messages": [
        {"role": "user", "content": "the secret warranty"}], "mode": "extract"})  # fmt: skip
    reader.get("/api/documents/77/text?collection=secret")
    bad = reader.get("/health", headers={"x-request-id": "two\tparts"})
    assert re.fullmatch(r"[0-9a-f]{16}", bad.headers["x-request-id"])
    ours = [record for record in caplog.records if not record.name.startswith("httpx")]
    lines = [json.loads(Lines().format(record)) for record in ours]
    said = [line for line in lines if line["message"] == "answered"]
    assert (said[0]["route"], said[0]["status"], said[0]["method"]) == ("/api/search", 200, "POST")
    assert said[0]["ms"] > 0
    assert "/api/documents/{document_id}/text" in [line["route"] for line in said]
    assert "/health" not in [line["route"] for line in said]
    assert "warranty" not in json.dumps(lines)
    assert "secret" not in json.dumps(lines)


def test_a_fault_is_500_without_its_text_and_stands_in_the_log(
    library: Assistant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a table of secrets")

    monkeypatch.setattr(library, "documents", fail)
    app = create_app(library)
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as client:
        answered = client.get("/api/documents")
    assert answered.status_code == 500
    assert "secrets" not in answered.text
    assert answered.json()["error"]["type"] == "server_error"
