"""What OpenAI's clients send to have a chat answered."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from rag.api.errors import BadRequest
from rag.records import AnswerMode

if TYPE_CHECKING:
    from generator import Sampling

NAME = "attest"  # of the model; attest:NAME answers from the collection NAME


def whole(text: str) -> str:
    """Without halves of letters, which JSON can hold and nothing can encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None  # null where an assistant called tools

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return whole("".join(part.text for part in self.content))
        return whole(self.content or "")


class StreamOptions(BaseModel):
    include_usage: bool = False


class ResponseFormat(BaseModel):
    type: str


class ChatRequest(BaseModel):
    """What does not apply here is passed over; what would change the answer's form is refused."""

    messages: list[Message] = Field(min_length=1)
    model: str = NAME
    stream: bool = False
    stream_options: StreamOptions | None = None
    mode: AnswerMode = "auto"
    collection: str | None = None
    documents: list[int | str] = Field(default=[], max_length=1000)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    stop: str | Annotated[list[str], Field(max_length=16)] | None = None
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    n: int | None = Field(default=None, ge=1)
    logprobs: bool | None = None
    response_format: ResponseFormat | None = None
    tool_choice: Any = None

    def check(self) -> None:
        """
        Raises:
            BadRequest: something is asked for that an answer from documents cannot have.
        """
        if self.n not in (None, 1):
            raise BadRequest(f"n ({self.n}) must be 1: a question has one answer here", "n")
        if self.logprobs:
            raise BadRequest("logprobs are not given: leave them out", "logprobs")
        if self.response_format is not None and self.response_format.type != "text":
            raise BadRequest(
                f"response_format {self.response_format.type!r} is not written, only text",
                "response_format",
            )
        if self.tool_choice not in (None, "none", "auto"):
            raise BadRequest("no tools are called here: leave tool_choice out", "tool_choice")

    @property
    def most_tokens(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> list[str]:
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return list(filter(None, stops))

    @property
    def sampling(self) -> "Sampling | None":
        """How the generator writes; None leaves it to the mode."""
        given = (self.most_tokens, self.temperature, self.top_p, self.stop)
        if given == (None, None, None, None):
            return None
        from generator import Sampling

        return Sampling(
            max_tokens=self.most_tokens or 200,
            temperature=self.temperature or 0.0,
            top_p=self.top_p or 1.0,
            repetition_penalty=1.1,
            stop=tuple(self.stops),
        )

    @property
    def asked(self) -> list[str]:
        """The user's turns: earlier ones, and last the one to answer.

        Raises:
            BadRequest: there is none.
        """
        turns = [message.text for message in self.messages if message.role == "user"]
        if not turns:
            raise BadRequest("messages hold no user turn to answer: add one", "messages")
        return turns

    @property
    def place(self) -> str | None:
        """The collection that is named, as a field or behind the model's name."""
        head, _, name = self.model.partition(":")
        return self.collection or (name if head == NAME and name else None)
