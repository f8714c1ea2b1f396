"""One real server over a tiny library, and a real browser, for tests of the page."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from rag.errors import ModelMissing
from rag.models import DEFAULT_ENCODER, DEFAULT_GENERATOR, locate
from rag.settings import default_home

_START_S = 60
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

LONG_NAME = f"{'a-file-name-that-goes-on-and-on-' * 3}until-the-end.txt"
FLOW = "The Orinoco pump moves 42 litres a minute at full speed."
MARKED = "The **Orinoco pump** moves `42 litres` a minute at *full* speed."  # FLOW as written
FILLER = "Nothing on this line is about numbers, and it is only here to fill the page. "
DOCUMENTS = {
    "orinoco.md": f"# Orinoco pump\n\n## Flow\n\n{FILLER * 9}\n\n{MARKED}\n\n{FILLER * 9}\n",
    "hostile.txt": (
        "The valve handbook says <script>window.__pwn = 1</script> where a<b && c>d. "
        "Turn <img src=x onerror='window.__pwn = 2'> slowly ${window.__pwn = 3} {{4}}.\n"
    ),
    "회의실.txt": "회의실 이용 안내\n\n회의실 예약은 총무팀 내선 311로 신청합니다.\n",
    LONG_NAME: "This document has the longest name of the library, and little else to say.\n",
}

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server over the small documents listens; it must have had no complaint at its end."""
    models = default_home() / "models"
    try:
        for name in (DEFAULT_ENCODER, DEFAULT_GENERATOR):
            locate(name, models)
    except ModelMissing as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("page")
    said = folder / "stderr.txt"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ATTEST_")}
    environment = {
        "ATTEST_HOME": str(folder / "home"),
        "ATTEST_MODELS_DIR": str(models),
        "ATTEST_PORT": "0",
        "PYTHONUTF8": "1",
    }
    with (
        said.open("w", encoding="utf-8") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "ui"], env=kept | environment, stderr=stderr
        ) as server,
    ):
        try:
            found = _listens(said, server)
            files = [("files", (name, text.encode())) for name, text in DOCUMENTS.items()]
            httpx.post(f"{found}/api/documents", files=files, timeout=60).raise_for_status()
            yield found
        finally:
            server.terminate()
    assert server.returncode == 0 or os.name == "nt"
    assert said.read_text(encoding="utf-8").count("\n") == 1, said.read_text(encoding="utf-8")


def _listens(said: Path, server: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        text = said.read_text(encoding="utf-8")
        if "listens on " in text and text.endswith("\n"):
            return text.split("listens on ")[1].strip()
        time.sleep(0.1)
    raise AssertionError(f"no server within {_START_S} s: {said.read_text(encoding='utf-8')}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Closed behind each file: as long as it is open, no other loop of events can run."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        reason = "no chromium on this machine: install it to test the page"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(address: str, browser: Browser) -> Iterator[Visit]:
    """Open the page as a new visitor, whose browser must see no error and ask no other host."""
    foreign: list[str] = []
    broken: list[str] = []
    with ExitStack() as visitors:

        def opened(locale: str = "en-GB", width: int = 1280, height: int = 800) -> Page:
            context = browser.new_context(
                locale=locale, viewport={"width": width, "height": height}
            )
            visitors.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(30_000)
            page.on("pageerror", lambda error: broken.append(str(error)))
            page.on(
                "request", lambda sent: None if _is_ours(sent.url) else foreign.append(sent.url)
            )
            page.goto(address)
            page.wait_for_selector("html.a-shown", state="attached")
            return page

        yield opened
    assert foreign == []
    assert broken == []


def _is_ours(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or parts.hostname == "127.0.0.1"
