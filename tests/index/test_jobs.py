"""Jobs between processes: each is done once, whoever dies over it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from index import Catalog
from index.errors import UnknownJob
from index.jobs import Jobs

KINDS = ("add", "report")


@pytest.fixture
def here(catalog: Catalog) -> Jobs:
    return Jobs(catalog.database, "here")


@pytest.fixture
def there(catalog: Catalog) -> Jobs:
    return Jobs(catalog.database, "there")


def test_a_job_is_put_taken_reported_and_ended(here: Jobs, there: Jobs) -> None:
    put = here.put("add", "default", {"files": ["가.txt"]})
    assert (put.status, put.done, put.total, put.attempts) == ("waiting", 0, None, 0)
    assert there.take(["report"]) is None
    taken = there.take(KINDS)
    assert taken is not None
    assert (taken.id, taken.status, taken.attempts) == (put.id, "running", 1)
    assert taken.arguments == {"files": ["가.txt"]}
    assert here.take(KINDS) is None
    assert there.report(put.id, 3, 9, "가.txt")
    seen = here.get(put.id)
    assert (seen.done, seen.total, seen.note) == (3, 9, "가.txt")
    there.end(put.id, "done", result={"n": 1})
    done = here.get(put.id)
    assert (done.status, done.result, done.ended_at is None) == ("done", {"n": 1}, False)
    assert here.counts() == {"done": 1}


def test_the_oldest_goes_first_and_each_goes_once(here: Jobs, there: Jobs) -> None:
    made = [here.put("add", "default", {}).id for _ in range(20)]
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda i: (here, there)[i % 2].take(KINDS), range(24)))
    assert sorted(job.id for job in taken if job) == made


def test_a_process_that_falls_silent_loses_its_job(
    here: Jobs, there: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = here.put("add", "default", {}).id
    assert here.take(KINDS)
    assert there.take(KINDS) is None
    monkeypatch.setattr("index.jobs.SILENCE_S", -1)
    again = there.take(KINDS)
    assert again is not None
    assert (again.id, again.attempts) == (key, 2)
    assert not here.report(key, 5, 9, "late")  # it goes on no longer
    here.end(key, "failed", note="late")
    assert there.get(key).status == "running"


def test_a_job_that_ends_every_process_is_given_up(
    here: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = here.put("add", "default", {}).id
    monkeypatch.setattr("index.jobs.SILENCE_S", -1)
    assert [here.take(KINDS) is not None for _ in range(4)] == [True, True, True, False]
    failed = here.get(key)
    assert failed.status == "failed"
    assert "ended 3 times" in failed.note


def test_a_job_that_is_given_back_waits_and_loses_no_attempt(here: Jobs, there: Jobs) -> None:
    key = here.put("add", "default", {}).id
    for _ in range(5):
        assert here.take(KINDS)
        here.give_back(key)
    taken = there.take(KINDS)
    assert taken is not None
    assert taken.attempts == 1


def test_cancelling(here: Jobs, there: Jobs) -> None:
    waiting, running, done = (here.put("add", "default", {}).id for _ in range(3))
    assert here.cancel(waiting).status == "cancelled"
    assert there.take(KINDS)
    told = here.cancel(running)
    assert (told.status, told.cancel) == ("running", True)
    assert not there.report(running, 1, None, "")
    there.end(running, "cancelled")
    assert there.take(KINDS)
    there.end(done, "done")
    assert here.cancel(done).status == "done"
    assert here.counts() == {"cancelled": 2, "done": 1}
    with pytest.raises(UnknownJob, match="no job 99"):
        here.cancel(99)


def test_jobs_are_listed_by_collection_the_newest_first(here: Jobs) -> None:
    ids = [here.put("add", name, {}).id for name in ("a", "b", "a")]
    assert [job.id for job in here.all()] == ids[::-1]
    assert [job.id for job in here.all(["a"])] == [ids[2], ids[0]]
    assert here.all([]) == []
    assert len(here.all(limit=1)) == 1


def test_old_ones_are_forgotten(here: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.jobs._KEPT", 2)
    ids = [here.put("add", "default", {}).id for _ in range(4)]
    for key in ids:
        here.cancel(key)
    last = here.put("add", "default", {}).id
    assert [job.id for job in here.all()] == [last, *ids[:1:-1]]
