"""The dots of a report's map: every document, and passages beside them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from index import Collection
from rag.clusters import Floats, Grouping, Labels
from rag.loaders.cleaning import one_line
from rag.records import ReportPoint
from rag.report_map import Layout
from rag.report_material import By, Material, passage_texts

_PASSAGES = 3000  # that are shown; of more, every so many
_BEGINNING = 140  # characters of a passage


def dots(
    collection: Collection | None, grouping: Grouping, found: Material, by: By, seed: int
) -> tuple[ReportPoint, ...]:
    """Documents first, then passages of those that have more than one."""
    if collection is None or not found.documents:
        return ()
    layout = Layout.of(grouping, seed)
    shown = _shown(found, by)
    texts = passage_texts(collection, found.passages.ids[shown].tolist())
    rows = found.passages.rows[shown]
    if by == "passages":
        labels = grouping.labels[shown]
        documents: tuple[ReportPoint, ...] = ()
    else:
        labels = grouping.nearest(rows)
        titles = [row.title for row in found.documents]
        documents = _points(
            layout, grouping.points, grouping.labels,
            [row.id for row in found.documents], None, titles,
        )  # fmt: skip
    owners = found.passages.documents[shown].tolist()
    chunks = found.passages.ids[shown].tolist()
    return documents + _points(layout, grouping.space.project(rows), labels, owners, chunks, texts)


def _shown(found: Material, by: By) -> NDArray[np.int64]:
    """The places of the passages that are shown: a document's only one is the document itself."""
    counts = np.bincount(found.passage_owners, minlength=len(found.documents))
    several = np.flatnonzero(counts[found.passage_owners] > 1)
    if by == "passages":
        several = np.arange(len(found.passage_owners))
    step = max(1, -(-len(several) // _PASSAGES))
    return np.asarray(several[::step], np.int64)


def _points(
    layout: Layout,
    points: Floats,
    labels: Labels,
    owners: Sequence[int],
    chunks: Sequence[int] | None,
    texts: Sequence[str],
) -> tuple[ReportPoint, ...]:
    laid = layout.place(points, labels).round(4).tolist()
    return tuple(
        ReportPoint(
            document_id=owners[i],
            chunk_id=None if chunks is None else chunks[i],
            cluster=int(labels[i]) + 1,
            x=laid[i][0],
            y=laid[i][1],
            text=_beginning(texts[i]),
        )
        for i in range(len(owners))
    )


def _beginning(text: str) -> str:
    line = one_line(text[: 3 * _BEGINNING])
    return line if len(line) <= _BEGINNING else f"{line[:_BEGINNING].rstrip()}…"
