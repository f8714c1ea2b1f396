"""The tools at /mcp, by the protocol's own client over HTTP."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from index.keys import Keys
from rag import Assistant
from rag.access import new_key
from rag.api import create_app
from tests.rag.api.conftest import listening

QUESTION = "How long does the warranty of the lamp last?"


def talked(address: str, said: Callable[[Client], Awaitable[Any]], key: str | None = None) -> Any:
    async def talk() -> Any:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{address}/mcp", http_client=http)
            async with Client(transport) as client:
                return await said(client)

    return anyio.run(talk)


def called(address: str, tool: str, key: str | None = None, **arguments: Any) -> Any:
    return talked(address, lambda client: client.call_tool(tool, arguments), key)


def test_the_tools_are_listed_with_what_they_are_for(address: str) -> None:
    listed = talked(address, lambda client: client.list_tools())
    assert [tool.name for tool in listed.tools] == ["search", "ask", "similar", "add"]
    assert all(tool.description for tool in listed.tools)
    assert "context" not in str(listed.tools[0].input_schema["properties"])


def test_passages_are_found(address: str, standing: Assistant) -> None:
    found = called(address, "search", query="warranty of the lamp", k=2)
    assert not found.is_error
    hits = found.structured_content["hits"]
    expected = standing.search("warranty of the lamp", k=2).hits
    assert [hit["chunk_id"] for hit in hits] == [hit.chunk.id for hit in expected]


def test_a_question_is_answered_with_quotations(address: str) -> None:
    answer = called(address, "ask", question=QUESTION, mode="extract").structured_content
    assert "24 months" in answer["answer"]
    assert answer["citations"][0]["quote"] in answer["answer"]


def test_documents_like_one_and_like_a_text(address: str, standing: Assistant) -> None:
    lamp = standing.find("warranty.md").id
    like = called(address, "similar", document=str(lamp), k=3).structured_content
    assert lamp not in [hit["document"]["id"] for hit in like["hits"]]
    hours = standing.find("hours.txt").id
    first = called(address, "similar", text=standing.text(hours), k=1).structured_content
    assert first["hits"][0]["document"]["id"] == hours


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {"query": " "}, "the question is empty"),
        ("search", {"query": "a", "collection": "none"}, "no collection 'none'"),
        ("similar", {}, "either document or text"),
        ("similar", {"document": "/etc/passwd"}, "no document '/etc/passwd'"),
    ],
)
def test_what_cannot_be_is_told_to_the_model(
    address: str, tool: str, arguments: dict[str, Any], said: str
) -> None:
    refused = called(address, tool, **arguments)
    assert refused.is_error
    assert said in refused.content[0].text


def test_a_text_is_added_by_those_who_may_write(library: Assistant) -> None:
    keys = Keys(library.catalog.database)
    _, reads = new_key(keys, "reads")
    _, writes = new_key(keys, "writes", access="write")
    given = {"name": "../gate", "text": "The gate is green."}
    with listening(create_app(library)) as address:
        refused = called(address, "add", reads, **given)
        assert refused.is_error
        assert "may only read" in refused.content[0].text
        done = called(address, "add", writes, **given).structured_content
    assert done["summary"] == {"added": 1}
    assert library.text(done["documents"][0]["id"]) == "The gate is green."
    assert done["documents"][0]["path"].startswith(str(library.settings.home))
