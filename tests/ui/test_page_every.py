"""Asking every document, and documents that are alike, in a browser."""

from playwright.sync_api import expect

from tests.ui.conftest import FLOW, Visit
from tests.ui.test_page import has_no_sideways_scroll, search, see

QUESTION = "How many litres a minute does the Orinoco pump move?"


def test_a_table_fills_opens_its_source_and_is_downloaded(visit: Visit) -> None:
    page = visit()
    see(page, "every")
    page.fill("#a-every-asked textarea", f"{QUESTION}\nWhat is the fee?")
    page.click("#a-every-start")
    expect(page.locator("#a-every-csv")).to_be_visible(timeout=60_000)
    quote = page.locator(".a-every-quote").filter(has_text="42 litres")
    expect(quote).to_have_count(1)
    quote.click()
    expect(page.locator(".a-every-passage mark")).to_have_text(FLOW)
    assert "script" not in page.locator("#a-every").inner_html()
    with page.expect_download() as coming:
        page.click("#a-every-csv")
    text = coming.value.path().read_text(encoding="utf-8-sig")
    assert "42 litres" in text
    assert has_no_sideways_scroll(page)


def test_a_phone_shows_a_table_document_by_document(visit: Visit) -> None:
    page = visit("ko-KR", width=390)
    see(page, "every")
    page.fill("#a-every-asked textarea", "회의실 예약은 어디에 신청하나요?")
    page.press("#a-every-asked textarea", "Tab")
    page.click("#a-every-start")
    expect(page.locator("#a-every-csv")).to_be_visible(timeout=60_000)
    expect(page.locator(".a-every-quote").filter(has_text="내선 311")).to_have_count(1)
    assert has_no_sideways_scroll(page)


def test_a_blank_table_says_what_to_do(visit: Visit) -> None:
    page = visit()
    see(page, "every")
    page.click("#a-every-start")
    expect(page.get_by_role("alert")).to_contain_text("one question a line")


def test_a_text_finds_documents_with_the_passages_that_match(visit: Visit) -> None:
    page = visit()
    see(page, "similar")
    page.fill("#a-similar-text textarea", "The Orinoco pump moves water at full speed.")
    page.click("#a-similar-go")
    expect(page.locator("#a-similar .a-hit").first).to_contain_text("Orinoco pump")
    expect(page.locator("#a-similar .a-pair").first).to_contain_text("moves water")
    expect(page.locator("#a-similar-json")).to_be_visible()
    page.click("#a-similar-twins")
    expect(page.locator("#a-similar")).to_contain_text("No duplicates")


def test_a_file_is_compared_and_not_kept(visit: Visit) -> None:
    page = visit()
    see(page, "similar")
    with page.expect_file_chooser() as choosing:
        page.click("#a-similar-file")
    content = "회의실 예약은 총무팀에 신청합니다.".encode()
    choosing.value.set_files({"name": "안내.txt", "mimeType": "text/plain", "buffer": content})
    expect(page.locator("#a-similar .a-hit").first).to_contain_text("회의실")
    see(page, "library")
    expect(page.locator("#a-list")).not_to_contain_text("안내.txt")


def test_more_like_a_passage_stands_at_each_hit(visit: Visit) -> None:
    page = visit()
    search_tab = page.locator("#a-hits")
    see(page, "search")
    search(page, "Orinoco pump")
    search_tab.locator("[data-of=passage]").first.click()
    expect(search_tab.locator(".a-pair").first).to_be_visible()
    expect(page.locator("#a-search-csv")).to_be_visible()
