"""The page in a browser, from outside."""

import io
import zipfile
from pathlib import Path

from playwright.sync_api import FilePayload, Page, expect

from tests.ui.conftest import FLOW, LONG_NAME, Visit

QUESTION = "How many litres a minute does the Orinoco pump move?"
KOREAN_QUESTION = (
    "회의실 예약은 어디에 신청하나요?"  # quoted at once: the generator knows no Korean
)
UNANSWERABLE = "화성 탐사 예산은 얼마인가?"


def ask(page: Page, question: str) -> None:
    """Ask, and wait for the end of the answer."""
    turns = page.locator("#a-past .a-turn")
    before = turns.count()
    page.fill("#a-question textarea", question)
    page.press("#a-question textarea", "Enter")
    expect(turns).to_have_count(before + 1, timeout=30_000)


def see(page: Page, tab: str) -> None:
    page.click(f"#a-tab-{tab}-button")
    expect(page.locator(f"#a-tab-{tab}")).to_be_visible()


def search(page: Page, query: str) -> None:
    page.fill("#a-query :is(input, textarea)", query)
    page.press("#a-query :is(input, textarea)", "Enter")


def archive(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for name in names:
            opened.writestr(name, f"{name} says that a gasket costs 6 euros.")
    return content.getvalue()


def is_within(page: Page, inner: str, outer: str) -> bool:
    """Whether an element can be seen inside of another that scrolls."""
    small, large = page.locator(inner).bounding_box(), page.locator(outer).bounding_box()
    assert small is not None
    assert large is not None
    below = small["y"] + small["height"] <= large["y"] + large["height"]
    return large["y"] <= small["y"] and below


def has_no_sideways_scroll(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_an_answer_streams_and_its_citation_opens_the_source(visit: Visit) -> None:
    page = visit(height=600)
    page.fill("#a-question textarea", QUESTION)
    page.press("#a-question textarea", "Enter")
    expect(page.locator("#a-live .a-waiting")).to_be_visible()
    expect(page.locator("#a-live .a-question")).to_have_text(QUESTION)
    expect(page.locator("#a-stop")).to_be_visible()
    first = page.locator("#a-past .a-cite").first
    expect(first).to_be_visible(timeout=30_000)
    expect(page.locator("#a-past .a-claim").first).to_have_text(FLOW)
    expect(page.locator("#a-stop")).to_be_hidden()

    first.click()
    source = page.locator("#a-source")
    expect(source.locator("h3")).to_have_text("Orinoco pump")
    expect(source.locator(".a-place")).to_contain_text("orinoco.md")
    expect(source.locator("mark")).to_have_text(FLOW)
    expect(source.locator(".a-passage")).to_contain_text("Nothing on this line")
    assert is_within(page, "#a-source mark", "#a-source")
    assert page.locator("#a-source").evaluate("panel => panel.scrollTop") > 0
    page.keyboard.press("Escape")
    expect(source).to_be_hidden()


def test_stopping_keeps_the_turn(visit: Visit) -> None:
    page = visit()
    page.fill("#a-question textarea", QUESTION)
    page.press("#a-question textarea", "Enter")
    page.click("#a-stop")
    expect(page.locator("#a-past .a-question")).to_have_text(QUESTION)
    expect(page.locator("#a-past .a-notes")).to_contain_text("Stopped before")
    expect(page.locator("#a-live .a-turn")).to_be_hidden()
    expect(page.locator("#a-send")).to_be_visible()


def test_declining_is_no_error(visit: Visit) -> None:
    page = visit()
    ask(page, UNANSWERABLE)
    expect(page.locator("#a-past .a-declined")).to_be_visible()
    expect(page.locator("#a-past .a-cite")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.click("#a-new")
    expect(page.locator("#a-past .a-examples")).to_be_visible()


def test_an_example_is_asked_by_a_click(visit: Visit) -> None:
    page = visit("ko-KR")
    example = page.locator(".a-examples button").first
    question = example.inner_text()
    example.click()
    expect(page.locator("#a-past .a-question")).to_have_text(question)


def test_a_question_stays_within_the_chosen_documents(visit: Visit) -> None:
    page = visit()
    page.click("#a-scope input")
    page.get_by_role("option", name="Orinoco pump").click()
    page.keyboard.press("Escape")
    ask(page, KOREAN_QUESTION)
    expect(page.locator("#a-past .a-declined")).to_be_visible()


def test_files_come_in_are_listed_and_go_again(visit: Visit, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=1>.txt"
    page = visit()
    see(page, "library")
    page.set_input_files(
        "#a-drop input[type=file]",
        [
            FilePayload(name=hostile, mimeType="text/plain", buffer=b"A gasket costs 3 euros."),
            FilePayload(name="empty.txt", mimeType="text/plain", buffer=b""),
            FilePayload(name="a.zip", mimeType="application/zip", buffer=archive("in/one.txt")),
        ],
    )
    news = page.locator("#a-news")
    expect(news).to_contain_text("2 of 3 files taken in", timeout=60_000)
    expect(news.locator("li").first).to_contain_text(hostile)
    expect(news.locator("li").nth(1)).to_contain_text("No text")
    expect(news.get_by_text("in/one.txt")).to_be_hidden()
    news.locator("summary").click()
    expect(news.get_by_text("in/one.txt")).to_be_visible()

    see(page, "ask")
    page.click("#a-scope input")
    expect(page.get_by_role("option", name="onerror")).to_be_visible()
    page.keyboard.press("Escape")
    see(page, "library")
    page.fill("#a-find :is(input, textarea)", "onerror")
    row = page.locator("#a-list tbody tr")
    expect(row).to_have_count(1)
    row.locator("[data-confirm]").click()
    row.locator("[data-keep]").click()
    expect(row.locator(".a-danger")).to_be_hidden()
    row.locator("[data-confirm]").click()
    row.locator(".a-danger").click()
    expect(news).to_contain_text("was removed")
    assert page.evaluate("window.__pwn") is None
    expect(page.locator("#a-list")).to_contain_text("No document has")


def test_files_can_be_dropped(visit: Visit) -> None:
    page = visit()
    see(page, "library")
    dropped = page.evaluate_handle(
        "() => { const data = new DataTransfer();"
        "data.items.add(new File(['A gasket costs 4 euros.'], 'dropped.txt')); return data; }"
    )
    page.dispatch_event("#a-drop", "drop", {"dataTransfer": dropped})
    expect(page.locator("#a-news")).to_contain_text("1 of 1 files taken in", timeout=60_000)
    expect(page.locator("#a-list")).to_contain_text("dropped.txt")
    expect(page.locator("#a-formats .a-waiting").first).to_be_hidden()


def test_a_file_that_is_too_large_is_left_out_and_named(visit: Visit) -> None:
    page = visit("ko-KR")
    see(page, "library")
    dropped = page.evaluate_handle(
        "() => { const data = new DataTransfer();"
        "const large = new File(['x'], '<b>.txt');"
        "Object.defineProperty(File.prototype, 'size', "
        "{get() { return this.name === '<b>.txt' ? 100_000_001 : 24; }});"
        "data.items.add(large);"
        "data.items.add(new File(['A gasket costs 5 euros. '], 'fits.txt')); return data; }"
    )
    page.dispatch_event("#a-drop", "drop", {"dataTransfer": dropped})
    expect(page.get_by_role("alert")).to_contain_text("<b>.txt 파일은 100MB를 넘어서")
    expect(page.locator("#a-news")).to_contain_text("파일 1개 중 1개 추가 완료", timeout=60_000)


def test_tags_are_put_on_found_and_taken_off_by_keyboard(visit: Visit) -> None:
    page = visit()
    see(page, "library")
    row = page.locator("#a-list tbody tr", has_text="orinoco.md")
    row.locator("[data-tagging]").press("Enter")
    expect(row.locator("input")).to_be_focused()
    page.keyboard.press("Escape")
    expect(row.locator("input")).to_be_hidden()
    page.keyboard.press("Enter")
    page.keyboard.type("  #wet <b>rooms</b> ")
    page.keyboard.press("Enter")
    expect(row.locator(".a-tag")).to_have_text("wet <b>rooms</b>")
    expect(row.locator("[data-tagging]")).to_be_focused()
    page.fill("#a-find :is(input, textarea)", "#rooms")
    expect(page.locator("#a-list tbody tr")).to_have_count(0)
    page.fill("#a-find :is(input, textarea)", "#wet")
    expect(page.locator("#a-list tbody tr")).to_have_count(1)

    see(page, "ask")
    page.click("#a-scope input")
    expect(page.get_by_role("option", name="#wet")).to_be_visible()
    page.keyboard.press("Escape")
    see(page, "search")
    page.locator("#a-filters summary").press("Enter")
    page.select_option("#a-filters [name=tag]", "wet <b>rooms</b>")
    expect(page.locator("#a-filters summary b")).to_have_text("1")

    see(page, "library")
    row.locator("[data-do=untag]").press("Enter")
    expect(row.locator(".a-tag")).to_have_count(0)
    assert page.evaluate("window.__pwn") is None


def test_the_language_follows_the_browser_and_the_switch(visit: Visit) -> None:
    page = visit("ko-KR")
    expect(page.locator("#a-tab-ask-button")).to_have_text("질문")
    ask(page, KOREAN_QUESTION)
    expect(page.locator("#a-past .a-claim").first).to_contain_text("내선 311")
    page.get_by_label("English").click()
    expect(page.locator("#a-tab-ask-button")).to_have_text("Ask")
    expect(page.locator("#a-past .a-small")).to_have_text("Sources")
    expect(page.locator("#a-past .a-question")).to_have_text(KOREAN_QUESTION)
    page.reload()
    page.wait_for_selector("html.a-shown", state="attached")
    expect(page.locator("#a-tab-ask-button")).to_have_text("Ask")
    assert page.evaluate("document.documentElement.lang") == "en"


def test_a_search_can_be_narrowed_and_explained(visit: Visit) -> None:
    page = visit()
    see(page, "search")
    search(page, "speed of the pump")
    hits = page.locator(".a-hit")
    expect(hits.nth(1)).to_be_visible()
    expect(page.locator("#a-filters select").first).to_be_hidden()
    page.click("#a-filters summary")
    page.select_option("#a-filters [name=media_type]", "text/markdown")  # searches again
    expect(hits).to_have_count(1)
    expect(hits.locator(".a-text")).to_contain_text("The Orinoco pump moves 42 litres a minute")
    expect(hits.locator(".a-explain")).to_be_hidden()
    page.get_by_label("Show how each was found").check()
    expect(hits.locator(".a-explain")).to_contain_text("speed, pump")

    page.get_by_label("한국어").click()
    expect(page.locator("#a-filters summary")).to_contain_text("조건")
    expect(page.locator("#a-filters [name=media_type]")).to_have_value("text/markdown")
    expect(hits.locator(".a-explain")).to_be_visible()
    page.fill("#a-filters [name=until]", "2001-01-01")
    page.press("#a-filters [name=until]", "Enter")
    expect(page.locator("#a-hits .a-notice")).to_contain_text("이 조건에서는")
    page.click("#a-filters [data-clear]")
    expect(hits.nth(1)).to_be_visible()
    expect(page.locator("#a-filters summary b")).to_be_hidden()


def test_a_hostile_document_is_shown_literally(visit: Visit) -> None:
    page = visit()
    see(page, "search")
    search(page, "valve handbook")
    hit = page.locator(".a-hit", has_text="valve handbook").first
    text = hit.locator(".a-text")
    expect(text).to_contain_text("<script>window.__pwn = 1</script> where a<b && c>d.")
    expect(text).to_contain_text("<img src=x onerror='window.__pwn = 2'>")
    expect(text).to_contain_text("${window.__pwn = 3} {{4}}")
    expect(text.locator("mark").first).to_have_text("valve")
    hit.locator("[data-send]:not([data-of])").click()
    expect(page.locator(".a-found")).to_contain_text("like “hostile”")
    assert page.evaluate("window.__pwn") is None


def test_the_report_is_built_and_can_be_downloaded(visit: Visit) -> None:
    page = visit()
    see(page, "report")
    page.click("#a-build")
    expect(page.locator(".a-group").first).to_be_visible(timeout=30_000)
    with page.expect_download() as download:
        page.click("#a-download")
    assert download.value.suggested_filename == "attest-report.html"
    assert "<h1>" in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_phone_sees_everything_without_scrolling_sideways(visit: Visit) -> None:
    page = visit("ko-KR", 390, 844)
    assert has_no_sideways_scroll(page)
    ask(page, KOREAN_QUESTION)
    page.locator("#a-past .a-cite").first.click()
    panel = page.locator("#a-source").bounding_box()
    assert panel is not None
    assert panel["y"] + panel["height"] <= 845
    assert is_within(page, "#a-source mark", "#a-source")
    assert has_no_sideways_scroll(page)
    page.locator("#a-source [data-close]").click()
    for tab, shown in (
        ("search", "#a-go"),
        ("library", "#a-list tbody tr"),
        ("report", "#a-build"),
    ):
        see(page, tab)
        expect(page.locator(shown).first).to_be_visible()
        assert has_no_sideways_scroll(page), tab
    see(page, "library")
    name = page.locator("#a-list small", has_text=LONG_NAME[:30]).first
    assert name.evaluate("cell => cell.scrollWidth > cell.clientWidth")


def test_two_visitors_do_not_see_each_other(visit: Visit) -> None:
    mine, yours = visit("ko-KR"), visit("ko-KR")
    ask(mine, KOREAN_QUESTION)
    ask(yours, UNANSWERABLE)
    expect(mine.locator("#a-past .a-question")).to_have_text([KOREAN_QUESTION])
    expect(yours.locator("#a-past .a-question")).to_have_text([UNANSWERABLE])
    mine.reload()
    mine.wait_for_selector("html.a-shown", state="attached")
    expect(mine.locator("#a-past .a-turn")).to_have_count(0)
