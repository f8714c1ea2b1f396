"""The clustering report: documents in groups, each with its words and its telling sentences."""

import html as escaping
import os
from importlib import resources
from pathlib import Path

import jinja2
import numpy as np
from numpy.typing import NDArray

from index import Collection, StoredDocument
from index.analysis import terms
from rag.clusters import Cluster, Clustering, cluster
from rag.records import Report, ReportCluster
from rag.sentences import sentences

_SEED = 0
_SHOWN_WORDS = 3  # in a label


def build_report(
    collection: Collection | None, *, clusters: int | None, output: Path | None
) -> Report:
    """Group the documents of a collection (None: there is none yet).

    Args:
        collection: where they are
        clusters: how many groups; None chooses
        output: write one HTML page there, which needs nothing else to be shown
    """
    documents, vectors, texts = _material(collection)
    grouped = cluster(vectors, [terms(text) for text in texts], k=clusters, seed=_SEED)
    report = Report(
        n_documents=len(documents),
        unclustered=0,
        clusters=tuple(
            _described(number, group, documents, texts)
            for number, group in enumerate(grouped.clusters, start=1)
        ),
        metrics={} if grouped.silhouette is None else {"silhouette": round(grouped.silhouette, 4)},
        notes=_notes(len(documents), clusters, len(grouped.clusters)),
        html=None if output is None else str(output.absolute()),
    )
    if output is not None:
        _write(output, _page(report, grouped, documents))
    return report


def _material(
    collection: Collection | None,
) -> tuple[list[StoredDocument], NDArray[np.float32], list[str]]:
    """Searchable documents, the mean of each one's vectors (n, d) at unit length, their texts."""
    documents = [] if collection is None else collection.documents()
    documents = [row for row in documents if row.status == "indexed"]
    if collection is None or not documents:
        return [], np.empty((0, 0), np.float32), []
    library = collection.vectors()
    means = np.stack([library.rows[library.documents == row.id].mean(axis=0) for row in documents])
    means /= np.linalg.norm(means, axis=1, keepdims=True).clip(1e-12)
    return documents, means.astype(np.float32), [collection.text(row.id) for row in documents]


def _described(
    number: int, group: Cluster, documents: list[StoredDocument], texts: list[str]
) -> ReportCluster:
    members = [documents[i] for i in group.members]
    telling = [_telling(texts[i], group.words) for i in group.members[:3]]
    return ReportCluster(
        id=number,
        label=", ".join(group.words[:_SHOWN_WORDS]) or members[0].title,
        words=group.words,
        representative=tuple(sentence for sentence in telling if sentence),
        documents=tuple(members),
    )


def _telling(text: str, words: tuple[str, ...]) -> str:
    """The sentence that holds the most of a cluster's words, the earliest of equals."""
    spans = sentences(text)[:200]
    if not spans:
        return ""
    wanted = set(words)
    start, end = max(spans, key=lambda span: len(wanted & set(terms(text[span[0] : span[1]]))))
    return text[start:end]


def _notes(n_documents: int, asked: int | None, found: int) -> tuple[str, ...]:
    if not n_documents:
        return ("no documents",)
    if asked is not None and found < asked:
        return (f"asked {asked} clusters, the documents give {found}",)
    return ()


def _page(report: Report, grouped: Clustering, documents: list[StoredDocument]) -> str:
    source = resources.files("rag").joinpath("templates/report.html").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    plot = _map(report, grouped, documents) if len(documents) > 2 else ""
    return environment.from_string(source).render(report=report, plot=plot)


def _map(report: Report, grouped: Clustering, documents: list[StoredDocument]) -> str:
    """The documents as points, as a piece of HTML that brings its own script."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for described, group in zip(report.clusters, grouped.clusters, strict=True):
        points = grouped.map[list(group.members)]
        titles = [escaping.escape(documents[i].title) for i in group.members]
        figure.add_scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            name=escaping.escape(f"{described.id} {described.label}"),
            text=titles,
            hovertemplate="%{text}<extra></extra>",
            marker={"size": 11, "opacity": 0.85},
        )
    axis = {"visible": False}
    figure.update_layout(
        template="plotly_white",
        height=460,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis=axis,
        yaxis=axis,
        legend={"orientation": "h", "y": -0.05},
    )
    return str(
        figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    )


def _write(output: Path, page: str) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    aside = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    aside.write_text(page, encoding="utf-8")
    os.replace(aside, output)
