"""Two reports of one library: which groups are new, which have grown, which are gone.

Groups are paired by the documents that they share, so that no document is counted twice and the
sum of all that is shared is as large as can be.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rag.errors import Unreadable
from rag.records import ClusterChange, Comparison, ReportCluster

_SAME = 0.3  # of the documents of either that both reports know, shared by groups that are one

Change = Literal["new", "grown", "shrunk", "same", "gone"]


@dataclass(frozen=True, slots=True)
class OldReport:
    """What a comparison needs of an earlier report."""

    clusters: tuple["OldCluster", ...]
    documents: frozenset[int]  # ids, those in no cluster too


@dataclass(frozen=True, slots=True)
class OldCluster:
    id: int
    label: str
    documents: frozenset[int]


def read_report(file: Path) -> OldReport:
    """Read what `attest report --json` or `-o FILE.json` wrote.

    Raises:
        Unreadable: it is not there or is something else.
    """
    try:
        return old_report(json.loads(file.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise Unreadable(f"{file}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(
            f"{file}: not a report; make one with: attest report -o {file.stem}.json"
        ) from error


def old_report(body: dict[str, Any]) -> OldReport:
    """From a report's JSON."""
    clusters = tuple(
        OldCluster(
            int(group["id"]),
            str(group["label"]),
            frozenset(int(row["id"]) for row in group["documents"]),
        )
        for group in body["clusters"]
    )
    rest = {int(row["id"]) for row in body.get("outliers", ())}
    return OldReport(clusters, frozenset(rest.union(*(group.documents for group in clusters))))


def compared(
    old: OldReport, clusters: Sequence[ReportCluster], outliers: Sequence[int]
) -> Comparison:
    """What has changed since.

    Args:
        old: the earlier report
        clusters: of the later one
        outliers: ids of its documents that are in no cluster
    """
    now = [frozenset(row.id for row in group.documents) for group in clusters]
    every = frozenset(outliers).union(*now)
    pairs = _pairs(old, now, every)
    changes = [
        _changed(old.clusters[pairs[at]] if at in pairs else None, group, now[at])
        for at, group in enumerate(clusters)
    ]
    kept = set(pairs.values())
    gone = [
        ClusterChange("gone", None, was.id, was.label, was.label, 0, len(was.documents), 0)
        for at, was in enumerate(old.clusters)
        if at not in kept
    ]
    return Comparison(
        old_documents=len(old.documents),
        added=len(every - old.documents),
        removed=len(old.documents - every),
        changes=(*changes, *gone),
    )


def _pairs(old: OldReport, now: Sequence[frozenset[int]], every: frozenset[int]) -> dict[int, int]:
    """The old group of each new one that has one, by their places.

    What was added or removed since says nothing about which groups are one.
    """
    from scipy.optimize import linear_sum_assignment

    if not old.clusters or not now:
        return {}
    before = [was.documents & every for was in old.clusters]
    after = [own & old.documents for own in now]
    likeness = np.array(
        [[len(own & was) / max(1, len(own | was)) for was in before] for own in after]
    )
    rows, columns = linear_sum_assignment(-likeness)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return {at: was for at, was in pairs if likeness[at, was] >= _SAME}


def _changed(was: OldCluster | None, group: ReportCluster, own: frozenset[int]) -> ClusterChange:
    if was is None:
        return ClusterChange("new", group.id, None, group.label, None, len(own), 0, 0)
    before = len(was.documents)
    change: Change = "same"
    if len(own) != before:
        change = "grown" if len(own) > before else "shrunk"
    return ClusterChange(
        change, group.id, was.id, group.label, was.label, len(own), before, len(own & was.documents)
    )
