"""Looking inside the models, in a browser."""

from playwright.sync_api import Page, expect

from tests.ui.conftest import Visit
from tests.ui.test_page import KOREAN_QUESTION, ask, has_no_sideways_scroll, see
from tests.ui.test_page_talks import serious

LONG_S = 120_000  # both models read, on a machine that runs all other tests beside
PASSAGE = "The valve says <script>window.__pwn = 1</script> where a<b && c>d. It moves 42 litres."


def inspected(page: Page) -> None:
    expect(page.locator("#a-inspect-map .i-map")).to_be_visible(timeout=LONG_S)
    expect(page.locator("#a-inspect-answer .i-card")).to_be_visible()


def test_a_cited_source_is_looked_into(visit: Visit) -> None:
    page = visit("ko-KR", 390, 844)
    ask(page, KOREAN_QUESTION)
    page.locator("#a-past .a-cite").first.click()
    page.locator("#a-source [data-inspect]").click()
    expect(page.locator("#a-inspect-question textarea")).to_have_value(KOREAN_QUESTION)
    expect(page.locator("#a-inspect-passage textarea")).to_have_value(
        "회의실 이용 안내\n\n회의실 예약은 총무팀 내선 311로 신청합니다."
    )
    page.click("#a-inspect-go")
    inspected(page)
    expect(page.locator("#a-inspect-answer")).to_contain_text("한국어를 하지 못합니다")
    page.locator("#a-inspect-map .i-scroll").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#a-inspect-map .i-told")).to_contain_text("가져옵니다")
    assert has_no_sideways_scroll(page)
    assert serious(page) == []


def test_keys_alone_reach_every_part(visit: Visit) -> None:
    page = visit(width=1440)
    see(page, "inspect")
    page.focus("#a-inspect-question :is(textarea, input)")
    page.keyboard.type("How many litres?")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSAGE)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    inspected(page)
    page.focus("#a-inspect-view input[value=passage]")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    panel = page.locator("#a-inspect-map")
    expect(panel).to_contain_text("the hatched triangle is barred")
    page.focus("#a-inspect-layer input[type=range]")
    page.keyboard.press("End")
    expect(panel).to_contain_text("Layer 30, mean of all heads.")

    panel.locator(".i-scroll").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    told = panel.locator(".i-told")
    expect(told).to_contain_text("from not shown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("takes 0%")  # what stands behind a token is barred

    tokens = page.locator("#a-inspect-answer button.i-token")
    tokens.first.focus()
    page.keyboard.press("Enter")
    expect(tokens.first).to_have_attribute("aria-pressed", "true")
    expect(tokens.first).to_be_focused()
    strip = page.locator(".i-strip").first
    strip.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#a-inspect-encoder .i-told")).to_contain_text("number 1 is")

    expect(page.locator("#a-inspect-answer .i-needs")).to_contain_text("<script>window.__pwn = 1")
    assert page.evaluate("window.__pwn") is None
    assert has_no_sideways_scroll(page)
    assert serious(page) == []
    page.get_by_label("한국어").click()
    expect(page.locator("#a-inspect-encoder")).to_contain_text("코사인")


def test_a_blank_form_says_what_is_needed(visit: Visit) -> None:
    page = visit()
    see(page, "inspect")
    note = page.locator("#a-inspect-note")
    expect(note).to_contain_text("Nothing looked into yet")
    page.fill("#a-inspect-question :is(textarea, input)", "How many?")
    page.click("#a-inspect-go")
    expect(note).to_contain_text("A question and a passage are needed")
    expect(page.locator("#a-inspect-bar")).to_be_hidden()
