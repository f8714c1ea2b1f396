"""Following a folder: what changes in it is taken in as it happens."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rag.loaders.formats import supported
from rag.loaders.names import is_junk

if TYPE_CHECKING:
    from rag.ingest import Outcome
    from rag.library import Library, Stop
    from rag.ray_cluster import Cluster

_QUIET_MS = 800  # a file is read when nothing has been written for this long
_LOOK_MS = 400  # how soon a stop is noticed


def watched(
    library: "Library",
    folder: Path,
    *,
    prune: bool,
    tags: Sequence[str],
    stop: "Stop",
    cluster: "Cluster | None" = None,
) -> "Iterator[Iterator[Outcome]]":
    """The outcomes of each burst of changes in a folder, until `stop`."""
    from watchfiles import watch

    bursts = watch(
        folder,
        debounce=2 * _QUIET_MS,
        step=_QUIET_MS // 2,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
    )
    suffixes = supported(ocr=library.settings.ocr)
    for burst in bursts:
        if stop():
            return
        changed = sorted(path for _, path in burst)
        if changed:
            there = [Path(path) for path in changed if _counts(path, folder, suffixes)]
            yield library.sync(
                folder, only=there, prune=prune, tags=tags, stop=stop, cluster=cluster
            )


def _counts(path: str, folder: Path, suffixes: frozenset[str]) -> bool:
    """Whether walking the folder would come by this file."""
    place = Path(os.path.realpath(path))
    return (
        place.is_file()
        and place.is_relative_to(os.path.realpath(folder))
        and place.suffix.lower() in suffixes
        and not any(map(is_junk, Path(path).relative_to(folder.absolute()).parts))
    )
