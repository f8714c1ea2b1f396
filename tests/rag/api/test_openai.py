"""OpenAI's own client, and LangChain's, against a server that really listens."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient

from index.analysis import is_korean
from rag import Assistant
from rag.api import create_app
from tests.rag.api.conftest import listening

openai = pytest.importorskip("openai", reason="openai is not installed: pip install -e '.[dev]'")

QUESTION = "How long does the warranty of the lamp last?"
EXTRACT = {"mode": "extract"}


@pytest.fixture
def speaking(address: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


def numbers(embedding: Any) -> Any:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), dtype="<f4")
    return np.array(embedding, dtype=np.float32)


def asked(speaking: Any, **more: Any) -> Any:
    messages = [{"role": "user", "content": QUESTION}]
    given = {"model": "attest", "messages": messages, "extra_body": EXTRACT} | more
    return speaking.chat.completions.create(**given)


def test_its_client_is_answered_and_sees_the_citations(speaking: Any) -> None:
    said = asked(speaking, temperature=0.2, top_p=0.9, seed=3, n=1)
    (choice,) = said.choices
    assert choice.finish_reason == "stop"
    assert "24 months" in choice.message.content
    assert (said.object, said.model, said.id[:9]) == ("chat.completion", "attest", "chatcmpl-")
    cited = said.model_extra["citations"][0]
    assert choice.message.content[cited["answer_start"] : cited["answer_end"]] == cited["quote"]
    usage = said.usage
    assert usage.prompt_tokens > 0 < usage.completion_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_its_client_streams_clean_text_and_each_citation_is_an_event(speaking: Any) -> None:
    whole = asked(speaking)
    chunks = list(asked(speaking, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert deltas[0].role == "assistant"
    cited = [c.model_extra["citation"] for c in chunks if "citation" in (c.model_extra or {})]
    assert cited == whole.model_extra["citations"]
    *_, last, usage = chunks
    assert last.choices[0].finish_reason == "stop"
    assert (usage.choices, usage.usage) == ([], whole.usage)
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


def test_usage_is_streamed_only_where_it_is_wanted(speaking: Any) -> None:
    chunks = list(asked(speaking, stream=True))
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_at_so_many_tokens(speaking: Any, limit: str, stream: bool) -> None:
    whole = asked(speaking).choices[0].message.content
    said = asked(speaking, **{limit: 5}, stream=stream)
    if stream:
        chunks = list(said)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        reason, extra = chunks[-1].choices[0].finish_reason, chunks[-1].model_extra
    else:
        text, reason = said.choices[0].message.content, said.choices[0].finish_reason
        extra = said.model_extra
        assert said.usage.completion_tokens == 5
    assert whole.startswith(text)
    assert 0 < len(text) < len(whole)
    assert reason == "length"
    assert all(cited["answer_end"] <= len(text) for cited in extra["citations"])


@pytest.mark.parametrize("stop", ["months", ["never said", "24 mo"]])
def test_an_answer_ends_before_a_stop_text(speaking: Any, stop: Any) -> None:
    for stream in (False, True):
        said = asked(speaking, stop=stop, stream=stream)
        choices = [chunk.choices[0] for chunk in said] if stream else said.choices
        text = "".join(
            (choice.delta if stream else choice.message).content or "" for choice in choices
        )
        assert "warranty" in text
        assert "months" not in text
        assert choices[-1].finish_reason == "stop"


def test_a_conversation_with_system_text_and_parts(speaking: Any) -> None:
    messages = [
        {"role": "system", "content": "Answer politely."},
        {"role": "developer", "content": [{"type": "text", "text": "Be short."}]},
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "24 months."},
        {"role": "user", "content": [{"type": "text", "text": "And the batteries?"}]},
    ]
    said = asked(speaking, messages=messages)
    assert "6 months" in said.choices[0].message.content


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stream": "what"}, "stream"),
    ],
)
def test_what_cannot_be_is_an_error_object_with_its_parameter(
    speaking: Any, wrong: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        asked(speaking, **wrong)
    assert refused.value.param == param
    assert refused.value.type == "invalid_request_error"


def test_a_question_that_is_too_long_says_so_by_its_code(speaking: Any) -> None:
    messages = [{"role": "user", "content": "x" * 100_000}]
    for stream in (False, True):
        with pytest.raises(openai.APIStatusError) as refused:
            asked(speaking, messages=messages, stream=stream)
        assert refused.value.status_code == 413
        assert refused.value.code == "context_length_exceeded"


def test_a_collection_is_named_by_the_model(library: Assistant) -> None:
    file = library.settings.home / "pump.txt"
    file.write_text("The warranty of the lamp is a matter of the pump house.", encoding="utf-8")
    library.add(file, collection="pumps")
    with (
        listening(create_app(library)) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as speaking,
    ):
        names = [model.id for model in speaking.models.list()]
        assert names == ["attest", "attest:default", "attest:pumps", library.settings.encoder]
        assert speaking.models.retrieve("attest:pumps").id == "attest:pumps"
        with pytest.raises(openai.NotFoundError, match="lists those that there are"):
            speaking.models.retrieve("attest:none")
        said = asked(speaking, model="attest:pumps")
        assert "pump house" in said.choices[0].message.content
        with pytest.raises(openai.NotFoundError, match="no collection 'none'"):
            asked(speaking, model="attest:none")


def test_embeddings_are_those_of_the_library(speaking: Any, standing: Assistant) -> None:
    texts = ["the lamp", "연차는 15일"]
    embedder = standing.encoders.of("default")
    for form in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
        made = speaking.embeddings.create(model="attest", input=texts, **form)
        rows = np.array([numbers(one.embedding) for one in made.data])
        assert rows == pytest.approx(embedder.embed_documents(texts), abs=1e-6)
        assert [one.index for one in made.data] == [0, 1]
        assert made.usage.prompt_tokens == sum(map(embedder.count, texts))
    one = speaking.embeddings.create(model="attest", input=texts[0], dimensions=8)
    short = np.array(one.data[0].embedding)
    assert short.shape == (8,)
    assert np.linalg.norm(short) == pytest.approx(1, abs=1e-5)
    assert short / np.linalg.norm(short) == pytest.approx(
        rows[0, :8] / np.linalg.norm(rows[0, :8]), abs=1e-5
    )
    asking = speaking.embeddings.create(
        model="attest", input=texts[0], extra_body={"input_type": "query"}
    )
    expected = embedder.embed_queries(texts[:1])[0]
    assert np.array(asking.data[0].embedding) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"input": [[1, 2, 3]]}, "token ids"),
        ({"input": [1, 2, 3]}, "token ids"),
        ({"input": []}, "0 texts"),
        ({"input": ["a", " "]}, "an empty text"),
        ({"input": "a", "dimensions": 5000}, "must be"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
    ],
)
def test_embeddings_that_cannot_be_are_400(
    reader: TestClient, wrong: dict[str, Any], said: str
) -> None:
    answered = reader.post("/v1/embeddings", json={"model": "attest"} | wrong)
    assert answered.status_code == 400
    assert said in answered.json()["error"]["message"]


def test_a_text_over_the_encoders_limit_is_not_cut_silently(reader: TestClient) -> None:
    answered = reader.post("/v1/embeddings", json={"input": "word " * 5000})
    assert answered.status_code == 413
    assert answered.json()["error"]["code"] == "context_length_exceeded"


def test_langchain_asks_streams_and_embeds(address: str, standing: Assistant) -> None:
    langchain = pytest.importorskip(
        "langchain_openai", reason="langchain-openai is not installed: pip install -e '.[dev]'"
    )
    chat = langchain.ChatOpenAI(
        base_url=f"{address}/v1", api_key="none", model="attest", extra_body=EXTRACT
    )
    whole = chat.invoke(QUESTION)
    assert "24 months" in whole.content
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.usage_metadata["output_tokens"] > 0
    assert "".join(str(part.content) for part in chat.stream(QUESTION)) == whole.content
    embeddings = langchain.OpenAIEmbeddings(
        base_url=f"{address}/v1",
        api_key="none",
        model="attest",
        check_embedding_ctx_length=False,
    )
    row = np.array(embeddings.embed_query("the lamp"), dtype=np.float32)
    expected = standing.encoders.of("default").embed_documents(["the lamp"])[0]
    assert row == pytest.approx(expected, abs=1e-6)


def test_every_event_of_a_stream_is_whole_json(address: str) -> None:
    body = {"messages": [{"role": "user", "content": "연차는 며칠인가?"}], "stream": True} | EXTRACT
    with httpx.stream("POST", f"{address}/v1/chat/completions", json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
    assert text
    assert is_korean(text)
