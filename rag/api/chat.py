"""Chat as OpenAI's clients speak it; the citations ride beside `choices`."""

import json
import time
import uuid
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from rag import shapes
from rag.api.documents import Attest
from rag.errors import AttestError, UsageError
from rag.records import Answer, AnswerMode, Exchange, Within

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
    def asked(self) -> list[str]:
        """The user's turns: earlier ones, and last the one to answer."""
        turns = [message.text for message in self.messages if message.role == "user"]
        if not turns:
            raise UsageError("messages hold no user turn to answer")
        return turns


@router.get("/models")
def models() -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "attest", "object": "model", "owned_by": "attest"}]}


@router.post("/chat/completions")
def complete(attest: Attest, request: ChatRequest) -> Response:
    """Answer the last user turn from the documents; earlier ones tell what it leaves out."""
    *earlier, question = request.asked
    pieces = attest.stream(
        question,
        mode=request.mode,
        within=Within(documents=tuple(request.documents)),
        collection=request.collection,
        sampling=request.sampling,
        seed=request.seed,
        earlier=[Exchange(turn) for turn in earlier if turn.strip()],
    )
    head = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "created": int(time.time()),
        "model": request.model,
    }
    if request.stream:
        begun = chain([next(pieces)], pieces)  # what fails at once is an error, not a stream
        return StreamingResponse(_events(head, begun), media_type="text/event-stream")
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
    keys = ("citations", "unsupported", "abstained", "mode", "kind", "query", "notes")
    return {key: whole[key] for key in keys}


def _events(head: dict[str, Any], pieces: Iterator[str | Answer]) -> Iterator[str]:
    """Server-sent events: the role, the text piece by piece, the citations, the end.

    What breaks off in the middle ends with an event that says why.
    """

    def event(delta: dict[str, str], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body = {**head, "object": "chat.completion.chunk", "choices": [choice], **more}
        return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"

    yield event({"role": "assistant", "content": ""})
    try:
        for piece in pieces:
            if isinstance(piece, Answer):
                yield event({}, piece.finish_reason, **_evidence(piece))
            elif piece:
                yield event({"content": piece})
    except AttestError as error:
        said = {
            "error": {"message": str(error), "type": "server_error", "param": None, "code": None}
        }
        yield f"data: {json.dumps(said, ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"
