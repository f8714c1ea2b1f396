"""The kinds of work that are done in the background."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from index.jobs import Jobs
from rag import shapes
from rag.errors import NotFound
from rag.jobs import Task, Work
from rag.records import Within

if TYPE_CHECKING:
    from rag.assistant import Assistant
    from rag.library import Library


def add(attest: "Assistant", task: Task) -> Mapping[str, Any]:
    """Read files that were handed over.

    Begun again, it finds what it had added unchanged, and goes on behind that.
    """
    files = [attest.settings.home / name for name in task.job.arguments["files"]]
    there = [file for file in files if file.is_file()]
    if not there and task.job.attempts == 1:  # a later attempt finds gone what was no document
        raise NotFound(
            f"the {len(files)} files of this job are not in {attest.settings.home}: where several "
            "machines take jobs of one database, they share uploads and reports of their homes"
        )
    total = attest.count_files(there)
    task.progress(0, total)
    done = []
    try:
        outcomes = attest.ingest(
            there, task.job.collection, tags=task.job.arguments["tags"], stop=task.stop
        )
        for outcome in outcomes:
            done.append(outcome)
            task.progress(len(done), max(total, len(done)), Path(outcome.path).name)
    finally:
        if not task.closing:
            attest.let_go(files)
    return shapes.outcomes(done)


def report(attest: "Assistant", task: Task) -> Mapping[str, Any]:
    """Group the documents; the page is kept under the job's number."""
    page, given = report_page(attest, task.job.id), task.job.arguments
    page.parent.mkdir(exist_ok=True)
    made = attest.report(
        page,
        clusters=given["clusters"],
        by=given["by"],
        outliers=given["outliers"],
        collection=task.job.collection,
    )
    return shapes.report(made) | {"html": f"/api/jobs/{task.job.id}/report.html"}


def report_page(attest: "Library", job_id: int) -> Path:
    return attest.settings.home / "reports" / f"{job_id}.html"


def forget(library: "Library", collection: str | None = None) -> None:
    """Delete what jobs of a collection, or of all, have left behind: it names documents."""
    from rag import every_kept

    every_kept.forget(library.settings.home)
    jobs = Jobs(library.catalog.database, "nobody")
    for key in jobs.forget(collection):
        report_page(library, key).unlink(missing_ok=True)


def every(attest: "Assistant", task: Task) -> Mapping[str, Any]:
    """Put questions to every document.

    Begun again, it finds the cells that were found, and goes on behind them.
    """
    from rag import every_export

    given = task.job.arguments
    lists: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given["within"].items()
    }
    within = Within(**lists)
    asked = attest.every(given["questions"], within=within, collection=task.job.collection)
    task.progress(0, asked.total)
    for _ in asked.fill(task.stop):
        task.progress(asked.done, asked.total)
    return every_export.shape(asked.table)


KINDS: Mapping[str, Work] = {"add": add, "every": every, "report": report}
