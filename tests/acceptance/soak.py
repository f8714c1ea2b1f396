"""One process that takes files in, one that deletes, four that search, at the same time.

python -m tests.acceptance.soak --seconds 120
"""

import argparse
import tempfile
import time
from pathlib import Path

from rag import Assistant, Settings
from rag.sources import stored_path
from tests.acceptance.processes import Child, Tell, homes

_SEARCHERS = 4
_BATCH = 4  # files taken in at a time
_LEAST = 4  # batches, however slow the machine is
_PATIENCE = 60  # seconds more, for something that can be deleted


def run(seconds: float) -> dict[str, int]:
    """How much each kind of process got done, in these seconds or a little more.

    Raises:
        AssertionError: one of them failed, or found what had been deleted before.
    """
    with tempfile.TemporaryDirectory() as scratch:
        settings, _ = homes(Path(scratch))
        folder = Path(scratch) / "in"
        folder.mkdir()
        gone = Path(scratch) / "deleted.txt"  # a line for each document, written after it went
        gone.touch()
        until = time.monotonic() + seconds
        writer = Child(lambda tell: _ingest(settings, folder, until, tell))
        deleter = Child(lambda tell: _delete(settings, gone, until, tell))
        searchers = [
            Child(lambda tell: _search(settings, gone, until, tell)) for _ in range(_SEARCHERS)
        ]
        ((added,),) = writer.result()
        ((removed,),) = deleter.result()
        counts = [searcher.result()[0] for searcher in searchers]
        ((stored, problems, pending),) = Child(lambda tell: _look(settings, tell)).result()
    assert not problems, problems
    assert (stored, pending) == (added - removed, 0)
    searches, hits = (sum(column) for column in zip(*counts, strict=True))
    return {"added": added, "removed": removed, "searches": searches, "hits": hits}


def _ingest(settings: Settings, folder: Path, until: float, tell: Tell) -> None:
    added = 0
    with Assistant.open(settings) as attest:
        while time.monotonic() < until or added < _LEAST * _BATCH:
            files = [folder / f"{added + i}.md" for i in range(_BATCH)]
            for i, file in enumerate(files, start=added):
                text = f"# Note {i}\n\nThe lamp number x{i} of the 창고 is lit.\n"
                file.write_text(text, encoding="utf-8")
            outcomes = attest.add(*files)
            assert {outcome.status for outcome in outcomes} == {"added"}, outcomes
            added += len(outcomes)
    tell(added)


def _delete(settings: Settings, gone: Path, until: float, tell: Tell) -> None:
    removed = 0
    with Assistant.open(settings) as attest, gone.open("a", encoding="utf-8") as log:
        while time.monotonic() < (until if removed else until + _PATIENCE):
            rows = [row for row in attest.documents() if not row.pending]
            if len(rows) < 2 * _BATCH:
                time.sleep(0.05)
                continue
            row = rows[(7 * removed) % len(rows)]
            attest.remove([row.id])
            removed += 1
            log.write(f"{row.path}\n")
            log.flush()
            time.sleep(0.05)
    tell(removed)


def _search(settings: Settings, gone: Path, until: float, tell: Tell) -> None:
    searches = hits = 0
    with Assistant.open(settings) as attest:
        while not attest.exists("default"):
            time.sleep(0.02)
        while time.monotonic() < until:
            before = set(gone.read_text(encoding="utf-8").splitlines())
            mode = ("hybrid", "lexical", "dense")[searches % 3]
            found = attest.search("the lamp of the 창고", mode=mode, k=30).hits
            for hit in found:
                assert hit.chunk.document.path not in before, f"a ghost: {hit}"
            assert len({hit.chunk.id for hit in found}) == len(found)
            searches, hits = searches + 1, hits + len(found)
    tell(searches, hits)


def _look(settings: Settings, tell: Tell) -> None:
    with Assistant.open(settings) as attest:
        problems = [f"{each.kind}: {each.detail}" for each in attest.verify().problems]
        paths = [row.path for row in attest.documents()]
        assert len(set(paths)) == len(paths)
        assert all(path == stored_path(Path(path)) for path in paths)
        tell(len(paths), problems, attest.status().pending)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    done = run(parser.parse_args().seconds)
    print(", ".join(f"{n} {what}" for what, n in done.items()))


if __name__ == "__main__":
    main()
