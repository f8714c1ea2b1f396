"""What the tabs show of records, without a browser."""

import re

import pytest

from index.records import StoredDocument, WordFrequencies
from rag.ingest import Outcome
from rag.records import Hit, LibraryStatus, Report, ReportCluster, SearchResult
from tests.ui.records import HOSTILE, document, hit
from tests.ui.test_render import quoted, shown
from ui import ask, library, report, search
from ui.locale import texts
from ui.search import Found

EN, KO = texts("en"), texts("ko")


def found(*hits: Hit, asked: str = "pump", similar: bool = False) -> Found:
    return Found(asked, similar, SearchResult(asked, hits, WordFrequencies(0, {})))


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


def test_a_long_passage_can_be_unfolded() -> None:
    assert "data-more" in search.results(found(hit("word " * 200)), EN)
    assert "data-more" not in search.results(found(hit("word " * 20)), EN)


def test_progress_says_of_each_file_what_became_of_it() -> None:
    names = ["a.pdf", "b.txt", "c.bin", "d.txt"]
    done = [
        Outcome("/up/a.pdf", 1, "added", 4),
        Outcome("/up/b.txt", 2, "failed", reason="encrypted"),
    ]
    markup = library.progress(names, done, EN)
    text = shown(markup)
    assert "Adding 3 of 4" in text
    for line in ("a.pdfAdded4 passages", "b.txtFailedencrypted", "c.binreading…", "d.txtwaiting"):
        assert line in text
    assert "width:50%" in markup


def test_a_finished_upload_counts_what_was_taken_in() -> None:
    done = [Outcome("a", 1, "duplicate", 3), Outcome("b", None, "unsupported", reason="why")]
    assert "1 of 2 files taken in" in shown(library.progress(["a", "b"], done, EN))


def test_the_list_names_every_document_with_its_state() -> None:
    rows = [
        document(7),
        document(8, "Scan", "/s/scan.pdf", status="empty", reason="no text", chunks=0),
    ]
    text = shown(library.listing(rows, "", EN))
    assert "Pump manualpump.pdf" in text
    assert "31.3 kB" in text
    assert "Scanscan.pdfno text" in text
    assert 'data-send="7"' in library.listing(rows, "", EN)


@pytest.mark.parametrize(
    ("wanted", "ids"), [("PUMP", [1]), (" .md ", [2]), ("", [1, 2]), ("x", [])]
)
def test_the_list_is_narrowed_by_title_or_file_name(wanted: str, ids: list[int]) -> None:
    rows = [document(1), document(2, "Notes", "/a/notes.md")]
    markup = library.listing(rows, wanted, EN)
    assert [int(key) for key in re.findall(r'data-send="(\d+)"', markup)] == ids


def test_a_long_list_is_cut_and_says_so() -> None:
    rows = [document(key) for key in range(1, 312)]
    markup = library.listing(rows, "", EN)
    assert markup.count("data-send=") == 300
    assert "11 more are not shown" in markup


def test_an_empty_library_says_what_to_do() -> None:
    assert EN("library.empty.title") in library.listing([], "", EN)
    markup = ask.greeting([], EN)
    assert EN("ask.empty.title") in markup
    assert 'data-tab="library"' in markup


def test_the_facts_count_every_document() -> None:
    status = LibraryStatus("/h", "default", "minilm", "f", {"indexed": 40, "empty": 3}, 214, 214, 5)
    text = shown(library.facts(status, EN))
    assert "Documents43" in text
    assert "Encoderminilm" in text


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
    assert ask.examples(documents, EN) == ["What is “Leave policy” about?"]
    assert ask.examples(documents, KO) == [
        "‘휴가 규정’에 대해 알려 주세요.",
        "‘재택 지침’에 대해 알려 주세요.",
    ]


def test_examples_are_four_from_all_over_the_library() -> None:
    documents = [document(key, f"Part {key}") for key in range(40)]
    asked = ask.examples(documents, EN)
    assert len(asked) == 4
    assert "Part 30" in asked[-1]


def test_file_names_make_examples_where_there_are_no_titles() -> None:
    assert ask.examples([document(1, "notes")], EN) == ["What is “notes” about?"]


def a_report(*clusters: ReportCluster, documents: int = 9) -> Report:
    return Report(documents, 0, clusters, {"silhouette": 0.214}, ("a note",), None)


def cluster(members: list[StoredDocument]) -> ReportCluster:
    return ReportCluster(1, "pump, flow", ("pump", "flow"), ("It moves.",), tuple(members))


def test_a_report_shows_groups_words_and_documents() -> None:
    text = shown(report.page(a_report(cluster([document()])), EN))
    assert "9 documents in 1 group · Separation 0.21, from −1 to 1" in text
    assert "a note" in text
    assert "pump, flow1 documentpumpflowIt moves.Pump manual" in text


def test_a_large_group_can_be_unfolded() -> None:
    small = report.page(a_report(cluster([document(key) for key in range(8)])), EN)
    large = report.page(a_report(cluster([document(key) for key in range(9)])), EN)
    assert "data-more" not in small
    assert "Show all 9" in large


def test_no_report_and_an_empty_one() -> None:
    assert EN("report.empty.title") in report.page(None, EN)
    assert EN("report.nothing.title") in report.page(a_report(documents=0), EN)


def test_nothing_hostile_gets_through_any_tab() -> None:
    evil = document(title=HOSTILE, path=f"/a/{HOSTILE}", reason=HOSTILE, warnings=(HOSTILE,))
    group = ReportCluster(1, HOSTILE, (HOSTILE,), (HOSTILE,), (evil,))
    pages = [
        search.results(found(hit(HOSTILE, of=evil, heading=(HOSTILE, "x")), asked=HOSTILE), EN),
        search.results(found(asked=HOSTILE), EN),
        search.results(Found(HOSTILE, failure=HOSTILE), EN),
        library.progress([HOSTILE], [Outcome(HOSTILE, 1, "added", 1, HOSTILE, (HOSTILE,))], EN),
        library.progress([HOSTILE], [], EN),
        library.listing([evil], "", EN),
        library.listing([evil], f"{HOSTILE}no", EN),
        ask.greeting([evil], EN),
        report.page(Report(1, 0, (group,), {}, (HOSTILE,), None), EN),
    ]
    for markup in pages:
        assert "<script" not in markup
        assert "javascript:" not in "".join(re.findall(r'(?:href|src)="[^"]*"', markup))
        assert HOSTILE in shown(markup)
