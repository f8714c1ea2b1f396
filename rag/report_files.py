"""A report as a file: the suffix of its name says which kind."""

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from rag import shapes
from rag.downloads import harmless, write_aside
from rag.errors import UsageError
from rag.loaders.cleaning import one_line
from rag.records import Report
from rag.report_words import said, words_in

_LISTED = 20  # documents of a group that Markdown names
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>#|"})


def kind_of(file: Path) -> Callable[[Report], str]:
    """What writes a file of this name.

    Raises:
        UsageError: its suffix is none that is known.
    """
    kinds = {
        ".html": _page,
        ".htm": _page,
        ".json": as_json,
        ".csv": as_csv,
        ".md": as_markdown,
        ".markdown": as_markdown,
    }
    try:
        return kinds[file.suffix.lower()]
    except KeyError:
        raise UsageError(
            f"{file.name}: a report is written as .html, .json, .csv or .md: "
            "name the file with one of these endings"
        ) from None


def is_page(file: Path) -> bool:
    return file.suffix.lower() in (".html", ".htm")


def write(report: Report, file: Path) -> None:
    """Write a report beside the name first, so that no half of one is ever found there."""
    # Of a spreadsheet, Excel knows by the mark alone that it is UTF-8.
    encoding = "utf-8-sig" if file.suffix.lower() == ".csv" else "utf-8"
    write_aside(file, kind_of(file)(report).encode(encoding))


def as_json(report: Report) -> str:
    return json.dumps(shapes.report(report), ensure_ascii=False, indent=2) + "\n"


def as_csv(report: Report) -> str:
    """A row a document, the largest cluster first; cells that a spreadsheet would run are text."""
    stream = io.StringIO()
    rows = csv.writer(stream)
    rows.writerow(
        ("cluster", "label", "cluster_size", "share_pct", "words", "document", "title", "path",
         "media_type", "modified")
    )  # fmt: skip
    for group in report.clusters:
        known = (group.id, group.label, group.size, group.share_pct, " ".join(group.words))
        rows.writerows(
            _cells((*known, row.id, row.title, row.path, row.media_type, row.modified or ""))
            for row in group.documents
        )
    rows.writerows(
        _cells(("", "", "", "", "", row.id, row.title, row.path, row.media_type,
                row.modified or ""))
        for row in report.outliers
    )  # fmt: skip
    return stream.getvalue()


def as_markdown(report: Report) -> str:
    """For people who read it as text, and for programs that make something else of it."""
    words = words_in(report.language)
    n_items = report.n_passages if report.by == "passages" else report.n_documents
    lines = [f"# {words('title')}", ""]
    lines += [f"{n_items} {words(report.by)} · {len(report.clusters)} {words('groups')}", ""]
    lines += [f"> {_plain(note)}\n" for note in said(report.remarks, words) or report.notes]
    if report.clusters:
        head = (words("group"), words("size"), words("share"), words("words"))
        lines += [f"|  | {' | '.join(head)} |", "|---:|---|---:|---:|---|"]
        lines += [
            f"| {group.id} | {_plain(group.label)} | {group.size} | {group.share_pct:.1f} % "
            f"| {_plain(', '.join(group.words))} |"
            for group in report.clusters
        ]
        if report.unclustered:
            lines.append(
                f"|  | {words('outliers')} | {report.unclustered} "
                f"| {report.unclustered_pct:.1f} % |  |"
            )
    for group in report.clusters:
        lines += ["", f"## {group.id}. {_plain(group.label)}", ""]
        lines += [f"> {_plain(quote)}\n" for quote in group.representative]
        lines += [f"- {_plain(row.title)}" for row in group.documents[:_LISTED]]
        if len(group.documents) > _LISTED:
            lines.append(f"- … {len(group.documents) - _LISTED}")
    return "\n".join(lines) + "\n"


def _cells(values: Iterable[object]) -> list[object]:
    return [harmless(value) if isinstance(value, str) else value for value in values]


def _plain(text: str) -> str:
    """One line that Markdown takes as it is."""
    return one_line(text).translate(_MARKS)


def _page(report: Report) -> str:
    from rag.report_page import page

    return page(report)
