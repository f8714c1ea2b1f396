"""A process of its own that writes into a catalogue."""

import subprocess
import sys
import threading
from pathlib import Path

from index import Catalog, Collection
from tests.index.library import MODEL, document, vectors_of

THREADS = 4
DOCUMENTS = 20  # per thread


def start(catalog: Catalog, *what: str) -> subprocess.Popen[str]:
    """`replace OLD NEW` swaps one document for another, `threads NAME` adds many."""
    url = catalog.database.url.render_as_string(hide_password=False)
    module = (sys.executable, "-W", "error", "-m", "tests.index.writer")
    command = [*module, str(catalog.home), url, *what]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def _add(collection: Collection, path: str) -> None:
    new = document(path, f"first of {path}", f"second of {path}")
    collection.add(new, vectors_of(new))


def _add_from_threads(collection: Collection, name: str) -> None:
    """Adds small documents from several threads, each of which searches now and then."""
    failures: list[str] = []

    def work(thread: int) -> None:
        try:
            for i in range(DOCUMENTS):
                path = f"{name}-{thread}-{i}"
                _add(collection, path)
                if i % 10 == thread:
                    assert len(collection.lexical(path, 5).ids) >= 2
        except Exception as error:
            failures.append(f"{path}: {error!r}")

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def _main(home: str, url: str, *what: str) -> None:
    with Catalog(Path(home), url) as catalog:
        collection = Collection.open(catalog, "default", MODEL)
        match what:
            case "replace", old, new:
                collection.remove(catalog.find("default", old).id)
                _add(collection, new)
            case "threads", name:
                _add_from_threads(collection, name)


if __name__ == "__main__":
    _main(*sys.argv[1:])
