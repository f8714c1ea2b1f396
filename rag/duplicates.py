"""Documents that are there more than once, word for word or nearly so, and what differs in them.

Each text is made into its shingles, runs of a few words. A signature of least hashes tells how
many two texts share (Broder 1997, "On the resemblance and containment of documents"); bands of it
bring together those that may be alike, and only these are compared in full.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index import StoredDocument
from index.errors import UnknownDocument
from rag.differences import Difference, differences
from rag.errors import UsageError

if TYPE_CHECKING:
    from rag.library import Library

ALIKE = 0.7  # of the shingles of both, from which on two texts are versions of one
_WORDS = 3  # of a shingle
_LEAST = 0.3  # below which bands would miss too many
_HASHES, _BAND = 128, 3  # a pair that shares 50 % is missed once in 300
_PRIME = np.uint64((1 << 61) - 1)
_MASK = np.uint64((1 << 32) - 1)

Signature = NDArray[np.uint64]
Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Copy:
    """A document that is like the first of its group."""

    document: StoredDocument
    likeness: float  # share of the shingles of both that both have, 0..1
    same_file: bool  # byte for byte
    differences: tuple[Difference, ...]  # from the first to this one, in reading order
    more: int  # differences that are left out


@dataclass(frozen=True, slots=True)
class Group:
    """Documents that say nearly the same; the first was added first."""

    first: StoredDocument
    copies: tuple[Copy, ...]  # most alike first


@dataclass(frozen=True, slots=True)
class Duplicates:
    compared: int  # documents
    at_least: float
    groups: tuple[Group, ...]  # largest first


def find_duplicates(
    library: "Library",
    documents: Sequence[StoredDocument],
    *,
    at_least: float = ALIKE,
    watch: Callable[[int, int], None] = lambda _done, _total: None,
) -> Duplicates:
    """Groups of documents that are nearly the same.

    Args:
        library: that they are in
        documents: to compare, duplicates of the same bytes among them
        at_least: share of their shingles that two documents of a group have in common
        watch: told how many texts are read, of how many

    Raises:
        UsageError: `at_least` is out of what can be found.
    """
    if not _LEAST <= at_least <= 1:
        raise UsageError(f"at least {at_least:g} cannot be: choose {_LEAST:g} to 1")
    read = [row for row in documents if row.status == "indexed"]
    signatures = dict[int, Signature]()
    for done, row in enumerate(read, 1):
        found = shingles(_text(library, row.id))
        if len(found):
            signatures[row.id] = signature(found)
        watch(done, len(read))
    pairs = _alike(library, signatures, at_least)
    rows = {row.id: row for row in documents}
    copies = _same_bytes(documents)
    groups = [
        _group(library, members, rows, copies)
        for members in _together([row.id for row in read], pairs)
        if len(members) > 1 or copies.get(members[0])
    ]
    groups.sort(key=lambda group: (-len(group.copies), group.first.id))
    return Duplicates(len(read), at_least, tuple(groups))


def shingles(text: str) -> NDArray[np.uint64]:
    """Hashes of the runs of three words of a text, each once; of fewer words, of all of them."""
    words = text.casefold().split()
    if not words:
        return np.empty(0, np.uint64)
    runs = {" ".join(words[i : i + _WORDS]) for i in range(max(1, len(words) - _WORDS + 1))}
    return np.fromiter(map(_hash, runs), np.uint64, len(runs))


def signature(found: NDArray[np.uint64]) -> Signature:
    """The least of each of 128 hashes of the shingles, (128,)."""
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 1 << 32, _HASHES, np.uint64) | np.uint64(1)
    terms = rng.integers(0, 1 << 32, _HASHES, np.uint64)
    low = found & _MASK
    least = np.full(_HASHES, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(low), 4096):
        block = (factors[:, None] * low[None, start : start + 4096] + terms[:, None]) % _PRIME
        least = np.minimum(least, block.min(axis=1))
    return least


def likeness(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """The share of the shingles of two texts that both have, 0..1."""
    if not len(one) or not len(other):
        return 0.0
    shared = len(np.intersect1d(one, other))
    return shared / (len(one) + len(other) - shared)


def _hash(run: str) -> int:
    return int.from_bytes(blake2b(run.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _alike(
    library: "Library", signatures: dict[int, Signature], at_least: float
) -> dict[tuple[int, int], float]:
    """Pairs that share enough, compared in full; the document that came first stands first."""
    pairs = dict[tuple[int, int], float]()
    last, mine = 0, np.empty(0, np.uint64)
    for one, other in sorted(_candidates(signatures)):
        guess = float((signatures[one] == signatures[other]).mean())
        if guess < at_least - 0.2:  # four deviations of what 128 hashes can tell
            continue
        if one != last:
            last, mine = one, shingles(_text(library, one))
        found = likeness(mine, shingles(_text(library, other)))
        if found >= at_least:
            pairs[one, other] = found
    return pairs


def _candidates(signatures: dict[int, Signature]) -> set[tuple[int, int]]:
    found = set[tuple[int, int]]()
    for start in range(0, _HASHES - _BAND + 1, _BAND):
        buckets = defaultdict[bytes, list[int]](list)
        for key, each in signatures.items():
            buckets[each[start : start + _BAND].tobytes()].append(key)
        for bucket in buckets.values():
            ordered = sorted(bucket)
            # All to the first, and each to the next: a form that was filled in a thousand times
            # makes one group without half a million comparisons.
            found |= {(ordered[0], other) for other in ordered[1:]} | set(pairwise(ordered))
    return found


def _together(keys: Iterable[int], pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Documents that pairs connect, in ascending order."""
    leader = {key: key for key in keys}

    def lead(key: int) -> int:
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for one, other in pairs:
        first, second = sorted((lead(one), lead(other)))
        leader[second] = first
    groups = defaultdict[int, list[int]](list)
    for key in sorted(leader):
        groups[lead(key)].append(key)
    return list(groups.values())


def _same_bytes(rows: Sequence[StoredDocument]) -> dict[int, list[StoredDocument]]:
    """Files that repeat a document byte for byte, by its id."""
    originals = {row.sha256: row.id for row in rows if row.status == "indexed"}
    found = defaultdict[int, list[StoredDocument]](list)
    for row in rows:
        if row.status == "duplicate" and row.sha256 in originals:
            found[originals[row.sha256]].append(row)
    return found


def _group(
    library: "Library",
    members: Sequence[int],
    rows: dict[int, StoredDocument],
    copies: dict[int, list[StoredDocument]],
) -> Group:
    first = members[0]
    text = _text(library, first)
    mine = shingles(text)
    found = list[Copy]()
    for key in members:
        theirs = text if key == first else _text(library, key)
        like = 1.0 if key == first else likeness(mine, shingles(theirs))
        told, more = ((), 0) if key == first else differences(text, theirs)
        if key != first:
            found.append(Copy(rows[key], like, False, told, more))
        found += [Copy(copy, like, key == first, told, more) for copy in copies.get(key, ())]
    return Group(rows[first], tuple(sorted(found, key=lambda c: (-c.likeness, c.document.id))))


def _text(library: "Library", document_id: int) -> str:
    try:
        return library.catalog.text(document_id)
    except UnknownDocument:  # removed since
        return ""
