"""What the tabs show of records, without a browser."""

import re
import unicodedata
from dataclasses import replace

import pytest

from index.records import WordFrequencies
from rag.records import EVERYWHERE, Hit, LibraryStatus, SearchResult, Within
from rag.similar import Similar
from tests.ui.records import HOSTILE, document, hit
from tests.ui.test_render import quoted, shown
from ui import filters, greeting, holdings, listing, scope, search
from ui.locale import Texts, texts
from ui.search import Found

EN, KO = texts("en"), texts("ko")


def found(
    *hits: Hit, asked: str = "pump", similar: bool = False, narrowed: bool = False, pending: int = 0
) -> Found:
    weight = 0.5 if any(hit.dense is not None for hit in hits) else None
    known = (asked, hits, WordFrequencies(0, {}))
    if similar:
        return Found(asked, Similar(*known, aligned=((),) * len(hits)))
    return Found(asked, SearchResult(*known, weight=weight, pending=pending), narrowed=narrowed)


def listed(markup: str) -> list[int]:
    """The ids of the documents in a list."""
    return [int(key) for key in re.findall(r'data-send="(\d+)" data-do="remove"', markup)]


def test_hits_show_their_words_place_and_scores() -> None:
    markup = search.results(found(hit("The pump moves 42 litres."), asked="pumps"), EN)
    assert quoted(markup) == ["pump"]
    text = shown(markup)
    assert "1 passage for “pumps”" in text
    assert "pump.pdf · page 3 · 2 Flow" in text
    assert "Meaning0.62" in text
    assert "Words7.5" in text
    assert 'data-send="1"' in markup


def test_bars_compare_words_and_take_meaning_as_it_is() -> None:
    markup = search.results(found(hit("a", lexical=8.0, dense=0.5), hit("b", lexical=2.0)), EN)
    assert re.findall(r"width:(\d+)%", markup) == ["50", "100", "62", "25"]
    beyond = search.results(found(hit("a", dense=-0.2, lexical=None)), EN)
    assert re.findall(r"width:(\d+)%", beyond) == ["0", "0"]
    assert EN("search.no_words") in beyond


def test_words_alone_are_explained() -> None:
    alone = search.results(found(hit("연차는 15일", dense=None), asked="연차"), KO)
    assert KO("search.words_only") in alone
    assert KO("search.meaning") not in shown(alone).split(KO("search.explained"))[0]
    mixed = search.results(found(hit("a", dense=None), hit("b")), EN)
    assert EN("search.words_only") not in mixed
    assert EN("search.not_near") in mixed


def test_similar_documents_show_one_score_and_mark_no_words() -> None:
    like = found(hit("The pump", lexical=None, score=0.71), asked="Pump manual", similar=True)
    markup = search.results(like, EN)
    assert quoted(markup) == []
    assert "1 document like “Pump manual”" in shown(markup)
    assert "Likeness0.71" in shown(markup)


def test_nothing_found_says_what_was_looked_for() -> None:
    assert "“pump”" in search.results(found(), EN)
    assert EN("search.similar.none", title="A") in search.results(
        found(asked="A", similar=True), EN
    )
    assert "the reason" in search.results(Found("pump", failure="the reason"), EN)
    assert search.results(None, EN) == ""


def test_nothing_found_names_the_filters_where_there_are_some() -> None:
    assert "Within these filters" in search.results(found(narrowed=True), EN)
    assert "Within these filters" not in search.results(found(), EN)


def test_what_is_not_found_by_meaning_yet_is_counted() -> None:
    assert "1,200 passages are still found by their words" in search.results(
        found(hit("The pump"), pending=1200), EN
    )
    assert "1 passage is still found by its words" in search.results(found(pending=1), EN)
    assert "still found" not in search.results(found(hit("The pump")), EN)


def test_each_hit_can_be_explained() -> None:
    one = replace(hit("The pump"), terms=("pumps", "<b>"))
    text = shown(search.results(found(one), EN))
    assert "Meaning0.6200Words7.500Together0.9000 (meaning 50%, words 50%)" in text
    assert "Your words in itpumps, <b>" in text


def test_words_alone_are_explained_without_what_was_not_asked() -> None:
    result = SearchResult("pump", (hit("pump", dense=None),), WordFrequencies(0, {}))
    explained = search.results(Found("pump", result=result), EN).split('"a-explain"')[1]
    explained = explained.split("</dl>")[0]
    assert "Meaning" not in explained
    assert "Together" not in explained


def test_marks_of_markdown_are_not_shown_and_words_are_still_marked() -> None:
    text = "## Flow\n\nThe **pump** moves `42` litres."
    markup = search.results(found(hit(text, of=document(media_type="text/markdown"))), EN)
    assert quoted(markup) == ["pump"]
    assert "FlowThe pump moves 42 litres." in shown(markup)
    assert text.replace("\n", "") in shown(search.results(found(hit(text)), EN))


