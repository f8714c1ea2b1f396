"""Conversations, sources, the library's care and the models, in a browser, from outside."""

import importlib.util
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.conftest import Visit
from tests.ui.test_page import KOREAN_QUESTION, UNANSWERABLE, ask, has_no_sideways_scroll, see

SECOND = "회의실 예약 내선 번호는 몇 번인가요?"
_BAD = ("serious", "critical")


def serious(page: Page) -> list[str]:
    """What axe-core calls a serious violation, with the element that it is of."""
    place = importlib.util.find_spec("axe_playwright_python")
    if place is None or place.submodule_search_locations is None:
        pytest.skip("axe-playwright-python is not installed: pip install -e '.[dev]'")
    script = Path(place.submodule_search_locations[0]) / "axe.min.js"
    page.evaluate(script.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in _BAD
    ]


def listed(page: Page) -> list[str]:
    return page.locator(".a-talk-open").all_inner_texts()


@pytest.mark.parametrize(("locale", "width"), [("en-GB", 1440), ("ko-KR", 390)])
def test_a_conversation_is_kept_found_named_saved_and_deleted(
    visit: Visit, locale: str, width: int
) -> None:
    page = visit(locale, width, 844)
    ask(page, KOREAN_QUESTION)
    ask(page, SECOND)
    page.reload()
    page.wait_for_selector("html.a-shown", state="attached")
    expect(page.locator("#a-past .a-turn")).to_have_count(0)

    def drawn() -> None:
        if width == 390 and not page.locator("body.a-drawn").count():
            page.locator("[data-drawer]").click()
            expect(page.locator("#a-new")).to_be_in_viewport()
            expect(page.locator("#a-talks button:focus")).to_have_count(1)

    drawn()
    first = page.locator(".a-talk").first
    expect(first.locator(".a-talk-open")).to_have_text(KOREAN_QUESTION)
    first.locator(".a-talk-open").click()
    expect(page.locator("#a-past .a-question")).to_have_text([KOREAN_QUESTION, SECOND])
    expect(page.locator("#a-past .a-claim").first).to_contain_text("내선 311")
    page.locator("#a-past .a-cite").first.click()
    expect(page.locator("#a-source mark").first).to_contain_text("311")
    page.keyboard.press("Escape")

    drawn()
    first.locator("summary").press("Enter")
    first.locator("[data-rename]").press("Enter")
    field = first.locator("[data-do=rename]")
    expect(field).to_be_focused()
    field.fill("<script>window.__pwn = 4</script> a<b && c>d")
    field.press("Enter")
    expect(first.locator(".a-talk-open")).to_have_text(
        "<script>window.__pwn = 4</script> a<b && c>d"
    )

    drawn()
    page.fill("#a-find-talk :is(input, textarea)", "nothing that was ever said " * 9)
    expect(page.locator("#a-find-talk :is(input, textarea)")).to_have_attribute("maxlength", "100")
    expect(page.locator(".a-talk")).to_have_count(0)
    page.fill("#a-find-talk :is(input, textarea)", "__pwn")
    expect(page.locator(".a-talk")).to_have_count(1)

    first.locator("summary").click()
    with page.expect_download() as download:
        first.locator("a[href$='.md']").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8")
    assert saved.startswith("# \\<script\\>")
    assert "\\[1\\]" in saved
    assert "회의실" in saved

    drawn()
    first.locator("summary").click()
    first.locator("[data-confirm]").click()
    first.locator(".a-danger").click()
    expect(page.locator(".a-talk")).to_have_count(0)
    expect(page.locator("#a-past .a-turn")).to_have_count(0)
    assert page.evaluate("window.__pwn") is None
    assert has_no_sideways_scroll(page)


def test_a_thumb_and_its_note_stay_with_the_answer(visit: Visit) -> None:
    page = visit("ko-KR")
    ask(page, KOREAN_QUESTION)
    expect(page.locator(".a-note")).to_be_hidden()
    page.locator("[data-judge=down]").press("Enter")
    note = page.locator(".a-note")
    note.fill("층수가 <b>빠졌다</b>")
    note.press("Enter")
    expect(page.locator(".a-judge [role=status]")).not_to_be_empty()
    page.click("#a-new")
    expect(page.locator("#a-past .a-turn")).to_have_count(0)
    page.locator(".a-talk-open").first.click()
    expect(page.locator(".a-note")).to_have_value("층수가 <b>빠졌다</b>")
    expect(page.locator("[data-judge=down]")).to_have_attribute("aria-pressed", "true")


def retry(page: Page) -> None:
    """Ask the last question again; what stands there until then is marked as old."""
    page.evaluate("for (const t of document.querySelectorAll('.a-turn')) t.dataset.old = 'yes'")
    page.locator("[data-do=retry]").click()


def fresh(page: Page) -> Locator:
    """The turns that came after `retry`."""
    return page.locator("#a-past .a-turn:not([data-old])")


