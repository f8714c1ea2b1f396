"""What is shown of files that are being taken in, without a library."""

import re

from rag.ingest import Outcome
from tests.ui.records import HOSTILE, document
from tests.ui.test_render import shown
from ui.intake import Arrival
from ui.locale import texts
from ui.progress import progress

EN, KO = texts("en"), texts("ko")


def done(name: str, status: str = "added", chunks: int = 4, **more: object) -> Arrival:
    outcome = Outcome(f"/up/{name}", 1, status, chunks, **more)  # type: ignore[arg-type]
    return Arrival(name, f"/up/{name}", outcomes=(outcome,), ended=True)


def test_each_file_says_what_became_of_it() -> None:
    arrivals = [
        done("a.pdf"),
        done("b.txt", "failed", 0, reason="encrypted"),
        Arrival("c.txt", "/up/c.txt", (document(path="/up/c.txt", pending=3),)),
        Arrival("d.txt", "/up/d.txt"),
        Arrival("e.txt", "/up/e.txt"),
    ]
    text = shown(progress(arrivals, EN))
    assert "3 of 5 files read" in text
    assert "5 of 8 passages have their vectors" in text
    for line in (
        "a.pdfAdded4 passages",
        "b.txtFailedencrypted",
        "c.txtBy words so far4 passages",
        "d.txtreading…",
        "e.txtwaiting",
    ):
        assert line in text


def test_a_finished_upload_counts_what_was_taken_in() -> None:
    markup = progress([done("a", "duplicate"), done("b", "unsupported", 0, reason="why")], EN)
    assert "1 of 2 files taken in" in shown(markup)
    assert "width:100%" in markup
    assert "vectors" not in shown(markup)


def test_a_document_that_is_done_waits_for_nothing() -> None:
    outcome = Outcome("/up/a.txt", 1, "added", 4)
    row = document(path="/up/a.txt", pending=4)
    assert "By words" not in progress(
        [Arrival("a.txt", "/up/a.txt", (row,), (outcome,), ended=True)], EN
    )


def test_an_archive_folds_its_files() -> None:
    outcomes = (
        Outcome("/up/a.zip/보고서/one.txt", 1, "added", 2),
        Outcome("/up/a.zip/two.txt", 2, "empty", reason="no text"),
    )
    markup = progress([Arrival("a.zip", "/up/a.zip", outcomes=outcomes, ended=True)], EN)
    head, inside = markup.split("<details")
    assert "a.zipPartly added" in shown(head)
    assert "2 files inside, 1 taken in" in shown(inside)
    assert "보고서/one.txtAdded2 passages" in shown(inside)
    assert "two.txtNo textno text" in shown(inside)
    going_on = progress([Arrival("a.zip", "/up/a.zip", outcomes=outcomes)], EN)
    assert "a.zipreading…" in shown(going_on)


def test_an_archive_that_cannot_be_read_is_one_line() -> None:
    markup = progress([done("a.zip", "failed", 0, reason="damaged")], EN)
    assert "<details" not in markup
    assert "a.zipFaileddamaged" in shown(markup)


def test_a_reason_is_english_on_a_korean_page_too() -> None:
    markup = progress([done("a.pdf", "failed", 0, reason="encrypted", warnings=("2 gaps",))], KO)
    assert "a.pdf읽지 못함encrypted · 2 gaps" in shown(markup)
    assert markup.count('<span lang="en">') == 2


def test_many_files_are_cut_after_those_that_were_refused() -> None:
    arrivals = [done(f"{number}.txt") for number in range(300)]
    markup = progress([*arrivals, done("bad.txt", "failed", 0)], EN)
    assert "101 more are not shown" in shown(markup)
    assert "bad.txt" in markup
    assert markup.count('class="a-badge') == 200


def test_nothing_hostile_gets_through() -> None:
    bad = done(HOSTILE, "failed", 0, reason=HOSTILE, warnings=(HOSTILE,))
    inside = Outcome(f"/up/a.zip/{HOSTILE}", 1, "added", 1, None, (HOSTILE,))
    arrivals = [bad, Arrival(HOSTILE), Arrival("a.zip", "/up/a.zip", outcomes=(inside,))]
    for words in (EN, KO):
        markup = progress(arrivals, words)
        assert "<script" not in markup
        assert set(re.findall(r"<(\w+)", markup)) <= {
            "details", "h2", "i", "li", "p", "section", "small", "span", "summary", "ul",
        }  # fmt: skip
        assert HOSTILE in shown(markup)
