"""A generator elsewhere: any engine that speaks OpenAI's chat completions, by its address.

Nothing but the question, the passages and how to write goes there, and only there: no redirect is
followed, no proxy of the environment is used, and no address but the given one is ever asked.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from rag.errors import EngineError, TooLong, UsageError

if TYPE_CHECKING:
    import httpx
    import torch

    from generator import Message, Sampling
    from generator.writer import Fitted

CONTEXT = 4096  # tokens that an engine is taken to have room for
_CONNECT_S = 5.0
_SILENCE_S = 120.0  # between two pieces: a large model reads its prompt for long
_WHOLE_S = 600.0  # for an answer
_LETTERS = 24  # characters that a token stands for at most: what says more than asked is cut
_SHOWN = 200  # characters of an engine's own message


def engine_address(url: str) -> str:
    """The address before `/chat/completions`, whatever of it was given.

    Raises:
        ValueError: it is none, or holds a password.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no address of an engine: write http://127.0.0.1:11434/v1")
    if parts.username or parts.password:
        raise ValueError("an address holds no user or password: give a key as generator_key")
    if parts.query or parts.fragment:
        raise ValueError(f"{url!r}: write the address without what stands behind ? or #")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", "", ""))


class RemoteWriter:
    """Writes by an engine elsewhere; speaks as `generator.Writer` does.

    Args:
        url: of the engine, as `engine_address` gives it
        model: by the engine's own name; None takes the only one that it has
        key: that it wants to see, if it does
    """

    context = CONTEXT
    grounded = False  # whatever it was taught, it was not our form

    def __init__(self, url: str, model: str | None = None, key: str | None = None) -> None:
        self.url = engine_address(url)
        self._model = model
        self._key = key

    @property
    def model(self) -> str:
        """The model's name with the engine; asked of it once, where the settings name none.

        Raises:
            EngineError: it cannot be asked.
            UsageError: it has several, or none.
        """
        if self._model is None:
            self._model = self._only_model()
        return self._model

    def fit(self, system: str, question: str, passages: Sequence[str], reserve: int) -> "Fitted":
        """As `generator.Writer.fit`, by an estimate of tokens on the safe side."""
        from generator.prompts import fit, grounded
        from generator.writer import Fitted

        def count(n: int) -> int:
            return sum(_tokens(m.content) for m in grounded(system, question, passages[:n]))

        kept = fit(len(passages), count, CONTEXT - reserve)
        messages = grounded(system, question, passages[:kept])
        return Fitted(messages, tuple(passages[:kept]), len(passages) - kept, count(kept))

    def stream(
        self, messages: "Sequence[Message]", sampling: "Sampling", rng: "torch.Generator"
    ) -> "RemoteGeneration":
        """The answer in pieces as the engine sends them; of the chance it gets the seed.

        Raises:
            EngineError: while iterating: it cannot be reached, refuses, or breaks off.
            TooLong: likewise: the prompt is over its context.
        """
        body = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "stream": True,
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": rng.initial_seed(),
            **({"stop": list(sampling.stop[:4])} if sampling.stop else {}),
        }
        return RemoteGeneration(self._pieces(body, sampling.max_tokens))

    def _pieces(self, body: dict[str, Any], max_tokens: int) -> "Iterator[str | _End]":
        """Pieces, and last how it ended."""
        deadline = time.monotonic() + _WHOLE_S
        room = max_tokens * _LETTERS
        with (
            self._client() as client,
            self._told(body["model"]),
            client.stream("POST", f"{self.url}/chat/completions", json=body) as response,
        ):
            self._check(response, body["model"])
            for event in _events(response.iter_lines(), deadline, self.url):
                piece, reason = _read(event, self.url)
                room -= len(piece)
                if piece:
                    yield piece
                if reason or room < 0:
                    yield _End("length" if reason == "length" or room < 0 else "stop")
                    return
        raise EngineError(
            f"{self.url} closed the connection before the end of the answer: ask again"
        )

    def _only_model(self) -> str:
        with self._client() as client, self._told(None):
            response = client.get(f"{self.url}/models")
            self._check(response, None)
            try:
                names = [str(each["id"]) for each in response.json()["data"]]
            except (ValueError, TypeError, KeyError):
                raise EngineError(
                    f"{self.url} lists no models: name one as generator_model"
                ) from None
        if len(names) == 1:
            return names[0]
        some = ", ".join(names[:10]) or "none"
        raise UsageError(
            f"{self.url} has {len(names)} models ({some}): name one as generator_model "
            "(ATTEST_GENERATOR_MODEL)"
        )

    @contextmanager
    def _client(self) -> "Iterator[httpx.Client]":
        import httpx

        timeout = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        with httpx.Client(
            timeout=timeout, headers=headers, follow_redirects=False, trust_env=False
        ) as client:
            yield client

    @contextmanager
    def _told(self, model: str | None) -> Iterator[None]:
        """What goes wrong on the way, as a user can act on it."""
        import httpx

        instead = "start it, set generator_url anew, or quote only: --mode extract"
        try:
            yield
        except httpx.ConnectTimeout:
            raise EngineError(
                f"{self.url} did not answer within {_CONNECT_S:g} s: {instead}"
            ) from None
        except httpx.TimeoutException:
            raise EngineError(
                f"{self.url} was silent for {_SILENCE_S:g} s while {model or 'it'} was to write: "
                "try a smaller model, or quote only: --mode extract"
            ) from None
        except (httpx.ConnectError, httpx.UnsupportedProtocol) as error:
            raise EngineError(f"{self.url} cannot be reached ({error}): {instead}") from None
        except httpx.HTTPError as error:
            raise EngineError(
                f"{self.url} broke off ({error or type(error).__name__}): ask again"
            ) from None

    def _check(self, response: "httpx.Response", model: str | None) -> None:
        """Raise for anything but success, with the engine's own words and what to do."""
        if response.status_code == 200:
            return
        response.read()
        status, said = response.status_code, _message(response.text)
        match status:
            case 401 | 403:
                remedy = "set the key that it wants as generator_key (ATTEST_GENERATOR_KEY)"
            case 404:
                remedy = f"is {model or 'this'} one of its models (generator_model)?"
            case 429 | 503:
                remedy = "it is busy, or still loading: ask again later"
            case _ if 300 <= status < 400:
                remedy = "it points elsewhere, which is not followed: set generator_url to that"
            case _:
                remedy = "its log may say more"
        if status in (400, 413) and "context" in said.lower():
            raise TooLong(f"{self.url}: {said}: shorten the question, or choose a larger context")
        raise EngineError(f"{self.url} answered {status}{f' ({said})' if said else ''}: {remedy}")


