"""Clients that search, ask and hand in pages at the same time, and what each request came to."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Literal

import httpx

Kind = Literal["search", "ask", "upload"]

SHARES: tuple[tuple[Kind, float], ...] = (("search", 0.8), ("ask", 0.1), ("upload", 0.1))
HONEST = (429, 503)  # "not now", which says when

_TIMEOUT_S = 180.0  # of one request: a line of 32 answers may be before it
_MOST_WAIT_S = 10.0  # that a client heeds of a Retry-After
_PAGE = 2_500  # characters


@dataclass(frozen=True, slots=True)
class Sample:
    """One request."""

    kind: Kind
    began_s: float  # since the clients began
    seconds: float  # to the last byte of the answer
    status: int  # of HTTP; 0 where there was no answer
    first_s: float | None = None  # of an answer: to its first words
    asks: int = 0  # being answered or in line when it began or ended, itself not counted
    error: str = ""


@dataclass
class Load:
    """What the clients share.

    Args:
        address: of the service
        questions: that are searched for and asked
        texts: that pages are put together from
        until_s: after which no request begins
        pause_s: of a client, between two requests
    """

    address: str
    questions: Sequence[str]
    texts: Sequence[str]
    until_s: float
    pause_s: float = 0.0
    began: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list)
    asks: int = 0  # in flight now

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    @contextmanager
    def asking(self) -> Iterator[None]:
        self.asks += 1
        try:
            yield
        finally:
            self.asks -= 1


async def drive(load: Load, clients: int, seed: int) -> None:
    """Run so many clients until the time is over; their samples are in the load."""
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with (
        httpx.AsyncClient(base_url=load.address, timeout=_TIMEOUT_S, limits=limits) as http,
        asyncio.TaskGroup() as group,
    ):
        for number in range(clients):
            group.create_task(_client(load, http, Random(seed * 1000 + number)))


async def _client(load: Load, http: httpx.AsyncClient, rng: Random) -> None:
    kinds, weights = zip(*SHARES, strict=True)
    await asyncio.sleep(rng.random())  # people do not come on the stroke
    while load.now < load.until_s:
        (kind,) = rng.choices(kinds, weights)
        response = await _sampled(load, http, kind, rng)
        wait = load.pause_s
        if response is not None and response.status_code in HONEST:
            wait = max(wait, min(_MOST_WAIT_S, float(response.headers.get("retry-after", "1"))))
        if wait:
            await asyncio.sleep(min(wait, max(0.0, load.until_s - load.now)))


async def _sampled(
    load: Load, http: httpx.AsyncClient, kind: Kind, rng: Random
) -> httpx.Response | None:
    began, asks, first, error, response = load.now, load.asks, None, "", None
    try:
        match kind:
            case "search":
                response = await _search(http, rng.choice(load.questions))
            case "ask":
                with load.asking():
                    response, first = await _ask(http, rng.choice(load.questions))
            case "upload":
                response = await http.post("/api/documents", files={"files": _page(load, rng)})
    except (httpx.HTTPError, ValueError, KeyError) as caught:
        error = f"{type(caught).__name__}: {caught}"
    if response is not None and response.status_code >= 400:
        error = response.text[:300]
    status = 0 if response is None else response.status_code
    seconds = load.now - began
    asks = max(asks, load.asks)
    load.samples.append(Sample(kind, began, seconds, status, first, asks, error))
    return response


async def _search(http: httpx.AsyncClient, question: str) -> httpx.Response:
    response = await http.post("/api/search", json={"query": question, "k": 5})
    if response.status_code == 200 and not response.json()["hits"]:
        raise ValueError(f"nothing was found for {question!r}")
    return response


async def _ask(http: httpx.AsyncClient, question: str) -> tuple[httpx.Response, float | None]:
    """As a page does: the answer is read as it comes, and has to come to its end."""
    began, first, last = time.monotonic(), None, ""
    body = {"messages": [{"role": "user", "content": question}], "stream": True}
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        if response.status_code != 200:
            await response.aread()
            return response, None
        async for line in response.aiter_lines():
            last = line or last
            if first is None and _content(line):
                first = time.monotonic() - began
    if last != "data: [DONE]":
        raise ValueError(f"the answer broke off: {last[:200]}")
    return response, first


def _content(line: str) -> str:
    if not line.startswith("data: {"):
        return ""
    event = json.loads(line.removeprefix("data: "))
    if "error" in event:
        raise ValueError(event["error"]["message"])
    return "".join(choice["delta"].get("content", "") for choice in event["choices"])


def _page(load: Load, rng: Random) -> tuple[str, bytes]:
    """A page that the library does not have, under a name of its own."""
    number, size, parts = rng.randrange(10**9), 0, []
    while size < _PAGE:
        parts.append(rng.choice(load.texts))
        size += len(parts[-1])
    text = f"# Note {number}\n\n" + "\n\n".join(parts)[:_PAGE]
    return f"note-{number}.md", text.encode()
