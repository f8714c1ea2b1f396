"""The engine of many machines does what the engine of one does, whatever dies under it."""

import json
import os
import shutil
import signal
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from encoder import Embedder
from rag import Assistant, Settings
from rag.errors import EngineError
from rag.ingest import Intake, Outcome
from rag.library import Stop
from rag.loaders import load
from rag.ray_cluster import Cluster, connected
from rag.ray_run import Parts, RayRun
from rag.ray_worker import Listed, Needed, Part, own_version, prepare, ship
from rag.sources import Source
from tests.builders import spelling_encoder
from tests.rag.conftest import Ran

SAMPLES = Path(__file__).parents[2] / "samples/library"
STORE = 100 << 20  # bytes of shared memory; Ray takes no less than 78 MB

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray warns of itself


class InProcess:
    """A cluster whose workers are this process.

    Args:
        again: gives the parts once more that it has given, as after the death of a worker
    """

    def __init__(self, embedder: Embedder, again: Callable[[Parts], Parts] | None = None) -> None:
        self._embedder = embedder
        self._again = again or (lambda parts: parts)

    def run(
        self, intake: Intake, needed: Needed, sources: Iterable[Source], *, stop: Stop
    ) -> Iterator[Outcome]:
        assert needed.fingerprint == self._embedder.fingerprint
        return RayRun(intake, self._prepared, stop=stop).run(sources)

    def _prepared(self, packs: Sequence[Sequence[Listed]]) -> Parts:
        yield from self._again(
            part for pack in packs for part in prepare(ship(pack), load, self._embedder)
        )


def in_process(embedder: Embedder, again: Callable[[Parts], Parts] | None = None) -> Cluster:
    return cast("Cluster", InProcess(embedder, again))


@pytest.fixture(scope="module")
def embedder(encoder_folder: Path) -> Embedder:
    return Embedder.load(encoder_folder)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """The samples, with files that cannot be read, copies and an archive among them."""
    folder = tmp_path / "in"
    shutil.copytree(SAMPLES, folder)
    shutil.copy(min(folder.rglob("*.md")), folder / "zz copy.md")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (folder / "not a word file.docx").write_bytes(b"PK\x03\x04 nothing")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "blank.txt").write_text("  \n \n", encoding="utf-8")
    (folder / "long.txt").write_text("The pump is checked by the shift. " * 1200, encoding="utf-8")
    with zipfile.ZipFile(folder / "bundle.zip", "w") as archive:
        archive.writestr("notes/gate.txt", "The gate is green.")
        archive.writestr("notes/broken.pdf", b"%PDF-1.7 and no more")
    return folder


def _told(outcomes: Iterable[Outcome]) -> list[tuple[Any, ...]]:
    return [(o.path, o.status, o.chunks, o.reason, o.warnings) for o in outcomes]


def _vectors(attest: Assistant) -> tuple[list[tuple[str, int, str]], NDArray[np.float32]]:
    """Every chunk, by document and place, and its vector."""
    found = attest.opened("default").vectors()
    chunks = attest.catalog.chunks(found.ids)
    keys = [(chunk.document.path, chunk.start, chunk.text) for chunk in chunks]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [keys[i] for i in order], found.rows[order]


def _assert_same(cluster: Cluster, folder: Path, encoder: Path) -> None:
    """Both engines take a folder in, and what has changed in it then."""
    homes = [
        Settings(home=folder.parent / name, encoder=str(encoder), threads=1)
        for name in ("local", "other")
    ]
    with Assistant.open(homes[0]) as local, Assistant.open(homes[1]) as other:

        def both(**given: Any) -> set[str]:
            expected = _told(local.sync(folder, **given))
            assert _told(other.sync(folder, cluster=cluster, **given)) == expected
            (keys, vectors), (other_keys, other_vectors) = _vectors(local), _vectors(other)
            assert other_keys == keys
            assert np.all(np.sum(vectors * other_vectors, axis=1) > 0.9999)
            assert not other.verify().problems
            return {status for _, status, *_ in expected}

        assert both(tags=["shelf"]) >= {"added", "duplicate", "empty", "failed"}
        assert all(row.tags == ("shelf",) for row in other.documents() if row.status == "indexed")
        with (folder / "long.txt").open("a", encoding="utf-8") as file:
            file.write("The crane is black.")
        max(folder.rglob("*.md")).rename(folder / "renamed.md")
        min(folder.rglob("*.html")).unlink()
        assert both(prune=True) >= {"updated", "unchanged", "removed", "empty", "failed"}


