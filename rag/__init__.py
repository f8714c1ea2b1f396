"""The product: read, retrieve, answer, compare, report.

The names below load on first use, so that a command line that only prints its help stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.assistant import Assistant
    from rag.errors import AttestError
    from rag.records import Answer, Citation, Hit, SearchResult
    from rag.settings import Settings

__all__ = ["Answer", "Assistant", "AttestError", "Citation", "Hit", "SearchResult", "Settings"]

_HOMES = {
    "Answer": "rag.records",
    "Assistant": "rag.assistant",
    "AttestError": "rag.errors",
    "Citation": "rag.records",
    "Hit": "rag.records",
    "SearchResult": "rag.records",
    "Settings": "rag.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
