"""Compound files (OLE 2), the container of HWP 5, old Office and locked Office files."""

import struct
from itertools import pairwise

_SECTOR, _SMALL_SECTOR, _CUTOFF = 512, 64, 4096
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5


def compound(streams: dict[str, bytes]) -> bytes:
    """Packs streams by their paths: `BodyText/Section0`. At most one level of folders."""
    entries = _entries(streams)
    sectors: list[bytes] = []
    chains: list[int] = []  # the file allocation table
    small = bytearray()
    small_chains: list[int] = []
    places = {}
    for path, content in streams.items():
        if len(content) < _CUTOFF:
            places[path] = len(small_chains) if content else _END
            padded = _padded(content, _SMALL_SECTOR)
            small_chains += _chain(len(small_chains), len(padded) // _SMALL_SECTOR)
            small += padded
        else:
            places[path] = _append(sectors, chains, content)
    small_start = _append(sectors, chains, bytes(small))
    small_table = struct.pack(f"<{len(small_chains)}I", *small_chains)
    table_start = _append(sectors, chains, small_table, fill=b"\xff")
    places[""] = small_start
    directory = b"".join(_entry(e, places, streams, len(small)) for e in entries)
    directory_start = _append(sectors, chains, directory)
    n_tables = 1
    while n_tables * 128 < len(sectors) + n_tables:
        n_tables += 1
    first = len(sectors)
    chains += [_FAT] * n_tables
    chains += [_FREE] * (n_tables * 128 - len(chains))
    header = struct.pack(
        "<8s16x5H6x9I",
        *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6),
        *(0, n_tables, directory_start, 0, _CUTOFF, table_start),
        *(-(-len(small_table) // _SECTOR), _END, 0),
    )
    tables = [*range(first, first + n_tables), *[_FREE] * (109 - n_tables)]
    header += struct.pack("<109I", *tables)
    return header + b"".join(sectors) + struct.pack(f"<{len(chains)}I", *chains)


def _entries(streams: dict[str, bytes]) -> list[dict[str, object]]:
    """Lays the directory out as one chain of siblings per storage, in order of names."""
    folders = sorted({path.split("/")[0] for path in streams if "/" in path})
    entries: list[dict[str, object]] = [{"name": "Root Entry", "path": "", "kind": _ROOT}]
    groups: dict[str, list[int]] = {}
    for path in [*folders, *streams]:
        parent, _, name = path.rpartition("/")
        groups.setdefault(parent, []).append(len(entries))
        kind = _STREAM if path in streams else _STORAGE
        entries.append({"name": name, "path": path, "kind": kind})
    for parent, members in groups.items():
        members.sort(key=lambda i: (len(str(entries[i]["name"])), str(entries[i]["name"]).upper()))
        owner = next(e for e in entries if e["path"] == parent and e["kind"] != _STREAM)
        owner["child"] = members[0]
        for left, right in pairwise(members):
            entries[left]["right"] = right
    return entries


def _entry(
    entry: dict[str, object], places: dict[str, int], streams: dict[str, bytes], small: int
) -> bytes:
    name = str(entry["name"]).encode("utf-16-le") + b"\0\0"
    path = str(entry["path"])
    size = small if entry["kind"] == _ROOT else len(streams.get(path, b""))
    return struct.pack(
        "<64sHBB3I36xIQ",
        *(name, len(name), entry["kind"], 1, _FREE, entry.get("right", _FREE)),
        *(entry.get("child", _FREE), places.get(path, 0), size),
    )


def _append(sectors: list[bytes], chains: list[int], content: bytes, fill: bytes = b"\0") -> int:
    padded = _padded(content, _SECTOR, fill)
    start = len(sectors)
    sectors += [padded[at : at + _SECTOR] for at in range(0, len(padded), _SECTOR)]
    chains += _chain(start, len(sectors) - start)
    return start if padded else _END


def _chain(start: int, count: int) -> list[int]:
    return [*range(start + 1, start + count), _END] if count else []


def _padded(content: bytes, size: int, fill: bytes = b"\0") -> bytes:
    return content + fill * (-len(content) % size)
