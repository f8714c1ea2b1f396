"""Groups of groups: centres that lie near each other are one theme."""

import numpy as np

from rag.clusters import Floats

_LEAST = 6  # groups; fewer are seen at a glance


def themes(centres: Floats) -> list[list[int]]:
    """The groups of each theme, (k, r) centres; the theme with the first group comes first.

    About as many themes as there are groups in each: no list is longer than it must be.
    """
    k = len(centres)
    if k < _LEAST:
        return []
    from sklearn.cluster import AgglomerativeClustering

    apart = 1 - np.asarray(centres @ centres.T, np.float64).clip(-1, 1)
    np.fill_diagonal(apart, 0)
    cut = AgglomerativeClustering(
        n_clusters=max(2, round(k**0.5)), metric="precomputed", linkage="average"
    ).fit_predict(apart)
    found: dict[int, list[int]] = {}
    for at, theme in enumerate(cut.tolist()):
        found.setdefault(theme, []).append(at)
    return list(found.values())
