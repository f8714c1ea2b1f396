"""Writers that are in each other's way on a server, where several write at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product

import pytest
from sqlalchemy import text

from index import Catalog
from index.conversations import Conversations
from index.database import repeated
from index.errors import UnknownChunk, UnknownCollection, UnknownDocument, WritersCrossed
from index.jobs import Jobs
from index.keys import Keys
from index.verify import verify
from tests.index.library import MODEL, document, vectors_of


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


def _crossing(catalog: Catalog, meet: threading.Barrier) -> Callable[[str, str], str]:
    """Writes into two collections, each of which another such writer has written into already."""
    for name in ("a", "b"):
        catalog.create(name, MODEL)
    update = text("UPDATE collection SET fusion_weight = 0 WHERE name = :name")

    def write(first: str, second: str) -> str:
        with catalog.database.writing() as connection:
            connection.execute(update, {"name": first})
            if not meet.broken:
                meet.wait()
            connection.execute(update, {"name": second})
        return "done"

    return write


def test_of_two_that_wait_for_each_other_one_is_told(catalog: Catalog) -> None:
    write = _crossing(catalog, threading.Barrier(2, timeout=10))

    def attempt(first: str, second: str) -> str:
        try:
            return write(first, second)
        except WritersCrossed as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        done, crossed = sorted(pool.map(attempt, "ab", "ba"), key=len)
    assert done == "done"
    assert "(deadlock detected): nothing was written, try again" in crossed


def test_of_two_that_wait_for_each_other_both_end_well(catalog: Catalog) -> None:
    meet = threading.Barrier(2, timeout=10)
    write = _crossing(catalog, meet)

    def attempt(first: str, second: str) -> str:
        try:
            return write(first, second)
        except WritersCrossed:
            meet.abort()  # whoever begins again meets nobody
            raise

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(repeated(attempt), "ab", "ba")) == ["done", "done"]


def test_what_goes_away_beneath_a_writer_is_named(catalog: Catalog) -> None:
    """It had found the collection, and has to wait until that is gone."""
    catalog.create("default", MODEL)
    raised: list[BaseException] = []

    def remember() -> None:
        try:
            catalog.remember("default", "why?")
        except Exception as error:
            raised.append(error)

    with catalog.database.writing() as connection:
        connection.execute(text("DELETE FROM collection"))
        thread = threading.Thread(target=remember)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(10)
    assert [type(error) for error in raised] == [UnknownCollection]


def test_writers_of_all_kinds_in_conflict_end_well(catalog: Catalog) -> None:
    """Whatever they do to the same rows at once, none fails but for what another has removed."""
    talks, keys = Conversations(catalog.database), Keys(catalog.database)
    catalog.create("default", MODEL)

    def add(n: int) -> None:
        new = document(f"{n % 3}.txt", f"passage {n % 2}", "the same")
        catalog.add("default", new, vectors_of(new), MODEL.fingerprint)

    def judge(n: int) -> None:
        for row in catalog.documents("default")[:1]:
            for chunk in catalog.chunk_ids(row.id)[:1]:
                catalog.judge("default", f"{n % 3}?", chunk, "up")

    def remove(_: int) -> None:
        for row in catalog.documents("default")[:1]:
            catalog.remove(row.id)

    def talk(n: int) -> None:
        uid, message = talks.ask("default", "", "q", title="t")
        talks.settle(message, "answered", "a")
        talks.ask("default", "", "r", title="t", uid=uid, instead_of=message)

    def work(n: int) -> None:
        jobs = Jobs(catalog.database, f"worker {n}")
        jobs.put("wait", "default", {})
        if job := jobs.take(["wait"]):
            jobs.end(job.id, "done")

    kinds: list[Callable[[int], object]] = [
        add,
        judge,
        remove,
        talk,
        work,
        lambda n: catalog.remember("default", f"{n % 3}?"),
        lambda n: catalog.forget("default"),
        lambda n: talks.clear("default"),
        lambda n: catalog.set_fusion_weight("default", 0.5),
        lambda n: keys.set_password("hash"),
    ]

    def run(given: tuple[int, Callable[[int], object]]) -> None:
        with suppress(UnknownDocument, UnknownChunk):
            given[1](given[0])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, product(range(8), kinds)))
    assert keys.guarded().password
    counts = Jobs(catalog.database, "nobody").counts()
    assert counts["done"] + counts.get("waiting", 0) == 8  # none fell between two workers
    assert verify(catalog).problems == ()
