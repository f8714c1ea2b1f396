"""Hits as files: the JSON of the edge, and a table for spreadsheets."""

import csv
import io
import json

from rag import shapes, similar_text
from rag.downloads import harmless
from rag.records import SearchResult
from rag.similar import Similar


def as_json(found: SearchResult) -> bytes:
    """As `attest search --json` or `attest similar --json` prints it."""
    shape = similar_text.shape(found) if isinstance(found, Similar) else shapes.search(found)
    return (json.dumps(shape, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def as_csv(found: SearchResult) -> bytes:
    """A line a hit. UTF-8 with a mark; nothing that a spreadsheet would run."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("rank", "score", "title", "path", "page", "start", "end", "heading", "text"))
    for hit in found.hits:
        chunk = hit.chunk
        page = "" if chunk.page is None else str(chunk.page)
        place = (chunk.document.title, chunk.document.path, page, str(chunk.start), str(chunk.end))
        cells = (*place, " › ".join(chunk.heading), chunk.text)
        rows.writerow((hit.rank, f"{hit.score:.4f}", *map(harmless, cells)))
    return text.getvalue().encode("utf-8-sig")
