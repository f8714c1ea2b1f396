"""What the documentation says of commands, settings and shapes is what the product does."""

import re
from pathlib import Path

import pytest

from rag.confidence import JUDGED, MEANING
from rag.settings import Settings
from tests.docs import reference

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "samples/README.md"]


def shell_lines(page: Path) -> list[str]:
    blocks = re.findall(r"^```(?:sh|console|)\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("attest ", "make "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = reference.commands()
    for line in shell_lines(page):
        words = line.split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), line
        else:
            assert " ".join(words[:2]) in known, line
            flags = [word.split("=")[0] for word in words if word.startswith("-")]
            own = known.get(" ".join(words[:3])) or known[" ".join(words[:2])]
            assert all(flag in own for flag in flags), line


def test_the_reference_is_made_from_the_program() -> None:
    for page, text in reference.made().items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name}: run make fix"
        assert "made from the program" in text


def test_an_example_of_the_settings_file_can_be_read(tmp_path: Path) -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^`attest.toml`[^\n]*\n\n```toml\n(.*?)^```", text, re.S | re.M):
            (tmp_path / "attest.toml").write_text(block, encoding="utf-8")
            assert Settings(home=tmp_path).home == tmp_path


def test_the_weights_that_are_told_are_those_that_decide() -> None:
    page = (ROOT / "docs/explanation/support.md").read_text(encoding="utf-8")
    told = re.findall(r"^\|[^|]+\|(?: (−?[\d.]+))? \|(?: (−?[\d.]+))? \|$", page, re.M)
    numbers = [tuple(float(n.replace("−", "-")) if n else None for n in row) for row in told]
    named = [
        (JUDGED.of.get(name), MEANING.of.get(name))
        for name in ("near", "words", "numbers", "names", "amount", "answers", "decline")
    ]
    assert numbers == [*named, (JUDGED.bias, MEANING.bias)]


def anchors(page: Path) -> set[str]:
    """Of a page's headings, as forges and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"
