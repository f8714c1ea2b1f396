"""Kills the library at random moments, and looks whether anything was lost or left behind.

    python -m tests.acceptance.kills --kills 200 --seed 1

Each round changes some files, starts one command over them in a process of its own, and ends that
by SIGKILL. Then the home is opened as a user would open it after a crash of the machine's power.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from rag import Assistant, Settings
from rag.sources import stored_path
from tests.acceptance.processes import Child, Tell, homes

COMMANDS = ("add", "sync", "remove", "reembed", "rebuild")
_FILES = 24  # in the folder, at most
_SETTLED = 5  # rounds after which a run to the end must bring the library to what the folder holds


@dataclass
class World:
    """What the user has, and what the library said that it has done."""

    rng: Random
    settings: Settings
    folder: Path
    encoders: tuple[str, str]
    done: dict[str, str] = field(default_factory=dict)  # text by path, as last reported
    removed: set[str] = field(default_factory=set)  # paths reported removed, not in the folder
    versions: int = 0
    command: str = ""  # of this round
    victims: tuple[str, ...] = ()  # that it is to remove, if it is to remove any

    def change_files(self) -> None:
        """Writes, rewrites, renames and deletes a few files."""
        for _ in range(self.rng.randint(1, 6)):
            files = sorted(self.folder.iterdir())
            choice = self.rng.random()
            if len(files) < _FILES and (choice < 0.5 or not files):
                self.write(self.folder / f"문서 {self.rng.randrange(10_000)}.md")
            elif choice < 0.75:
                self.write(self.rng.choice(files))
            elif choice < 0.88:
                file = self.rng.choice(files)
                file.rename(self.folder / f"renamed {self.rng.randrange(10_000)}.md")
            else:
                self.rng.choice(files).unlink()

    def write(self, file: Path) -> None:
        self.versions += 1
        parts = self.rng.randint(1, 5)
        own = [f"## Part {i}\n\nNote v{self.versions}p{i}x of the 창고." for i in range(parts)]
        file.write_text("# Notes\n\n" + "\n\n".join(own) + "\n", encoding="utf-8")

    def on_disk(self) -> dict[str, str]:
        return {stored_path(f): f.read_text("utf-8") for f in sorted(self.folder.iterdir())}


def run(kills: int, seed: int) -> int:
    """Kill so many commands; how many rounds it took.

    Raises:
        AssertionError: something was lost, left behind or doubled; the message says what.
    """
    killed = rounds = 0
    with tempfile.TemporaryDirectory() as scratch:
        world = _world(Path(scratch), seed)
        while killed < kills:
            rounds += 1
            killed += _round(world)
            _check(world)
            if rounds % _SETTLED == 0:
                _settle(world)
        _settle(world)
    return rounds


def _world(scratch: Path, seed: int) -> World:
    settings, other = homes(scratch)
    folder = scratch / "보고서"
    folder.mkdir()
    world = World(Random(seed), settings, folder, (settings.encoder, str(other)))
    for i in range(8):
        world.write(folder / f"{i}.md")
    _settle(world)
    return world


def _round(world: World) -> bool:
    """One command, killed; whether it was still at work then."""
    world.change_files()
    world.command = command = world.rng.choice(COMMANDS)
    victims = world.rng.sample(sorted(world.done), min(3, len(world.done)))
    world.victims = tuple(victims) if command == "remove" else ()
    encoder = world.rng.choice(world.encoders)
    disk = world.on_disk()

    def work(tell: Tell) -> None:
        tell("begun")
        with Assistant.open(world.settings) as attest:
            for outcome in _command(attest, command, world.folder, victims, encoder):
                tell(*outcome)

    child = Child(work)
    time.sleep(world.rng.uniform(0.0, 0.9) ** 1.5)
    was_working = child.kill()
    for said in child.told():
        assert said[0] != "failed", said[1]
        _note(world, said, disk)
    return was_working


def _command(
    attest: Assistant, command: str, folder: Path, victims: list[str], encoder: str
) -> Iterator[tuple[str, str]]:
    match command:
        case "add" | "sync":
            given = attest.ingest([folder]) if command == "add" else attest.sync(folder, prune=True)
            yield from ((outcome.status, outcome.path) for outcome in given)
        case "remove":
            there = {row.path for row in attest.documents()}
            for path in victims:
                if path not in there:  # it went, and the kill came before that was said
                    continue
                yield from ((outcome.status, outcome.path) for outcome in attest.remove([path]))
        case "reembed":
            yield from (("moved", step.new.name) for step in attest.reembed(encoder))
        case "rebuild":
            yield from (("rebuilt", str(n)) for n in attest.rebuild())


def _note(world: World, said: list[str], disk: dict[str, str]) -> None:
    match said:
        case ["added" | "updated" | "unchanged" | "duplicate", path]:
            world.done[path] = disk[path]
            world.removed.discard(path)
        case ["removed", path]:
            world.done.pop(path, None)
            world.removed.add(path)


def _check(world: World) -> None:
    """Looks at the home from a fresh process, as after a crash."""
    stored, problems, ghosts, doubled = Child(lambda tell: tell(*_seen(world))).result()[0]
    assert not problems, problems
    assert not ghosts, f"ghosts: {ghosts}"
    assert not doubled, f"doubled: {doubled}"
    disk = world.on_disk()
    for path, text in list(world.done.items()):
        if path in stored:
            assert stored[path] in (text, disk.get(path)), f"another text: {path}"
            world.done[path] = stored[path]  # an update may have come to its end unreported
        else:
            assert _went_rightly(world, path, text, stored, disk), (
                f"lost by {world.command}: {path}"
            )
            del world.done[path]
    for path in world.removed - disk.keys():
        assert path not in stored, f"back again: {path}"


def _went_rightly(
    world: World, path: str, text: str, stored: dict[str, str], disk: dict[str, str]
) -> bool:
    """Whether a document that is not there was let go of, and the kill came before that was said.

    It was if this round asked for its removal, if its file is gone and the folder was synchronised,
    or if its file has another name, under which the document is there.
    """
    if path in world.victims:
        return True
    return path not in disk and (world.command == "sync" or text in stored.values())


def _seen(world: World) -> tuple[dict[str, str], list[str], list[str], list[str]]:
    with Assistant.open(world.settings) as attest:
        rows = attest.documents()
        stored = {row.path: attest.text(row.id) for row in rows}
        found = attest.verify()
        problems = [f"{each.kind}: {each.detail}" for each in found.problems]
        ghosts, doubled = [], []
        for mode in ("lexical", "dense"):
            hits = attest.search("note of the 창고", mode=mode, k=500).hits
            ids = [hit.chunk.id for hit in hits]
            doubled += [str(key) for key in set(ids) if ids.count(key) > 1]
            for hit in hits:
                text = stored.get(hit.chunk.document.path, "")
                if text[hit.chunk.start : hit.chunk.end] != hit.chunk.text:
                    ghosts.append(f"{mode}: {hit.chunk.document.path}")
        doubled += [row.path for row in rows if [r.path for r in rows].count(row.path) > 1]
        return stored, problems, ghosts, doubled


def _settle(world: World) -> None:
    """A run to the end: the library holds what the folder holds, and finds each part of it."""
    disk = world.on_disk()

    def work(tell: Tell) -> None:
        with Assistant.open(world.settings) as attest:
            outcomes = list(attest.sync(world.folder, prune=True))
            stored = {row.path: attest.text(row.id) for row in attest.documents()}
            tell([(outcome.status, outcome.path) for outcome in outcomes], stored)
            for path, text in disk.items():
                word = text.split("Note ")[1].split()[0]
                first = attest.search(word, mode="lexical", k=3).hits[0].chunk
                assert word in first.text, (path, first.text)
            status = attest.status()
            assert (status.pending, status.chunks) == (0, status.vectors), status
            assert not attest.verify().problems

    ((outcomes, stored),) = Child(work).result()
    assert stored == disk
    for said in outcomes:
        _note(world, said, disk)
    world.done = dict(stored)  # a file of another name was told by its new one alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    rounds = run(given.kills, given.seed)
    print(f"{given.kills} kills in {rounds} rounds, {time.monotonic() - began:.0f} s: nothing lost")


if __name__ == "__main__":
    main()
