"""The worker that does jobs in the background, one after the other; see `index.jobs`."""

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from index import StorageError
from index.jobs import Jobs, StoredJob
from rag.errors import AttestError, NotFound
from rag.threads import stand_back

if TYPE_CHECKING:
    from rag.assistant import Assistant

_LOOKS_S = 1.0  # for jobs that another process put in line
_SAYS_S = 5.0  # that it lives, and how far it is; `index.jobs.SILENCE_S` is a multiple of it

_log = logging.getLogger(__name__)


class Task:
    """A job that is being done: its work says how far it is, and asks whether to go on."""

    def __init__(self, job: StoredJob, jobs: Jobs) -> None:
        self.job = job
        self.done, self.total, self.note = 0, job.total, ""
        self.cancelled = False
        self.closing = False
        self._jobs = jobs

    def progress(self, done: int, total: int | None = None, note: str = "") -> None:
        """Say how far it is, in any unit; it is written down within seconds."""
        self.done, self.total, self.note = done, total, note

    def stop(self) -> bool:
        """Whether to end now: it was cancelled, or the process ends and somebody goes on later."""
        return self.cancelled or self.closing

    def say(self) -> None:
        """Write down how far it is, and that the process lives."""
        if not self._jobs.report(self.job.id, self.done, self.total, self.note):
            self.cancelled = True


Work = Callable[["Assistant", Task], Mapping[str, Any]]


class Worker:
    """Does the jobs of a home while it is started; other processes may do so beside it.

    Args:
        assistant: that the work is done with
        kinds: the work by its kind; it must bear being begun again
    """

    def __init__(self, assistant: "Assistant", kinds: Mapping[str, Work]) -> None:
        name = f"{socket.gethostname()[:30]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self.jobs = Jobs(assistant.catalog.database, name)
        self._assistant = assistant
        self._kinds = dict(kinds)
        self._woken = threading.Event()
        self._closing = False
        self._task: Task | None = None
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wind_down(self) -> None:
        """Take no further job, and end the one in hand at its next step. Waits for nothing."""
        self._closing = True
        if (task := self._task) is not None:
            task.closing = True
        self._woken.set()

    def close(self, grace_s: float = 2) -> None:
        """Stop. The job that is being done waits for the next process."""
        self.wind_down()
        if self._thread.is_alive():
            self._thread.join(grace_s)
        if self._thread.is_alive() and (task := self._task) is not None:  # in a long step
            with suppress(StorageError):
                self.jobs.give_back(task.job.id)

    def put(self, kind: str, collection: str, arguments: Mapping[str, Any]) -> StoredJob:
        """Have something done.

        Raises:
            NotFound: nothing of that kind is done here.
        """
        if kind not in self._kinds:
            raise NotFound(f"no jobs of kind {kind!r}: there are {', '.join(sorted(self._kinds))}")
        job = self.jobs.put(kind, collection, arguments)
        self._woken.set()
        return job

    def _run(self) -> None:
        stand_back()
        while not self._closing:
            self._woken.clear()
            try:
                job = self.jobs.take(sorted(self._kinds))
            except StorageError as error:  # busy, or away for a while
                _log.warning("no job could be taken: %s", error)
                job = None
            if job is None:
                self._woken.wait(_LOOKS_S)
            else:
                self._do(job)

    def _do(self, job: StoredJob) -> None:
        task = self._task = Task(job, self.jobs)
        task.closing = self._closing
        over = threading.Event()
        telling = threading.Thread(target=_tell, args=(task, over), daemon=True)
        telling.start()
        try:
            result = self._kinds[job.kind](self._assistant, task)
        except Exception as error:
            self._end(task, over, telling, error, None)
        else:
            self._end(task, over, telling, None, result)
        self._task = None

    def _end(
        self,
        task: Task,
        over: threading.Event,
        telling: threading.Thread,
        error: Exception | None,
        result: Mapping[str, Any] | None,
    ) -> None:
        over.set()
        telling.join()
        key = task.job.id
        with suppress(StorageError):  # it will be taken for silent, and begun again
            task.say()
            if task.cancelled:
                self.jobs.end(key, "cancelled", result=result)
            elif task.closing:
                self.jobs.give_back(key)
            elif error is None:
                self.jobs.end(key, "done", result=result)
            else:
                self.jobs.end(key, "failed", note=_explained(task.job, error))


def _tell(task: Task, over: threading.Event) -> None:
    while not over.wait(_SAYS_S if task.total is None else 1.0):
        with suppress(StorageError):
            task.say()


def _explained(job: StoredJob, error: Exception) -> str:
    if isinstance(error, AttestError | StorageError):
        return str(error)
    _log.error("job %d (%s) failed", job.id, job.kind, exc_info=error)
    return "the server failed on this job: its log says why"
