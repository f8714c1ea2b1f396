"""The Map and report tab in a browser: build, look, drill down, download."""

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import Visit
from tests.ui.test_page import has_no_sideways_scroll, see


@pytest.mark.parametrize(("locale", "width"), [("en-GB", 1440), ("ko-KR", 390)])
def test_the_map_tells_what_a_dot_is_and_opens_its_group(
    visit: Visit, locale: str, width: int
) -> None:
    page = visit(locale, width, 900)
    see(page, "report")
    page.click("#a-build")
    picture = page.locator("#a-report .m-map svg")
    expect(picture).to_be_visible(timeout=60_000)
    picture.scroll_into_view_if_needed()
    x, y, _, _, text, _ = json.loads(page.get_attribute("#a-report .m-map", "data-dots") or "")[0]
    at = picture.evaluate(
        "(svg, [x, y]) => {"
        "const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()); return [at.x, at.y];}",
        [x, y],
    )
    page.mouse.move(at[0] + 2, at[1] + 2)
    expect(page.locator(".m-tip")).to_contain_text(text)
    page.mouse.click(at[0], at[1])
    expect(page.locator(".a-detail li").first).to_be_visible()

    first = page.locator(".a-legend [data-pick]").first
    first.press("Enter")
    expect(first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#a-report .m-map path.m-on").first).to_be_attached()
    assert has_no_sideways_scroll(page)
    assert page.evaluate("window.__pwn") is None


def test_the_table_can_be_downloaded(visit: Visit) -> None:
    page = visit()
    see(page, "report")
    page.click("#a-build")
    expect(page.locator("#a-download-csv")).to_be_visible(timeout=60_000)
    with page.expect_download() as download:
        page.click("#a-download-csv")
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head[:2] == ["cluster", "label"]
    sizes = {row[0]: int(row[2]) for row in rows}
    assert sum(sizes.values()) == len(rows) >= 4  # a row a document, those of other tests too
