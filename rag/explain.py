"""Why a passage was found: the words that it shares with the query."""

from index.analysis import tokens
from index.records import StoredChunk


def shared_terms(query: str, chunk: StoredChunk) -> tuple[str, ...]:
    """The words of a query, as it writes them, that a passage has in some form.

    Its title and headings count, as they do for the search.
    """
    held = set(tokens("\n".join((chunk.document.title, *chunk.heading, chunk.text))))
    words = dict.fromkeys(query.split())
    return tuple(word for word in words if held.intersection(tokens(word)))
