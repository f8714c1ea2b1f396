"""Collections in a browser: two visits that do not mix, and one that is made, named and removed."""

from urllib.parse import quote

import httpx
from playwright.sync_api import FilePayload, Page, expect

from tests.ui.conftest import Visit
from tests.ui.test_page import KOREAN_QUESTION, ask, has_no_sideways_scroll, search, see

OTHER = "둘째 <b>&"
PARK = "공원 이용 안내\n\n공원 예약은 관리소 내선 777로 신청합니다.\n"


def choose(page: Page, name: str) -> None:
    page.evaluate("document.documentElement.classList.add('a-before')")
    page.select_option("#a-chooser select", name)
    arrived(page)
    expect(page.locator("#a-chooser select")).to_have_value(name)


def arrived(page: Page) -> None:
    """The page was opened anew."""
    page.wait_for_selector("html.a-shown:not(.a-before)", state="attached")


def test_two_visits_at_two_collections_do_not_mix(visit: Visit, address: str) -> None:
    sent = {"files": ("공원.txt", PARK.encode())}
    where = {"collection": OTHER}
    httpx.post(f"{address}/api/documents", params=where, files=sent, timeout=60).raise_for_status()
    one, two = visit("ko-KR"), visit("ko-KR", width=390)
    choose(two, OTHER)
    assert has_no_sideways_scroll(two)
    question = KOREAN_QUESTION.replace("회의실", "공원")
    ask(one, KOREAN_QUESTION)
    ask(two, question)
    expect(one.locator("#a-past .a-claim").first).to_contain_text("내선 311")
    expect(two.locator("#a-past .a-claim").first).to_contain_text("내선 777")
    expect(two.locator("#a-talk-list .a-talk")).to_have_count(1)
    with two.expect_request("**/api/feedback") as told:
        two.get_by_role("button", name="도움이 되었어요").click()
    assert (told.value.post_data_json or {})["collection"] == OTHER
    for page, found in ((one, "회의실"), (two, "공원")):
        see(page, "search")
        search(page, "예약 신청")
        expect(page.locator(".a-hit h3").first).to_contain_text(found)
    expect(two.locator(".a-hit")).to_have_count(1)
    see(two, "library")
    expect(two.locator("#a-list tbody tr")).to_have_count(1)
    two.reload()  # the browser remembers, as it does the language
    expect(two.locator("#a-chooser select")).to_have_value(OTHER)
    httpx.delete(f"{address}/api/collections/{quote(OTHER)}").raise_for_status()
    two.reload()  # and forgets what is not there any more
    two.wait_for_selector("html.a-shown", state="attached")
    expect(two.locator("#a-chooser")).to_be_hidden()


def test_a_collection_is_made_renamed_and_removed(visit: Visit) -> None:
    page = visit()
    see(page, "library")
    page.evaluate("document.documentElement.classList.add('a-before')")
    page.fill("#a-collection-name :is(input, textarea)", "Gaskets")
    page.press("#a-collection-name :is(input, textarea)", "Enter")
    arrived(page)
    expect(page.locator("[data-said]")).to_contain_text("“Gaskets” is there now")
    expect(page.locator("#a-list")).to_contain_text("No documents yet")
    page.set_input_files(
        "#a-drop input[type=file]",
        FilePayload(name="gasket.txt", mimeType="text/plain", buffer=b"A gasket costs 9 euros."),
    )
    row = page.locator(".a-shelf", has_text="Gaskets")
    expect(row).to_contain_text("1 document", timeout=60_000)

    page.evaluate("document.documentElement.classList.add('a-before')")
    row.locator("[data-naming]").click()
    row.locator("input").fill("default")
    row.locator("input").press("Enter")
    expect(page.locator("#a-collection-news")).to_contain_text("a collection 'default' already")
    row.locator("[data-naming]").click()
    row.locator("input").fill("Seals")
    row.locator("input").press("Enter")
    arrived(page)
    expect(page.locator("#a-chooser select")).to_have_value("Seals")
    expect(page.locator("#a-list")).to_contain_text("gasket.txt")

    row = page.locator(".a-shelf", has_text="Seals")
    row.locator("[data-confirm]").click()
    expect(row).to_contain_text("Remove it with 1 document?")
    row.locator(".a-danger").click()
    page.evaluate("document.documentElement.classList.add('a-before')")
    page.get_by_role("button", name="Remove 1 document").click()
    arrived(page)
    expect(page.locator("[data-said]")).to_contain_text("“Seals” was removed with 1 document")
    expect(page.locator(".a-shelf", has_text="Seals")).to_have_count(0)
    expect(page.locator("#a-list")).to_contain_text("orinoco.md")
