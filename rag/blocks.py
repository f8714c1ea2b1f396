"""Where tables and code stand in a text: what is cut in two there is hard to read."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"[ >]*(?P<mark>`{3,}|~{3,})")
_ROW = re.compile(r"[^|\n]*\S[^|\n]*: [^|\n]+(?: \| [^|\n]*: [^|\n]*)+\s*|\s*\|.*\|\s*")
_LEAST_ROWS = 2
_LONGEST_ROW = 2000  # characters; no longer one fits into a chunk


def blocks(text: str) -> list[tuple[int, int]]:
    """Gives (start, end) of each run of table rows and each fenced code, in order."""
    found: list[tuple[int, int]] = []
    rows = [(start, end) for start, end, is_row in _lines(text, found) if is_row]
    run: list[tuple[int, int]] = []
    for row in rows:
        if run and row[0] != run[-1][1]:
            _take(run, found)
            run = []
        run.append(row)
    _take(run, found)
    return sorted(found)


def _lines(text: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Each line outside of fenced code, and whether it is a row; fences go to `fences`."""
    opened: tuple[int, str] | None = None
    for line in _LINE.finditer(text):
        if not line[0]:
            continue
        fence = _FENCE.match(line[0])
        if opened is not None:
            if fence and fence["mark"].startswith(opened[1]):
                fences.append((opened[0], line.end()))
                opened = None
        elif fence:
            opened = (line.start(), fence["mark"])
        else:
            yield line.start(), line.end(), _is_row(line[0])
    if opened is not None:  # it ends with the text
        fences.append((opened[0], len(text)))


def _is_row(line: str) -> bool:
    return "|" in line and len(line) <= _LONGEST_ROW and _ROW.fullmatch(line) is not None


def _take(run: list[tuple[int, int]], found: list[tuple[int, int]]) -> None:
    if len(run) >= _LEAST_ROWS:
        found.append((run[0][0], run[-1][1]))
