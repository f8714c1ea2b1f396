"""Chat as OpenAI's clients speak it; the citations ride beside `choices`."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from rag.api.asking import Attest, Place, the_desk
from rag.api.chat_request import ChatRequest
from rag.api.chat_text import Told
from rag.api.desk import Desk, EventStream, Put, unless_gone
from rag.api.errors import error_body
from rag.api.tokens import Counter
from rag.errors import AttestError
from rag.records import Answer, Exchange, Within

router = APIRouter(prefix="/v1", tags=["OpenAI"])

Begin = Callable[[], Iterator[str | Answer]]


@router.post("/chat/completions")
async def complete(attest: Attest, place: Place, request: ChatRequest, http: Request) -> Response:
    """Answer the last user turn from the documents; earlier ones tell what it leaves out.

    `model` is `attest`, or `attest:NAME` for the collection NAME. With `stream`, events come as
    OpenAI sends them; each citation is an event of its own, behind the text.
    """
    request.check()
    *earlier, question = request.asked
    collection = place(request.place)
    chat = _Chat(request, Counter(attest, collection))

    def begin() -> Iterator[str | Answer]:
        pieces = attest.stream(  # first, for it refuses what cannot be asked
            question,
            mode=request.mode,
            within=Within(documents=tuple(request.documents)),
            collection=collection,
            sampling=request.sampling,
            seed=request.seed or 0,
            earlier=[Exchange(turn) for turn in earlier if turn.strip()],
        )
        chat.count()
        return pieces

    if request.stream:
        return EventStream(partial(chat.stream, the_desk(http), begin), _said)
    return await unless_gone(http.receive, partial(chat.whole, the_desk(http), begin))


class _Chat:
    """One answer on its way to a client."""

    def __init__(self, request: ChatRequest, counter: Counter) -> None:
        self._request = request
        self._counter = counter
        self._prompt_tokens = 0
        self._told = Told(request.stops, request.most_tokens, counter.ends)
        self._usage_wanted = bool(request.stream_options and request.stream_options.include_usage)
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": request.model,
        }

    def count(self) -> None:
        """Count what was sent, in the thread of the work: it may be long."""
        self._counter.load()
        self._prompt_tokens = sum(self._counter(said.text) for said in self._request.messages)

    async def whole(self, desk: Desk, begin: Begin) -> Response:
        answers: list[Answer] = []

        def take(piece: str | Answer) -> None:
            if isinstance(piece, Answer):
                answers.append(piece)
            else:
                self._told.push(piece)

        await desk.do(begin, take)
        self._told.end()
        (answer,) = answers
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self._told.text, "refusal": None},
            "logprobs": None,
            "finish_reason": self._told.finish_reason(answer),
        }
        body = {**self._head, "object": "chat.completion", "choices": [choice]}
        return JSONResponse(body | {"usage": self._usage()} | self._told.evidence(answer))

    async def stream(self, desk: Desk, begin: Begin, put: Put) -> None:
        """The role, the text piece by piece, the citations, the end, and the usage if wanted."""
        begun = False

        def take(piece: str | Answer) -> None:
            nonlocal begun
            if not begun:
                begun = True
                put(self._event({"role": "assistant", "content": ""}))
            if isinstance(piece, Answer):
                self._close(piece, put)
            elif told := self._told.push(piece):
                put(self._event({"content": told}))

        await desk.do(begin, take)
        put("data: [DONE]\n\n")

    def _close(self, answer: Answer, put: Put) -> None:
        if rest := self._told.end():
            put(self._event({"content": rest}))
        evidence = self._told.evidence(answer)
        for citation in evidence["citations"]:
            put(self._event({}, citation=citation))
        put(self._event({}, self._told.finish_reason(answer), **evidence))
        if self._usage_wanted:
            put(self._chunk([], usage=self._usage()))

    def _event(self, delta: dict[str, str], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        if self._usage_wanted:
            more = {"usage": None, **more}
        return self._chunk([choice], **more)

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> str:
        return _event({**self._head, "object": "chat.completion.chunk", "choices": choices, **more})

    def _usage(self) -> dict[str, int]:
        completion = self._counter(self._told.text)
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self._prompt_tokens + completion,
        }


def _said(error: Exception) -> str | None:
    """What breaks off in the middle ends with an event that says why."""
    if not isinstance(error, AttestError):
        return None
    return _event(error_body(max(500, error.http_status), str(error))) + "data: [DONE]\n\n"


def _event(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