class _End(str):
    """The last of the pieces: why there are no more."""

    __slots__ = ()


class RemoteGeneration(Iterator[str]):
    """An answer in the making, as `generator.Generation`: `close` ends the connection."""

    def __init__(self, pieces: "Iterator[str | _End]") -> None:
        self.finish_reason: Literal["stop", "length"] | None = None
        self._pieces = pieces

    def __next__(self) -> str:
        piece = next(self._pieces)
        if isinstance(piece, _End):
            self.finish_reason = "length" if piece == "length" else "stop"
            self.close()
            raise StopIteration
        return piece

    def close(self) -> None:
        """Stop; the engine sees the connection close."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()


def _events(lines: Iterator[str], deadline: float, url: str) -> Iterator[str]:
    """The data of server-sent events, up to the mark of the end."""
    for line in lines:
        if time.monotonic() > deadline:
            raise EngineError(f"{url} was still writing after {_WHOLE_S:g} s: try a smaller model")
        field, _, data = line.partition(":")
        if not line.strip() or field in ("", "event", "id", "retry"):  # also a sign of life
            continue
        if field != "data":
            raise EngineError(f"{url} sent what is no answer: {line[:_SHOWN]!r}")
        if data.strip() == "[DONE]":
            return
        yield data


def _read(data: str, url: str) -> tuple[str, str | None]:
    """The piece of an event and why the answer ended, if it did."""
    try:
        event = json.loads(data)
        if "error" in event:
            raise EngineError(f"{url} failed while it wrote: {_message(data)}")
        choices = event["choices"]
        if not choices:  # the count of tokens, which some send at the end
            return "", None
        piece = (choices[0].get("delta") or {}).get("content") or ""
        reason = choices[0].get("finish_reason")
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise EngineError(f"{url} sent what is no answer: {data[:_SHOWN]!r}") from None
    if not isinstance(piece, str):
        raise EngineError(f"{url} sent what is no text: {data[:_SHOWN]!r}")
    return piece, reason


def _message(body: str) -> str:
    """The words of an error that an engine sends, in one line."""
    try:
        error = json.loads(body)
        error = error.get("error", error) if isinstance(error, dict) else error
        said = error.get("message", error) if isinstance(error, dict) else error
    except ValueError:
        said = body
    return " ".join(str(said).split())[:_SHOWN]


def _tokens(text: str) -> int:
    """Tokens of a text, as many as most tokenizers would make of it: letters, and syllables."""
    narrow = sum(char.isascii() for char in text)
    return 8 + narrow // 3 + (len(text) - narrow)
