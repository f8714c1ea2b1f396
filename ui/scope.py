"""Which documents a question stays within: what can be chosen, and what was."""

from collections import Counter
from collections.abc import Sequence

from index.records import StoredDocument
from rag.records import Within
from ui import render

Scope = Sequence[int | str]  # ids of documents, and tags with a # before them


def scopes(documents: Sequence[StoredDocument]) -> list[tuple[str, int | str]]:
    """As it is shown and as it is chosen: tags, documents."""
    tags = sorted({tag for row in documents for tag in row.tags}, key=render.folded)
    rows = [row for row in documents if row.status == "indexed"]
    alike = Counter(row.title for row in rows)
    return [(f"#{tag}", f"#{tag}") for tag in tags] + [
        (row.title if alike[row.title] == 1 else f"{row.title} ({render.file_name(row.path)})",
         row.id)
        for row in rows
    ]  # fmt: skip


def chosen_by(scope: Scope, documents: Sequence[StoredDocument]) -> Within:
    """The documents that were chosen, each by itself or by one of its tags."""
    ids = [chosen for chosen in scope if isinstance(chosen, int)]
    tags = {chosen.removeprefix("#") for chosen in scope if isinstance(chosen, str)}
    if len(tags) == 1 and not ids:
        return Within(tags=tuple(tags))
    held = [row for row in documents if row.status in ("indexed", "duplicate")]
    ids += [row.id for row in held if not tags.isdisjoint(row.tags)]
    # Of tags that nothing has any more, no document is left: that is not the whole library.
    return Within(documents=tuple(dict.fromkeys(ids)), tags=() if ids else tuple(tags))
