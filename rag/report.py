"""The clustering report: a library in groups, each with its words and its telling sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

from index import Collection, StoredDocument
from index.analysis import is_korean
from rag.clusters import Grouping, Outliers, group
from rag.records import Remark, Report, ReportCluster, ReportTheme
from rag.report_compare import OldReport, compared
from rag.report_dots import dots
from rag.report_material import By, Material, material
from rag.report_sizes import shares
from rag.report_themes import themes
from rag.report_words import said, words_in
from rag.topics import topic_words, words_of
from rag.topics_labels import label, phrase_of, telling_sentence, written_title
from rag.topics_time import Timeline, timeline

if TYPE_CHECKING:
    from generator import Writer
    from rag.remote import RemoteWriter

Writers = Callable[[str], "Writer | RemoteWriter | None"]  # by the language of a text

_SEED = 0
_TELLING = 3  # sentences of a group
_NEAREST = 40  # items of a group that are looked through for a phrase


def nobody(_text: str) -> None:
    """No writer."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a report is asked for."""

    clusters: int | None = None  # None finds the number
    by: By = "documents"
    outliers: Outliers = "keep"
    old: OldReport | None = None  # to be compared with


def build_report(
    collection: Collection | None,
    wanted: Wanted,
    writers: Writers = nobody,
) -> Report:
    """Group what a collection holds.

    Args:
        collection: None: there is none yet
        wanted: how
        writers: who can give a group of such words its title; None: a phrase of its texts does
    """
    found = material(collection, wanted.by)
    grouping = group(found.vectors, k=wanted.clusters, seed=_SEED, outliers=wanted.outliers)
    members = [grouping.members(c) for c in range(len(grouping.centres))]
    words = topic_words([words_of(text) for text in found.texts], members)
    times = timeline([row.modified for row in found.documents])
    described = [
        _described(at, own, named, found, times, writers)
        for at, (own, named) in enumerate(zip(members, words, strict=True))
    ]
    left_out = np.flatnonzero(grouping.labels < 0).tolist()
    clusters, rest_pct = _sized(described, len(left_out), _passages(grouping, found))
    outliers = _owners(found, left_out) if wanted.by == "documents" else ()
    remarks = _remarks(found, wanted, len(clusters))
    return Report(
        n_documents=len(found.documents),
        unclustered=len(left_out),
        clusters=clusters,
        metrics=_metrics(grouping),
        notes=said(remarks, words_in("en")),
        html=None,
        by=wanted.by,
        n_passages=len(found.passages.ids),
        language=language_of(found.texts),
        unclustered_pct=rest_pct,
        outliers=outliers,
        themes=_themes(grouping, clusters),
        period=None if times is None else times.period,
        periods=() if times is None else tuple(start.isoformat() for start in times.starts),
        comparison=(
            None
            if wanted.old is None
            else compared(wanted.old, clusters, [row.id for row in outliers])
        ),
        points=dots(collection, grouping, found, wanted.by, _SEED),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _described(
    at: int,
    own: Sequence[int],
    words: tuple[str, ...],
    found: Material,
    times: Timeline | None,
    writers: Writers,
) -> ReportCluster:
    near = [found.texts[i] for i in own[:_NEAREST]]
    quotes = _quotes(near, words)
    documents = _owners(found, own)
    writer = writers(" ".join(words)) if words else None
    title = None if writer is None else written_title(words, quotes, writer)
    otherwise = label(words, phrase_of(near, words), documents[0].title)
    return ReportCluster(
        id=at + 1,
        label=title or otherwise,
        words=words,
        representative=quotes,
        documents=documents,
        size=len(own),
        over_time=() if times is None else times.counts([int(found.owners[i]) for i in own]),
    )


def _quotes(texts: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """A telling sentence of each of the nearest texts, none twice."""
    quotes: dict[str, None] = {}
    for text in texts[: 3 * _TELLING]:
        if (said := telling_sentence(text, words)) and len(quotes) < _TELLING:
            quotes[said] = None
    return tuple(quotes)


def _owners(found: Material, items: Sequence[int]) -> tuple[StoredDocument, ...]:
    """The documents of items, each once, in the order of the items."""
    places = dict.fromkeys(int(found.owners[i]) for i in items)
    return tuple(found.documents[place] for place in places)


def _passages(grouping: Grouping, found: Material) -> list[int]:
    """How many passages are nearest to each group."""
    nearest = grouping.nearest(found.passages.rows) if len(found.passages.ids) else np.empty(0, int)
    counts = np.bincount(nearest[nearest >= 0], minlength=len(grouping.centres))
    return [int(count) for count in counts]


def _sized(
    clusters: Sequence[ReportCluster], rest: int, passages: Sequence[int]
) -> tuple[tuple[ReportCluster, ...], float]:
    *parts, left = shares([*(each.size for each in clusters), rest])
    sized = zip(clusters, parts, passages, strict=True)
    return tuple(replace(each, share_pct=part, passages=n) for each, part, n in sized), left


def _themes(grouping: Grouping, clusters: Sequence[ReportCluster]) -> tuple[ReportTheme, ...]:
    parts = themes(grouping.centres)
    made = []
    for at, own in enumerate(parts, start=1):
        members = [clusters[c] for c in own]
        # The words of a group of groups: the best of each, the largest first.
        words = [each.words[i] for i in range(10) for each in members if i < len(each.words)]
        words = list(dict.fromkeys(words))[:10]
        made.append(
            ReportTheme(
                id=at,
                label=", ".join(words[:3]) or members[0].label,
                words=tuple(words),
                clusters=tuple(each.id for each in members),
                size=sum(each.size for each in members),
                share_pct=round(sum(each.share_pct for each in members), 1),
            )
        )
    return tuple(made)


def _metrics(grouping: Grouping) -> dict[str, float]:
    return {} if grouping.silhouette is None else {"silhouette": round(grouping.silhouette, 4)}


def language_of(texts: Sequence[str]) -> Literal["en", "ko"]:
    """Korean where most texts have any of it in their beginnings."""
    korean = sum(is_korean(text[:2000]) for text in texts)
    return "ko" if korean * 2 > len(texts) else "en"


def _remarks(found: Material, wanted: Wanted, n_clusters: int) -> tuple[Remark, ...]:
    remarks = []
    if not found.documents:
        remarks.append(Remark("empty"))
    elif wanted.clusters is not None and n_clusters < wanted.clusters:
        remarks.append(Remark("fewer", {"wanted": wanted.clusters, "n": n_clusters}))
    if found.waiting:
        remarks.append(Remark("waiting", {"n": found.waiting}))
    return tuple(remarks)
