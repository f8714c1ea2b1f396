"""Whose conversations a browser sees.

On the machine itself there is one person, whichever browser they use. Over a network, or behind a
server that hands requests on, each browser has its own, known by a cookie that page.js makes.
"""

import re
from collections.abc import Mapping

import gradio as gr

from rag.access import is_loopback

COOKIE = "attest_visitor"

_HANDED_ON = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_ID = re.compile(r"[0-9a-f]{32}")


def owner(request: gr.Request) -> str:
    """The owner of a visitor's conversations, as they are stored."""
    host = request.client.host if request.client else ""
    return owner_of(host, request.headers, request.cookies)


def owner_of(host: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> str:
    """As `owner`, of the parts of a request; "" is the person at the machine.

    A visitor whose browser keeps no cookies shares with no one: "?" is nobody's.
    """
    direct = host and is_loopback(host) and not any(name in headers for name in _HANDED_ON)
    if direct:
        return ""
    given = cookies.get(COOKIE, "")
    return given if _ID.fullmatch(given) else "?"
