"""Chat as OpenAI's clients speak it; the citations ride beside `choices`."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from rag import shapes
from rag.api.documents import Attest
from rag.errors import UsageError
from rag.records import Answer, AnswerMode, Within

if TYPE_CHECKING:
    from generator import Sampling

router = APIRouter(prefix="/v1", tags=["chat"])


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content)


class ChatRequest(BaseModel):
    """What OpenAI's clients send; what does not apply here is passed over."""

    messages: list[Message] = Field(min_length=1)
    model: str = "attest"
    stream: bool = False
    mode: AnswerMode = "auto"
    collection: str | None = None
    documents: list[int | str] = []
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    stop: str | list[str] | None = None
    seed: int = 0

    @property
    def sampling(self) -> "Sampling":
        from generator import Sampling

        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return Sampling(
            max_tokens=self.max_completion_tokens or self.max_tokens or 200,
            temperature=self.temperature,
            top_p=self.top_p,
            repetition_penalty=1.1,
            stop=tuple(filter(None, stop)),
        )

    @property
    def question(self) -> str:
        """The last user turn."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        raise UsageError("messages hold no user turn to answer")


@router.get("/models")
def models() -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "attest", "object": "model", "owned_by": "attest"}]}


@router.post("/chat/completions")
def complete(attest: Attest, request: ChatRequest) -> Response:
    """Answer the last user turn from the documents."""
    pieces = attest.stream(
        request.question,
        mode=request.mode,
        within=Within(documents=tuple(request.documents)),
        collection=request.collection,
        sampling=request.sampling,
        seed=request.seed,
    )
    head = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "created": int(time.time()),
        "model": request.model,
    }
    if request.stream:
        return StreamingResponse(_events(head, pieces), media_type="text/event-stream")
    *_, answer = pieces
    assert isinstance(answer, Answer)
    return JSONResponse(_completion(head, answer))


def _completion(head: dict[str, Any], answer: Answer) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.answer},
        "finish_reason": answer.finish_reason,
    }
    return {**head, "object": "chat.completion", "choices": [choice], **_evidence(answer)}


def _evidence(answer: Answer) -> dict[str, Any]:
    whole = shapes.answer(answer)
    return {key: whole[key] for key in ("citations", "unsupported", "abstained", "mode", "notes")}


def _events(head: dict[str, Any], pieces: Iterator[str | Answer]) -> Iterator[str]:
    """Server-sent events: the role, the text piece by piece, the citations, the end."""

    def event(delta: dict[str, str], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body = {**head, "object": "chat.completion.chunk", "choices": [choice], **more}
        return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"

    yield event({"role": "assistant", "content": ""})
    for piece in pieces:
        if isinstance(piece, Answer):
            yield event({}, piece.finish_reason, **_evidence(piece))
        elif piece:
            yield event({"content": piece})
    yield "data: [DONE]\n\n"
