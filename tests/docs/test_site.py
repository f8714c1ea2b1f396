"""The documentation as a site: whole, without a warning, and without a request to anywhere else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser as HTMLParser

pytest.importorskip("material", reason="mkdocs-material comes with the dev extra")

ROOT = Path(__file__).parents[2]
LOADED = ("script[src]", "link[href]", "img[src]", "iframe[src]", "source[src]", "object[data]")
ELSEWHERE = re.compile(r"^(?:[a-z]+:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    written = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")}
    assert all((site / page.with_suffix(".html")).is_file() for page in written)


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        tree = HTMLParser(page.read_text(encoding="utf-8"))
        for selector in LOADED:
            name = selector.partition("[")[2].rstrip("]")
            loaded = [node.attributes[name] or "" for node in tree.css(selector)]
            assert not [each for each in loaded if ELSEWHERE.match(each)], page.name
        # What the theme draws with a script that it fetches.
        assert not tree.css("[class*=mermaid]"), page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style.read_text("utf-8")), style


def test_the_search_knows_korean_and_opens_from_a_folder(site: Path) -> None:
    made = (site / "search/search_index.js").read_text(encoding="utf-8")
    index = json.loads(made.removeprefix("var __index = "))
    assert index["config"]["lang"] == ["en", "ko"]
    assert any("연차" in part["text"] for part in index["docs"])
    first = HTMLParser((site / "index.html").read_text(encoding="utf-8")).css_first("script[src]")
    assert first is not None
    assert first.attributes["src"] == "site/iframe-worker.js"