def test_a_long_passage_can_be_unfolded() -> None:
    assert "data-more" in search.results(found(hit("word " * 200)), EN)
    assert "data-more" not in search.results(found(hit("word " * 20)), EN)


def test_the_list_names_every_document_with_its_state() -> None:
    rows = [
        document(7),
        document(8, "Scan", "/s/scan.pdf", status="empty", reason="no text", chunks=0),
    ]
    markup = listing.listing(rows, "", EN)
    text = shown(markup)
    assert "Pump manualpump.pdf" in text
    assert "31.3 kB" in text
    assert "Scanscan.pdfno text" in text
    assert listed(markup) == [8, 7]  # the newest first


def test_a_reason_is_english_on_a_korean_page_too() -> None:
    rows = [document(8, "Scan", status="failed", reason="encrypted", warnings=("2 gaps",))]
    markup = listing.listing(rows, "", KO)
    assert '<span lang="en">encrypted</span> · <span lang="en">2 gaps</span>' in markup
    assert "읽지 못함" in markup


def test_the_list_says_what_waits_for_its_vectors() -> None:
    text = shown(listing.listing([document(pending=3)], "", EN))
    assert "By words so far" in text
    assert "4 3 waiting" in text


def test_the_list_dates_a_document_by_its_file() -> None:
    markup = listing.listing([document(modified="2019-05-31T12:00:00+00:00")], "", EN)
    assert 'datetime="2019-05-31T12:00:00+00:00"' in markup
    assert 'datetime="2025-11-29T12:00:00+00:00"' in listing.listing([document()], "", EN)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ("PUMP", [1]),
        (" .md ", [2]),
        ("", [3, 2, 1]),
        ("xyz", []),
        ("점심메뉴", [3]),
        (unicodedata.normalize("NFD", "점심메뉴"), [3]),
        ("#Ann", [2, 1]),
        ("#report", [2]),
        ("#port", []),
        ("#annual notes", [2]),
        ("#annual #한글", [1]),
        (unicodedata.normalize("NFD", "#한글"), [1]),
        ("#1", [3]),
    ],
)
def test_the_list_is_narrowed_by_name_and_tag(wanted: str, ids: list[int]) -> None:
    rows = [
        document(1, tags=("annual", "한글")),
        document(2, "Notes", "/a/notes.md", tags=("Annual report",)),
        document(3, unicodedata.normalize("NFD", "점심메뉴"), "/a/menu #1.txt"),
    ]
    assert listed(listing.listing(rows, wanted, EN)) == ids


def test_a_long_list_is_cut_and_says_so() -> None:
    rows = [document(key) for key in range(1, 3001)]
    markup = listing.listing(rows, "", EN)
    assert listed(markup) == list(range(3000, 2900, -1))
    assert "100 of 3,000 documents" in markup


def test_tags_can_be_taken_off_and_many_fold_away() -> None:
    few = listing.listing([document(tags=("b", "a"))], "", EN)
    assert re.findall(r'data-do="untag" data-tag="(\w+)"', few) == ["a", "b"]
    assert 'aria-label="Take the tag a off Pump manual"' in few
    assert "<details" not in few
    many = listing.listing([document(tags=tuple(f"t{n:02}" for n in range(40)))], "", EN)
    assert "32 more tags" in many
    assert many.count('data-do="untag"') == 40


def test_an_empty_library_says_what_to_do() -> None:
    assert EN("library.empty.title") in listing.listing([], "", EN)
    markup = greeting.greeting([], EN)
    assert EN("ask.empty.title") in markup
    assert 'data-tab="library"' in markup


def holding(**more: object) -> LibraryStatus:
    fields = {
        "home": "/h",
        "database": "/h/attest.db",
        "collection": "default",
        "encoder": "minilm",
        "fingerprint": "f",
        "documents": {"indexed": 40, "empty": 3},
        "chunks": 214,
        "vectors": 214,
        "pending": 0,
        "former": 0,
        "size_bytes": 5,
        "wanted_encoder": "minilm",
    }
    return LibraryStatus(**(fields | more))  # type: ignore[arg-type]


def test_the_facts_count_every_document() -> None:
    text = shown(holdings.facts(holding(pending=12), EN))
    assert "Documents43" in text
    assert "Encoderminilm" in text
    assert "Waiting for vectors12" in text
    assert "attest" not in text


@pytest.mark.parametrize("words", [EN, KO])
def test_another_encoder_and_a_move_are_told_with_the_command(words: Texts) -> None:
    other = holdings.facts(holding(wanted_encoder="my <model>"), words)
    assert "<code>attest reembed &#39;my &lt;model&gt;&#39;</code>" in other
    moving = shown(holdings.facts(holding(former=99), words))
    assert "99" in moving
    assert "attest reembed minilm" in moving
    assert "attest rebuild" in moving


