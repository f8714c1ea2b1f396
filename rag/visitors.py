"""Whose conversations somebody sees who asks over HTTP.

On the machine itself there is one person, whichever browser they use. Over a network, or behind a
server that hands requests on, each browser has its own, known by a cookie that comes with the page.

Such a server need not say what it is: then the name in the browser's address line gives it away.
"""

import re
import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from rag.access import host_of, is_loopback

COOKIE = "attest_visitor"

_HANDED_ON = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_ID = re.compile(r"[0-9a-f]{32}")
_KEPT_S = 2 * 365 * 86_400


def owner_of(host: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> str:
    """The owner of a visitor's conversations, as they are stored.

    Args:
        host: that the request came from
        headers: of the request, in small letters
        cookies: likewise

    Returns:
        "" for the person at the machine; "?", which is nobody's, where a browser keeps no cookies
    """
    if host and is_loopback(host) and not _handed_on(headers):
        return ""
    given = cookies.get(COOKIE, "")
    return given if _ID.fullmatch(given) else "?"


def _handed_on(headers: Mapping[str, str]) -> bool:
    """Whether somebody between says so, or the browser was sent to another place than this one."""
    if any(name in headers for name in _HANDED_ON):
        return True
    asked = headers.get("host", "")
    if asked and not is_loopback(host_of(asked)):
        return True
    shown = (_place(headers.get(name, "")) for name in ("origin", "referer"))
    return any(place and place != asked for place in shown)


def cookie(given: str, *, secure: bool) -> str:
    """The header that has a browser keep what it is known by, which no script can read.

    Args:
        given: the cookie that it has sent; a new one is made in place of what cannot be one
        secure: whether it came over TLS
    """
    value = given if _ID.fullmatch(given) else secrets.token_hex(16)
    told = f"{COOKIE}={value}; Path=/; Max-Age={_KEPT_S}; HttpOnly; SameSite=Lax"
    return f"{told}; Secure" if secure else told


def _place(address: str) -> str:
    """The host and port of an address; "?" where it is none."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return "?"
