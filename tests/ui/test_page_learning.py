"""Thumbs, opened sources and forgetting, in a browser."""

import httpx
from playwright.sync_api import Page, Route, expect

from tests.ui.conftest import Visit
from tests.ui.test_page import KOREAN_QUESTION, ask, has_no_sideways_scroll, see


def told(page: Page) -> list[object]:
    """What the page sends to the service from now on."""
    sent: list[object] = []
    page.on(
        "request",
        lambda request: (
            sent.append(request.post_data_json) if request.url.endswith("/api/feedback") else None
        ),
    )
    return sent


def test_thumbs_and_opened_sources_are_remembered(visit: Visit) -> None:
    page = visit("ko-KR", width=390)
    sent = told(page)
    ask(page, KOREAN_QUESTION)
    up = page.get_by_role("button", name="도움이 되었어요")
    down = page.get_by_role("button", name="도움이 안 되었어요")
    said = page.locator(".a-judge [role=status]")
    up.click()
    expect(said).to_contain_text("고맙습니다")
    expect(up).to_have_attribute("aria-pressed", "true")
    assert has_no_sideways_scroll(page)
    down.click()
    expect(down).to_have_attribute("aria-pressed", "true")
    expect(up).to_have_attribute("aria-pressed", "false")

    page.get_by_text("English").click()  # new markup keeps what was pressed
    again = page.get_by_role("button", name="Not helpful")
    expect(again).to_have_attribute("aria-pressed", "true")
    again.click()
    expect(again).to_have_attribute("aria-pressed", "false")
    expect(said).to_have_text("")

    for _ in range(2):  # but it is told once
        page.locator("#a-past .a-cite").first.click()
        expect(page.locator("#a-source")).to_be_visible()
        page.keyboard.press("Escape")
    page.locator("#a-past .a-chip").first.click()
    page.keyboard.press("Escape")
    kinds = [body["kind"] for body in sent if isinstance(body, dict)]
    assert kinds == ["up", "down", None, "opened"]
    assert sent[0] == {"question": KOREAN_QUESTION, "chunk_id": sent[3]["chunk_id"], "kind": "up"}  # type: ignore[index]


def test_a_thumb_that_was_not_kept_is_told_and_springs_back(visit: Visit) -> None:
    page = visit()
    ask(page, KOREAN_QUESTION)

    def refuse(route: Route) -> None:
        route.fulfill(status=503, body="{}")

    page.route("**/api/feedback", refuse)
    up = page.get_by_role("button", name="Helpful", exact=True)
    up.click()
    expect(page.locator(".a-judge [role=status]")).to_contain_text("could not be kept")
    expect(up).to_have_attribute("aria-pressed", "false")
    page.unroute("**/api/feedback")
    page.route("**/api/feedback", lambda route: route.abort())
    up.click()
    expect(up).to_have_attribute("aria-pressed", "false")


def test_a_thumb_that_turns_is_told_after_the_one_before(visit: Visit) -> None:
    page = visit()
    ask(page, KOREAN_QUESTION)
    sent = told(page)
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        held.append(route)

    page.route("**/api/feedback", hold_the_first)
    up = page.get_by_role("button", name="Helpful", exact=True)
    down = page.get_by_role("button", name="Not helpful")
    with page.expect_request("**/api/feedback"):
        up.click()
    down.click()
    expect(down).to_have_attribute("aria-pressed", "true")
    with page.expect_request("**/api/feedback"):
        assert len(sent) == 1
        held[0].continue_()
    expect(page.locator(".a-judge [role=status]")).to_contain_text("kept on this machine")
    expect(down).to_have_attribute("aria-pressed", "true")
    assert [body["kind"] for body in sent if isinstance(body, dict)] == ["up", "down"]


def test_questions_are_counted_and_forgotten(visit: Visit, address: str) -> None:
    httpx.delete(f"{address}/api/history").raise_for_status()
    page = visit()
    ask(page, KOREAN_QUESTION)
    see(page, "library")
    notice = page.locator(".a-memory")
    expect(notice).to_contain_text("1 question is remembered on this machine")
    notice.get_by_role("button", name="Forget all").click()
    expect(notice).to_contain_text("Forget all questions, ratings and conversations?")
    notice.get_by_role("button", name="Keep").click()
    expect(notice).to_contain_text("1 question")
    notice.locator("[data-confirm]").click()
    notice.locator("[data-send=forget]").click()
    expect(notice).to_contain_text("there are none so far")
    see(page, "ask")
    expect(page.locator("#a-talk-list .a-talk")).to_have_count(0)
    expect(page.locator("#a-past .a-turn")).to_have_count(0)
    assert httpx.delete(f"{address}/api/history").json() == {"forgotten": 0}