def test_examples_are_made_of_titles_in_the_readers_language() -> None:
    titles = [
        "Leave policy",
        "price-list-2025",
        "휴가 규정",
        "Leave policy",
        *"ABCDEF",
        "재택 지침",
    ]
    documents = [document(key, title) for key, title in enumerate(titles)]
    assert greeting.by_title(documents, EN) == ["What is “Leave policy” about?"]
    assert greeting.by_title(documents, KO) == [
        "‘휴가 규정’에 대해 알려 주세요.",
        "‘재택 지침’에 대해 알려 주세요.",
    ]


def test_examples_are_four_from_all_over_the_library() -> None:
    documents = [document(key, f"Part {key}") for key in range(40)]
    asked = greeting.by_title(documents, EN)
    assert len(asked) == 4
    assert "Part 30" in asked[-1]


def test_file_names_make_examples_where_there_are_no_titles() -> None:
    assert greeting.by_title([document(1, "notes")], EN) == ["What is “notes” about?"]


def test_nothing_hostile_gets_through_any_tab() -> None:
    evil = document(
        title=HOSTILE, path=f"/a/{HOSTILE}", reason=HOSTILE, warnings=(HOSTILE,), tags=(HOSTILE,)
    )
    pages = [
        search.results(found(hit(HOSTILE, of=evil, heading=(HOSTILE, "x")), asked=HOSTILE), EN),
        search.results(found(asked=HOSTILE), EN),
        search.results(Found(HOSTILE, failure=HOSTILE), EN),
        listing.listing([evil], "", KO),
        listing.listing([evil], f"{HOSTILE}no", EN),
        filters.form([evil], EN),
        holdings.facts(holding(encoder=HOSTILE, wanted_encoder=HOSTILE, home=HOSTILE), EN),
        greeting.greeting([evil], EN),
    ]
    for markup in pages:
        assert "<script" not in markup
        assert "javascript:" not in "".join(re.findall(r'(?:href|src)="[^"]*"', markup))
        assert HOSTILE in shown(markup)


def test_the_form_offers_what_the_library_has() -> None:
    rows = [
        document(1, media_type="text/markdown", tags=("b",)),
        document(2, media_type="text/html", tags=("a", "b")),
        document(3, media_type="application/octet-stream", status="unsupported"),
    ]
    markup = filters.form(rows, EN)
    offered = re.findall(r'<option value="([^"]+)">([^<]+)', markup)
    assert [value for value, _ in offered] == ["text/html", "text/markdown", "a", "b"]
    assert offered[1][1] == ".markdown, .md"
    assert markup.count('type="date"') == 2
    assert "<details data-key" in markup  # folded


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, EVERYWHERE),
        ({"media_type": "", "tag": "", "path": " ", "since": "", "until": ""}, EVERYWHERE),
        ({"media_type": "text/html", "tag": "a"}, Within(media_types=("text/html",), tags=("a",))),
        ({"since": "2024-05-01", "until": "x"}, Within(since="2024-05-01", until="x")),
        ({"path": "reports/*.pdf"}, Within(paths=("reports/*.pdf",))),
        ({"path": "[draft] plan"}, Within(paths=("*[[]draft] plan*",))),
        ({"path": 7, "unknown": "x"}, Within(paths=("*7*",))),
    ],
)
def test_what_was_chosen_narrows_a_search(
    chosen: dict[str, object] | None, expected: Within
) -> None:
    assert filters.within(chosen) == expected


def test_the_formats_are_named_once_and_without_second_names() -> None:
    names = filters.formats(ocr=False)
    assert {"txt", "md", "html", "pdf", "docx", "csv", "eml", "epub", "ipynb", "zip"} <= set(names)
    assert not {"htm", "markdown", "text", "png"} & set(names)
    assert "png" in filters.formats(ocr=True)


def test_a_scope_offers_tags_before_documents() -> None:
    rows = [
        document(1, "Alike", "/a/x.md", tags=("b",)),
        document(2, "Alike", "/a/y.md", tags=("a", "b")),
        document(3, "Own"),
        document(4, "Failed", status="failed"),
    ]
    assert scope.scopes(rows) == [
        ("#a", "#a"), ("#b", "#b"), ("Alike (x.md)", 1), ("Alike (y.md)", 2), ("Own", 3)
    ]  # fmt: skip


def test_a_scope_is_every_document_that_was_chosen_by_itself_or_by_a_tag() -> None:
    rows = [document(1, tags=("a",)), document(2, tags=("b",)), document(3)]
    assert scope.chosen_by([], rows) == EVERYWHERE
    assert scope.chosen_by([3], rows) == Within(documents=(3,))
    assert scope.chosen_by(["#a"], rows) == Within(tags=("a",))
    assert scope.chosen_by([3, "#a", "#b"], rows) == Within(documents=(3, 1, 2))
    assert scope.chosen_by(["#gone", "#lost"], rows) != EVERYWHERE


def test_the_first_page_says_what_is_not_found_by_meaning_yet() -> None:
    assert "3 passages are still found by their words" in greeting.greeting(
        [document(pending=3)], EN
    )
    assert "still found" not in greeting.greeting([document()], EN)
