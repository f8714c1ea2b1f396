"""Duplicates written down: JSON, CSV, and text for a terminal."""

import csv
import io
import json
import textwrap
from pathlib import Path
from typing import Any

from rag.downloads import harmless, write_aside
from rag.duplicates import Copy, Duplicates
from rag.errors import UsageError
from rag.shapes import document_brief

SUFFIXES = (".json", ".csv")
_WIDTH = 96


def check(file: Path) -> None:
    """Raises UsageError where a file's name says no format that duplicates are written in."""
    if file.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{file.name}: duplicates are written as {' or '.join(SUFFIXES)}")


def write(found: Duplicates, file: Path) -> None:
    """Write what was found in the format that the file's name says; raises as `check` does."""
    check(file)
    write_aside(file, as_csv(found) if file.suffix.lower() == ".csv" else as_json(found))


def shape(found: Duplicates) -> dict[str, Any]:
    """The JSON that `attest duplicates --json` prints."""
    return {
        "compared": found.compared,
        "at_least": found.at_least,
        "groups": [
            {
                "first": document_brief(group.first),
                "copies": [_copy(copy) for copy in group.copies],
            }
            for group in found.groups
        ],
    }


def as_json(found: Duplicates) -> bytes:
    return (json.dumps(shape(found), ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def as_csv(found: Duplicates) -> bytes:
    """A line a difference; a copy without any has one line. UTF-8 with a mark, no formulas."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(
        ("group", "first", "copy", "likeness", "same file", "in the first", "in the copy")
    )
    for number, group in enumerate(found.groups, 1):
        for copy in group.copies:
            told = [(each.before, each.after) for each in copy.differences] or [("", "")]
            known = (
                str(number),
                group.first.path,
                copy.document.path,
                f"{copy.likeness:.3f}",
                "yes" if copy.same_file else "no",
            )
            for before, after in told:
                rows.writerow(map(harmless, (*known, before, after)))
    return text.getvalue().encode("utf-8-sig")


def text(found: Duplicates) -> str:
    """As a person reads it."""
    if not found.groups:
        return f"no duplicates among {found.compared} documents"
    blocks = []
    for group in found.groups:
        lines = [f"{group.first.title} — {group.first.path}"]
        for copy in group.copies:
            lines.append(f"  {_likeness(copy)}  {copy.document.path}")
            for each in copy.differences:
                lines += _side("-", each.before) + _side("+", each.after)
            if copy.more:
                lines.append(f"      … and {copy.more} more differences")
        blocks.append("\n".join(lines))
    n = sum(len(group.copies) for group in found.groups)
    blocks.append(f"{n} copies in {len(found.groups)} groups, of {found.compared} documents")
    return "\n\n".join(blocks)


def _likeness(copy: Copy) -> str:
    return "same file" if copy.same_file else f"{copy.likeness:8.1%} "


def _side(mark: str, sentence: str) -> list[str]:
    flat = textwrap.shorten(sentence, 2 * _WIDTH, placeholder=" …")
    return textwrap.wrap(
        flat, _WIDTH, initial_indent=f"      {mark} ", subsequent_indent="        "
    )


def _copy(copy: Copy) -> dict[str, Any]:
    return {
        "document": document_brief(copy.document),
        "likeness": copy.likeness,
        "same_file": copy.same_file,
        "differences": [
            {
                "before": each.before,
                "after": each.after,
                "before_start": each.before_start,
                "after_start": each.after_start,
            }
            for each in copy.differences
        ],
        "more": copy.more,
    }