def test_a_question_sent_while_another_is_answered_is_not_lost(visit: Visit) -> None:
    page = visit("ko-KR")
    ask(page, KOREAN_QUESTION)
    box = page.locator("#a-question textarea")
    box.fill(UNANSWERABLE)
    retry(page)
    box.press("Enter")
    expect(fresh(page)).not_to_have_count(0, timeout=30_000)
    if box.input_value():  # it came too early, and waits where it was written
        box.press("Enter")
    both = [KOREAN_QUESTION, UNANSWERABLE]
    expect(page.locator("#a-past .a-question")).to_have_text(both, timeout=30_000)


def test_an_answer_says_why_and_can_be_asked_again(visit: Visit) -> None:
    page = visit("ko-KR")
    ask(page, KOREAN_QUESTION)
    expect(page.locator(".a-verdict")).to_contain_text("근거 확실")
    page.locator(".a-whys summary").press("Enter")
    whys = page.locator(".a-whys")
    expect(whys.locator("tbody tr").first).to_contain_text("회의실")
    expect(whys.locator("dl")).to_contain_text("걸린 시간")
    page.fill("#a-question textarea", "a draft")
    retry(page)
    expect(fresh(page)).to_have_count(1, timeout=30_000)
    expect(page.locator("#a-past .a-question")).to_have_text([KOREAN_QUESTION])
    expect(page.locator("#a-question textarea")).to_have_value("a draft")
    ask(page, UNANSWERABLE)
    declined = page.locator("#a-past .a-turn").last
    expect(declined.locator(".a-notes").last).to_contain_text("화성")
    declined.locator(".a-chip").first.click()
    expect(page.locator("#a-source .a-passage")).to_be_visible()


def test_two_sessions_at_once_do_not_mix(visit: Visit) -> None:
    mine, yours = visit("ko-KR"), visit("ko-KR")
    for page, question in ((mine, KOREAN_QUESTION), (yours, UNANSWERABLE)):
        page.fill("#a-question textarea", question)
        page.press("#a-question textarea", "Enter")
    for page, question in ((mine, KOREAN_QUESTION), (yours, UNANSWERABLE)):
        expect(page.locator("#a-past .a-question")).to_have_text([question], timeout=60_000)
    ask(mine, SECOND)
    yours.locator(".a-talk-open", has_text=UNANSWERABLE).first.click()
    expect(yours.locator("#a-past .a-question")).to_have_text([UNANSWERABLE])
    expect(mine.locator("#a-past .a-question")).to_have_text([KOREAN_QUESTION, SECOND])


def test_a_document_is_opened_literally_and_read_again(visit: Visit) -> None:
    page = visit()
    see(page, "library")
    row = page.locator("#a-list tbody tr", has_text="hostile.txt")
    row.locator("[data-open]").press("Enter")
    reader = page.locator("#a-reader")
    expect(reader.locator(".a-stored-text")).to_contain_text(
        "<script>window.__pwn = 1</script> where a<b && c>d."
    )
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(reader).to_be_hidden()
    expect(row.locator("[data-open]")).to_be_focused()
    row.locator("[data-do=reread]").click()
    expect(page.locator("#a-news")).to_contain_text("“hostile”: Already there", timeout=30_000)
    page.click("#a-verify")
    expect(page.locator("#a-health .a-done")).to_be_visible(timeout=30_000)
    assert page.evaluate("window.__pwn") is None


def test_a_folder_is_brought_up_to_date(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "synced.txt").write_text("A flange costs 7 euros.\n", encoding="utf-8")
    page = visit()
    see(page, "library")
    page.fill("#a-folder :is(input, textarea)", str(tmp_path))
    page.press("#a-folder :is(input, textarea)", "Enter")
    expect(page.locator("#a-synced .a-done")).to_contain_text("Added 1", timeout=60_000)
    expect(page.locator("#a-list")).to_contain_text("synced.txt")
    page.fill("#a-folder :is(input, textarea)", str(tmp_path / "nowhere"))
    page.click("#a-sync")
    expect(page.locator("#a-synced [role=alert]")).to_contain_text("no such file or folder")


def test_the_models_are_named_and_a_small_library_is_told_what_it_lacks(visit: Visit) -> None:
    page = visit()
    see(page, "models")
    working = page.locator(".a-model", has=page.locator(".a-model-works"))
    expect(working).to_have_count(2)
    expect(working.first).to_contain_text("MIT")
    page.click("#a-adapt")
    expect(page.locator("#a-learned [role=alert]")).to_contain_text("passages", timeout=30_000)
    expect(page.locator("#a-adapt")).to_be_enabled()


@pytest.mark.parametrize(("locale", "width"), [("en-GB", 1440), ("ko-KR", 390)])
def test_no_view_has_a_serious_fault_of_accessibility(
    visit: Visit, locale: str, width: int
) -> None:
    page = visit(locale, width, 844)
    assert serious(page) == []
    ask(page, KOREAN_QUESTION)
    page.locator(".a-whys summary").click()
    page.locator("#a-past .a-cite").first.click()
    expect(page.locator("#a-source mark").first).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("Escape")
    if width == 390:
        page.locator("[data-drawer]").click()
        assert serious(page) == []
        page.keyboard.press("Escape")
    for tab in ("library", "models"):
        if not page.locator(f"#a-tab-{tab}-button").is_visible():
            continue  # folded away by Gradio
        see(page, tab)
        assert serious(page) == []
