"""Requests made from the OpenAPI description itself: none of them is a fault of the server's."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as configured
from hypothesis import strategies as st

from rag import Assistant, Settings
from rag.api import create_app
from tests.rag.api.conftest import HERE

schemathesis = pytest.importorskip(
    "schemathesis", reason="schemathesis is not installed: pip install -e '.[dev]'"
)

_EXAMPLES = 6  # of each operation
_SLOW = ("/api/documents", "/api/similar/file")  # these start processes that read files


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """No generator is there, on any machine: what needs one says so."""
    return settings.model_copy(update={"models_dir": tmp_path / "none"})


@pytest.mark.parametrize("reading_only", [True, False])
def test_no_request_is_answered_by_a_fault(library: Assistant, reading_only: bool) -> None:
    app = create_app(library)
    app.state.warm.set()
    schema = schemathesis.openapi.from_dict(app.openapi())
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as client:
        seen = 0
        for result in schema.get_all_operations():
            operation = result.ok()
            changes = operation.method.upper() not in ("GET", "HEAD")
            if changes is reading_only:
                continue
            seen += 1
            _ask(client, operation)
    assert seen > 8


def _ask(client: TestClient, operation: object) -> None:
    few = 2 if operation.path in _SLOW and operation.method == "post" else _EXAMPLES  # type: ignore[attr-defined]

    @configured(
        max_examples=few,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy())  # type: ignore[attr-defined]
        sent = case.as_transport_kwargs(base_url=HERE)
        client.cookies.update(sent.pop("cookies", None) or {})
        if isinstance(sent.get("data"), bytes | str):  # as this client calls it
            sent["content"] = sent.pop("data")
        response = client.request(**sent)
        no_model = response.status_code == 503 and "attest models pull" in response.text
        assert response.status_code < 500 or no_model, (sent, response.text)

    ask()
