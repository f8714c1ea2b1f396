import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rag.errors import AttestError
from rag.loaders import BrokenFile, EmptyFile, LoadError, UnsupportedFile, load
from rag.loaders.isolation import LoaderPool

ROOT = Path(__file__).parents[3]
START = (sys.executable, str(Path(__file__).with_name("hostile.py")), str(ROOT))

posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to send itself")


@pytest.fixture(scope="module")
def hostiles() -> Iterator[LoaderPool]:
    with LoaderPool(workers=2, start=START) as pool:
        yield pool


@pytest.fixture(scope="module")
def pool() -> Iterator[LoaderPool]:
    with LoaderPool(workers=1) as pool:
        yield pool


def _pid(pool: LoaderPool, name: str = "good") -> int:
    return int(pool.load(Path(name)).text.split()[-1])


def _runs(pid: int) -> bool:
    """False also for a process that has ended and that nobody has asked about yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not stat.parent.parent.exists()


def _ends(pid: int) -> bool:
    return _becomes(lambda: not _runs(pid))


def _becomes(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 5
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


@posix_only
def test_a_hostile_file_harms_only_itself() -> None:
    reasons = {
        "crash": r"crashed \(signal 11\): .*damaged or hostile.* 300 MB .*save it anew",
        "exit": r"crashed \(exit code 3\)",
        "garbage": r"went wrong \(a message of \d+ bytes where at most 16000000",
        "huge": r"went wrong \(a message of 9187201950435737471 bytes",
        "false": r"went wrong \(a reply that does not hold together\): the file is hostile",
        "memory": r"needs more than 300 MB of memory: split it, or open it",
    }
    if sys.platform != "linux":
        del reasons["memory"]
    with LoaderPool(workers=1, memory=300 << 20, start=START) as pool:
        for path, outcome in pool.load_all(Path(name) for name in reasons):
            assert isinstance(outcome, BrokenFile)
            assert re.search(reasons[path.name], str(outcome)), outcome
        assert pool.load(Path("print")).text.startswith("print ")
        assert pool.load(Path("good")).text.startswith("good ")


@posix_only
def test_what_flees_with_the_pipes_keeps_nobody_waiting() -> None:
    with LoaderPool(workers=1, ocr_seconds=0.2, start=START) as pool:
        with pytest.raises(BrokenFile, match=r"took longer than 0\.2 s"):
            pool.load(Path("flee"), ocr=True)
        assert pool.load(Path("good")).text


@posix_only
def test_ctrl_c_in_a_terminal_does_not_reach_the_processes(hostiles: LoaderPool) -> None:
    pid = _pid(hostiles)
    os.kill(pid, signal.SIGINT)

    assert os.getsid(pid) == pid
    assert _pid(hostiles) == pid


def test_a_process_loads_what_it_needs_and_no_more(hostiles: LoaderPool) -> None:
    modules = set(hostiles.load(Path("modules")).text.split())

    assert "rag.loaders.formats" in modules
    assert not modules & {"torch", "faiss", "sqlalchemy", "gradio", "fastapi", "typer", "sklearn"}


def test_a_file_is_not_blamed_for_what_an_earlier_one_did() -> None:
    with LoaderPool(workers=1, start=START) as pool:
        assert _pid(pool, "spoil") != _pid(pool)


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("empty", EmptyFile, "nothing in it"),
        ("unsupported", UnsupportedFile, "of another kind [31m"),
        ("bug", BrokenFile, "reading it failed (KeyError: 'a fault\\nof a library'): open it in"),
    ],
)
def test_reasons_come_across(
    hostiles: LoaderPool, name: str, error: type[LoadError], reason: str
) -> None:
    before = _pid(hostiles)

    with pytest.raises(error) as raised:
        hostiles.load(Path(name))

    assert str(raised.value).startswith(reason)
    assert _pid(hostiles) == before  # it was no reason to start anew


@posix_only
def test_a_hang_ends_with_what_it_started(tmp_path: Path) -> None:
    with LoaderPool(workers=1, seconds=2, start=START) as pool:
        with pytest.raises(BrokenFile, match=r"took longer than 2 s: split it, or .*save it anew"):
            pool.load(tmp_path / "hang")
        pids = [int(pid) for pid in (tmp_path / "hang.pids").read_text(encoding="utf-8").split()]

        assert len(pids) == 2
        assert all(_ends(pid) for pid in pids)
        assert _pid(pool) not in pids


def test_recognising_text_may_take_longer() -> None:
    with LoaderPool(workers=1, seconds=60, ocr_seconds=0.05, start=START) as pool:
        assert pool.load(Path("slow")).text
        with pytest.raises(BrokenFile, match=r"took longer than 0\.05 s"):
            pool.load(Path("slow"), ocr=True)


def test_files_come_in_their_order_and_a_few_are_read_ahead(hostiles: LoaderPool) -> None:
    taken = []

    def paths() -> Iterator[Path]:
        for name in ("slow", "empty", *(f"good{i}" for i in range(40))):
            taken.append(name)
            yield Path(name)

    outcomes = hostiles.load_all(paths(), ocr=True)
    assert taken == []
    path, first = next(outcomes)
    assert len(taken) == 4
    rest = list(outcomes)

    assert not isinstance(first, LoadError)
    assert (path, first.title, first.warnings) == (Path("slow"), "slow", ("True",))
    assert [path.name for path, _ in rest] == taken[1:]
    assert isinstance(rest[0][1], EmptyFile)
    for path, outcome in rest[1:]:
        assert not isinstance(outcome, LoadError)
        assert outcome.title == path.name


def test_large_files_are_read_ahead_one_at_a_time(hostiles: LoaderPool, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(60_000_000)
    taken = []

    def paths() -> Iterator[Path]:
        for name in range(4):
            taken.append(name)
            yield large

    outcomes = hostiles.load_all(paths())
    next(outcomes)

    assert taken == [0]
    assert len(list(outcomes)) == 3


def test_an_iteration_that_is_left_early_leaves_nothing_behind() -> None:
    with LoaderPool(workers=2, start=START) as pool:
        outcomes = pool.load_all(Path(f"good{i}") for i in range(1_000_000))
        seen = [next(outcomes)[1] for _ in range(5)]
        outcomes.close()
        assert pool.load(Path("good")).text
    pids = {int(text.text.split()[-1]) for text in seen if not isinstance(text, LoadError)}

    assert 1 <= len(pids) <= 2
    assert not any(_runs(pid) for pid in pids)


def test_several_threads_share_the_processes(hostiles: LoaderPool) -> None:
    names = [f"good{i}" for i in range(40)]
    with ThreadPoolExecutor(4) as threads:
        texts = [text.text for text in threads.map(lambda name: hostiles.load(Path(name)), names)]

    assert [text.split()[0] for text in texts] == names
    assert len({text.split()[1] for text in texts}) <= 2


@posix_only
def test_closing_ends_what_is_being_read_and_blames_no_file(tmp_path: Path) -> None:
    pool = LoaderPool(workers=1, start=START)
    with ThreadPoolExecutor(2) as threads:
        running = threads.submit(pool.load, tmp_path / "hang")
        pids = tmp_path / "hang.pids"
        assert _becomes(lambda: pids.exists() and " " in pids.read_text(encoding="utf-8"))
        waiting = threads.submit(pool.load, Path("good"))
        pool.close()

        for future in (running, waiting):
            with pytest.raises(AttestError, match="their reader was closed"):
                future.result(5)
    with pytest.raises(AttestError, match="their reader was closed"):
        pool.load(Path("good"))
    with pytest.raises(AttestError, match="their reader was closed"):
        next(pool.load_all([Path("good")]))
    pool.close()


_PARENT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from rag.loaders.isolation import LoaderPool
pool = LoaderPool(workers=2, start=[sys.executable, *sys.argv[2:3], sys.argv[1]])
print(pool.load(Path("good")).text, flush=True)
pool.load(Path(sys.argv[3]))
"""


