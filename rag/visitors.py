"""Whose conversations somebody sees who asks over HTTP.

On the machine itself there is one person, whichever browser they use. Over a network, or behind a
server that hands requests on, each browser has its own, known by a cookie that the page makes.
"""

import re
from collections.abc import Mapping

from rag.access import is_loopback

COOKIE = "attest_visitor"

_HANDED_ON = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_ID = re.compile(r"[0-9a-f]{32}")


def owner_of(host: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> str:
    """The owner of a visitor's conversations, as they are stored.

    Args:
        host: that the request came from
        headers: of the request, in small letters
        cookies: likewise

    Returns:
        "" for the person at the machine; "?", which is nobody's, where a browser keeps no cookies
    """
    direct = host and is_loopback(host) and not any(name in headers for name in _HANDED_ON)
    if direct:
        return ""
    given = cookies.get(COOKIE, "")
    return given if _ID.fullmatch(given) else "?"
