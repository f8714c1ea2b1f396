"""What the service writes to its log: JSON, a line each, with the number of the request.

At level info there is a line for each request. Neither questions nor anything of documents stand
in it: the route as it is declared, never the address as it was called.
"""

import asyncio
import json
import logging
import sys
import time
from contextvars import ContextVar
from typing import Literal

REQUEST: ContextVar[str | None] = ContextVar("request", default=None)

_OURS = ("rag", "ui", "index", "encoder", "generator", "transformer")


class Lines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "at": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request := REQUEST.get()) is not None:
            line["request"] = request
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _is_news(record: logging.LogRecord) -> bool:
    """What a server cuts off because it ends itself is none."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def configure(level: Literal["info", "warning", "error"]) -> None:
    """Have this process log so, to standard error; others' libraries say only what is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    handler.addFilter(_is_news)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.ERROR if level == "error" else logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())