@posix_only
def test_a_parent_that_is_killed_takes_its_processes_along(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PARENT, str(ROOT), START[1], str(tmp_path / "hang")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        idle = int(parent.stdout.readline().split()[-1])
        pids = tmp_path / "hang.pids"
        assert _becomes(lambda: pids.exists() and " " in pids.read_text(encoding="utf-8"))
        parent.kill()
    busy = int(pids.read_text(encoding="utf-8").split()[0])

    assert _ends(idle)
    assert _ends(busy)
    os.kill(int(pids.read_text(encoding="utf-8").split()[1]), 9)


_SCRIPT = """
import sys
from pathlib import Path
from rag.loaders.isolation import LoaderPool
pool = LoaderPool(workers=1)
print(pool.load(Path(sys.argv[1])).text)
pool.close()
"""


def test_a_bare_script_reads_with_the_package_that_it_found(tmp_path: Path) -> None:
    unpacked = tmp_path / "푼 것 unpacked"
    for package in ("index", "rag"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, unpacked / package, ignore=ignored)
    with (unpacked / "rag/loaders/text.py").open("a", encoding="utf-8") as source:
        source.write("\n\ndef read_text(data: bytes, stem: str) -> ExtractedText:\n")
        source.write('    return ExtractedText("from the copy", stem, "text/plain")\n')
    script = tmp_path / "scripts" / "script.py"
    script.parent.mkdir()
    script.write_text(_SCRIPT, encoding="utf-8")
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "note.txt").write_text("note", encoding="utf-8")
    (folder / "json.py").write_text("raise SystemExit('the folder was imported')", encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-W", "error", script, "note.txt"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout == "from the copy\n"


@pytest.mark.parametrize(
    "name",
    [
        "plain.txt",
        "점심 메뉴  수요일.txt",
        unicodedata.normalize("NFD", "점심메뉴.txt"),
        "line\nfeed.txt",
        pytest.param(
            os.fsdecode("회의록.txt".encode("cp949")),
            marks=pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 there"),
        ),
    ],
)
def test_any_name_opens_and_reads_as_it_does_here(
    pool: LoaderPool, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text("된장국과 rice", encoding="utf-8")

    assert pool.load(path) == load(path)


def test_a_file_is_found_from_where_the_caller_stands(
    pool: LoaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.load(Path(__file__))
    (tmp_path / "note.txt").write_text("note", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert pool.load(Path("note.txt")).text == "note"


def test_what_is_not_there_is_a_reason_as_it_is_here(pool: LoaderPool, tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(BrokenFile) as here:
            load(path)
        with pytest.raises(BrokenFile) as there:
            pool.load(path)
        assert str(there.value) == str(here.value)


def test_a_process_that_does_not_start_blames_no_file(tmp_path: Path) -> None:
    for start, reason in (
        ((sys.executable, "-c", "import nowhere"), r"\(ModuleNotFoundError: .*'nowhere'\): inst"),
        ((sys.executable, "-c", "raise SystemExit(4)"), r"\(exit code 4\)"),
        ((str(tmp_path / "none"),), "No such file"),
    ):
        with (
            LoaderPool(workers=1, start=start) as pool,
            pytest.raises(AttestError, match=f"did not start .*{reason}"),
        ):
            next(pool.load_all([Path("good")]))


def test_nothing_starts_before_it_is_needed() -> None:
    before = threading.active_count()
    with LoaderPool(workers=2, start=["none"]):
        assert threading.active_count() <= before


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"workers": 0}, r"workers \(0\) must be at least 1"),
        ({"workers": 1, "seconds": 0}, r"seconds \(0\) and .* more than 0 and at most 86,400"),
        ({"workers": 1, "ocr_seconds": 1e6}, r"ocr_seconds \(1e\+06\) must be more than 0"),
        ({"workers": 1, "memory": 1 << 20}, r"memory \(1,048,576\) must be at least 268,435,456"),
    ],
)
def test_limits_that_cannot_be_are_refused(limits: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        LoaderPool(**limits)