def test_it_takes_in_what_the_local_engine_takes_in(
    mixed: Path, encoder_folder: Path, embedder: Embedder
) -> None:
    """Two samples of a kind are enough here; on Ray it is all of them."""
    kinds = Counter[str]()
    for file in sorted(mixed.rglob("*/*")):
        kinds[file.suffix] += 1
        if file.is_file() and kinds[file.suffix] > 2:
            file.unlink()
    _assert_same(in_process(embedder), mixed, encoder_folder)


@pytest.mark.slow
def test_so_it_does_on_ray(mixed: Path, encoder_folder: Path, ray_here: None) -> None:
    with connected(None, threads=1) as cluster:
        _assert_same(cluster, mixed, encoder_folder)


def test_parts_are_the_same_however_files_are_packed(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.ray_worker._TOKENS_AT_ONCE", 600)
    listed = []
    for i, words in enumerate((3, 400, 0, 40, 1000)):
        file = tmp_path / f"{i}.txt"
        file.write_text("pump " * words, encoding="utf-8")
        listed.append(Listed(i, file, str(file)))
    whole = list(prepare(ship(listed), load, embedder))
    alone = [part for each in listed for part in prepare(ship([each]), load, embedder)]
    assert max(part.index for part in whole) > 1
    assert [(p.number, p.index, p.last, str(p.read)) for p in whole] == [
        (p.number, p.index, p.last, str(p.read)) for p in alone
    ]
    for one, other in zip(whole, alone, strict=True):
        assert np.allclose(one.vectors, other.vectors, atol=1e-3)  # padding moves the last digits


def test_what_comes_a_second_time_is_taken_in_once(
    attest: Assistant, shelf: Path, embedder: Embedder
) -> None:
    def again(parts: Parts) -> Parts:
        given: list[Part] = []
        for part in parts:
            given.append(part)
            yield from given

    outcomes = attest.ingest([shelf], cluster=in_process(embedder, again))
    assert [o.status for o in outcomes] == ["added"] * 3
    assert attest.status().pending == 0
    assert not attest.verify().problems


def test_what_is_lost_is_taken_in_by_the_next_run(
    attest: Assistant, shelf: Path, embedder: Embedder
) -> None:
    def short(parts: Parts) -> Parts:
        yield next(parts)

    told = attest.ingest([shelf], cluster=in_process(embedder, short))
    assert next(told).status == "added"
    with pytest.raises(EngineError, match="run the command again"):
        next(told)
    outcomes = attest.ingest([shelf], cluster=in_process(embedder))
    assert [o.status for o in outcomes] == ["unchanged", "added", "added"]


def test_a_stop_keeps_what_is_done(attest: Assistant, mixed: Path, embedder: Embedder) -> None:
    asked: list[bool] = []
    told = attest.sync(mixed, cluster=in_process(embedder), stop=lambda: bool(asked))
    first = [next(told) for _ in range(3)]
    asked.append(True)
    assert list(told) == []
    assert {row.path for row in attest.documents()} == {outcome.path for outcome in first}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--address", "127.0.0.1:6379"], 2, "it needs --engine ray"),
        (["--engine", "ray", "--address", "ray://127.0.0.1:10001"], 2, "on a node of the cluster"),
        (["--engine", "ray", "--address", "127.0.0.1:1"], 1, "nothing answers at 127.0.0.1:1"),
    ],
)
def test_an_address_that_cannot_be_is_refused(
    run: Callable[..., Ran], shelf: Path, arguments: list[str], code: int, said: str
) -> None:
    ran = run("sync", shelf, *arguments)
    assert ran.code == code
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_without_ray_it_says_what_to_install(
    run: Callable[..., Ran], shelf: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = run("add", shelf, "--engine", "ray")
    assert ran.code == 1
    assert "pip install 'attest-rag[ray]'" in ran.err
    assert not settings.home.exists()


@pytest.mark.slow
def test_the_command_line_runs_on_ray(run: Callable[..., Ran], shelf: Path, ray_here: None) -> None:
    (shelf / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    try:
        ran = run("sync", shelf, "--engine", "ray", "--json")
    finally:
        (shelf / "broken.pdf").unlink()
    assert ran.code == 3
    documents = json.loads(ran.out)["documents"]
    assert [each["status"] for each in documents] == ["failed", "added", "added", "added"]
    assert ran.err.strip() == ""


@pytest.fixture
def ray_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray, which reads these as it is first imported: quiet, and on 127.0.0.1."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else a busy machine starves its workers
    pytest.importorskip("ray")


@contextmanager
def _two_nodes() -> Iterator[Any]:
    """Two nodes of one core each, on this machine: the head, and one that may die."""
    from ray.cluster_utils import Cluster as Nodes

    node = {"num_cpus": 1, "object_store_memory": STORE}
    nodes = Nodes(initialize_head=True, head_node_args=node | {"include_dashboard": False})
    try:
        nodes.second = nodes.add_node(**node)
        yield nodes
    finally:
        nodes.shutdown()


def _documents(folder: Path, n: int) -> dict[str, str]:
    folder.mkdir()
    texts = {}
    for i in range(n):
        texts[f"{i:04}.txt"] = f"Note {i}: pump {i * 7} is checked every {i % 30 + 1} days.\n"
        (folder / f"{i:04}.txt").write_text(texts[f"{i:04}.txt"], encoding="utf-8")
    return texts


def _kill_a_worker(nodes: Any) -> None:
    """Ends a process that encodes on the head, without a word."""
    (raylet,) = [info.process.pid for info in nodes.head_node.all_processes["raylet"]]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet and b"Worker" in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
                return
        except OSError:  # it has just ended
            continue
    raise AssertionError("no worker to kill")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_killed_worker_and_a_killed_node_lose_and_double_nothing(
    attest: Assistant, tmp_path: Path, ray_here: None
) -> None:
    texts = _documents(tmp_path / "in", 5_000)
    told: list[Outcome] = []
    with _two_nodes() as nodes, connected(nodes.address, threads=1) as cluster:
        for outcome in attest.sync(tmp_path / "in", cluster=cluster):
            told.append(outcome)
            if len(told) == 500:
                _kill_a_worker(nodes)
            if len(told) == 2_000:
                nodes.remove_node(nodes.second, allow_graceful=False)
    assert [(Path(o.path).name, o.status) for o in told] == [(name, "added") for name in texts]
    rows = attest.documents()
    assert {Path(row.path).name: attest.text(row.id) for row in rows} == texts
    status = attest.status()
    assert (len(rows), status.chunks, status.vectors, status.pending) == (5000, 5000, 5000, 0)
    assert not attest.verify().problems


@pytest.mark.slow
def test_a_node_that_lacks_something_is_named_before_anything_is_written(
    settings: Settings,
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ray_here: None,
) -> None:
    model = spelling_encoder(tmp_path / "model", seed=1)
    with (
        _two_nodes() as nodes,
        connected(nodes.address, threads=1) as cluster,
        Assistant.open(settings.model_copy(update={"encoder": str(model)})) as attest,
    ):
        attest.encoders.of("default")  # loaded here, and gone from then on
        shutil.rmtree(model)
        with pytest.raises(EngineError, match=r"node 127.0.0.1 .* does not exist") as gone:
            list(attest.ingest([shelf], cluster=cluster))
        assert str(gone.value).count("node 127.0.0.1") == 2
        spelling_encoder(model, seed=2)
        with pytest.raises(EngineError, match=r"is another model .* copy the folder there"):
            list(attest.ingest([shelf], cluster=cluster))
        monkeypatch.setattr("rag.ray_worker.own_version", lambda: "9.9")
        with pytest.raises(EngineError, match=f"has version {own_version()} of attest, not 9.9"):
            list(attest.ingest([shelf], cluster=cluster))
        assert attest.documents() == []
        assert attest.catalog.collections() == []
