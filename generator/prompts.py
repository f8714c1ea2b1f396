"""Messages to token ids, by the model's own chat template.

A template is somebody else's program: it runs sandboxed, and never sees what a message says. It
gets a mark in place of each text, and the texts are put in afterwards. So only the template can
write special tokens; `<|im_start|>` in a message or document is plain text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from generator.chat import ChatFormat
from generator.errors import PromptError
from transformer.errors import CheckpointError, LengthError
from transformer.tokenizer import Tokenizer

Role = Literal["system", "user", "assistant"]

# For models that bring no template; any model of text understands it.
_PLAIN = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ message.role | capitalize }}: {{ message.content }}\n\n"
    "{% endfor %}Assistant:"
)
_PLAIN_NOTICE = (
    "the model has no chat template; prompts are written as 'System: …', 'User: …', 'Assistant:'"
)
_PLAIN_STOPS = ("\n\nUser:", "\n\nSystem:")  # no token ends a turn: the next one does
_MARK = re.compile("\ue000([0-9]+)\ue001")  # private-use characters, which templates do not write


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise ValueError(f"role {self.role!r} must be system, user or assistant")


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the prompt, written by the template or by a message."""

    text: str
    trusted: bool


class Prompts:
    """Writes the prompts of one model.

    Attributes:
        notice: what a user should know about the form of the prompts; None where it is the
            model's own
        stops: texts that end an answer besides the model's end tokens

    Raises:
        CheckpointError: the template is not Jinja.
    """

    def __init__(self, chat: ChatFormat, tokenizer: Tokenizer) -> None:
        self._chat = chat
        self._tokenizer = tokenizer
        self._specials = tokenizer.special_tokens()
        self._special = _any_of(self._specials)
        plain = chat.template is None
        self.notice = _PLAIN_NOTICE if plain else None
        self.stops = _PLAIN_STOPS if plain else ()
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals.update(raise_exception=_refuse, strftime_now=_now)
        try:
            self._template = environment.from_string(chat.template or _PLAIN)
        except Exception as error:  # also of Python's own compiler, for what is nested too deep
            raise CheckpointError(f"the model's chat template is not readable: {error}") from None

    def text(self, messages: Sequence[Message]) -> str:
        """The prompt as a text, up to where the assistant begins to speak.

        Raises:
            PromptError: the template fails, or leaves out what a message says.
        """
        return "".join(part.text for part in self._parts(messages))

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """The prompt as token ids, special tokens read in the template's own text alone.

        Raises:
            PromptError: as `text`.
        """
        parts = self._parts(messages)
        text = "".join(part.text for part in parts)
        own = self._own_specials(parts)
        if own == [match.span() for match in self._special.finditer(text)]:
            return self._tokenizer.encode(text, specials=True)
        # Somebody wrote a special token into a message: cut at the template's, join all else.
        ids: list[int] = []
        start = 0
        for begin, end in own:
            ids += self._tokenizer.encode(text[start:begin])
            ids.append(self._specials[text[begin:end]])
            start = end
        return ids + self._tokenizer.encode(text[start:])

    def _own_specials(self, parts: Sequence[_Part]) -> list[tuple[int, int]]:
        """Where in the whole text the template's special tokens stand."""
        spans, offset = [], 0
        for part in parts:
            if part.trusted:
                found = self._special.finditer(part.text)
                spans += [(offset + match.start(), offset + match.end()) for match in found]
            offset += len(part.text)
        return spans

    def _parts(self, messages: Sequence[Message]) -> list[_Part]:
        if not messages:
            raise PromptError("there is no message to answer; give at least one")
        try:
            return self._rendered(messages)
        except PromptError:
            folded = _without_system(messages)
            if folded is None:
                raise
            return self._rendered(folded)  # the model was trained without a system role

    def _rendered(self, messages: Sequence[Message]) -> list[_Part]:
        texts = [message.content.strip() for message in messages]
        given = [
            {"role": message.role, "content": _marked(message.content, i)}
            for i, message in enumerate(messages)
        ]
        pieces = _MARK.split(self._run(given))  # text, number, text, number, …, text
        used = {int(number) for number in pieces[1::2]}
        said = {i for i, text in enumerate(texts) if text}
        if used - said:
            raise PromptError("the model's chat template writes characters of its own private use")
        for i in sorted(said - used):
            raise PromptError(
                f"the model's chat template leaves out message {i + 1} ({messages[i].role}); "
                "another order of roles may help"
            )
        parts = [
            _Part(texts[int(piece)] if i % 2 else piece, trusted=i % 2 == 0)
            for i, piece in enumerate(pieces)
        ]
        return [part for part in parts if part.text]

    def _run(self, messages: list[dict[str, str]]) -> str:
        try:
            return self._template.render(
                messages=messages,
                add_generation_prompt=True,
                bos_token=self._chat.bos,
                eos_token=self._chat.eos,
                enable_thinking=False,  # an answer is wanted, not minutes of reasoning before it
            )
        except Exception as error:  # a template can raise whatever Python can
            raise PromptError(f"the model's chat template fails: {error}") from None


def grounded(system: str, question: str, passages: Sequence[str]) -> tuple[Message, ...]:
    """A question with the passages to answer it from, all data within the user's turn."""
    return Message("system", system), Message("user", "\n\n".join([*passages, question]))


def fit(passages: int, count: Callable[[int], int], limit: int) -> int:
    """How many of the best passages a prompt has room for; whole ones, the lowest-ranked go first.

    Args:
        passages: how many there are, best first
        count: tokens of the prompt with the first n of them; grows with n
        limit: tokens that the prompt may take

    Raises:
        LengthError: the prompt is too long without any passage.
    """
    if (bare := count(0)) > limit:
        raise LengthError(
            f"the prompt takes {bare} tokens without any passage and {limit} are left for it; "
            "shorten the question",
            tokens=bare,
            limit=limit,
        )
    kept, over = 0, passages + 1
    while over - kept > 1:
        middle = (kept + over) // 2
        kept, over = (middle, over) if count(middle) <= limit else (kept, middle)
    return kept


def _marked(content: str, number: int) -> str:
    """A mark for what a message says, within the message's own outer white space.

    So a template that trims does, and one that asks whether there is text gets the right answer.
    """
    stripped = content.strip()
    return content.replace(stripped, f"\ue000{number}\ue001", 1) if stripped else content


def _without_system(messages: Sequence[Message]) -> list[Message] | None:
    """The system's words at the head of the first user turn; None where there are none."""
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not system or not rest or rest[0].role != "user":
        return None
    return [Message("user", "\n\n".join([*system, rest[0].content])), *rest[1:]]


def _any_of(tokens: Sequence[str] | dict[str, int]) -> re.Pattern[str]:
    longest_first = sorted(filter(None, tokens), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _refuse(message: str) -> Any:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().astimezone().strftime(form)
