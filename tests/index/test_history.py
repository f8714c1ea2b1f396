import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert

from index import Catalog, Chunk, Collection, Model
from index.errors import AdapterMismatch, UnknownAdapter, UnknownChunk, UnknownCollection
from index.history import values_of
from index.records import AskedQuestion, NewDocument
from index.schema import QuestionRow
from index.verify import verify
from tests.index.library import MODEL, document, vectors_of

NEW = Model("wide", "fingerprint-of-wide", 12)
QUESTION = "How often is the pump oiled?"
REPORT = {"gain": 0.5, "뜻": ["나아짐"]}


@pytest.fixture
def stocked(collection: Collection, catalog: Catalog) -> Catalog:
    """Chunks 1 to 4."""
    for path in ("a", "b"):
        _add(collection, document(path, f"pump {path}", f"crane {path}"))
    return catalog


def _add(collection: Collection, new: NewDocument) -> int:
    return collection.add(new, vectors_of(new)).id


def _only(catalog: Catalog) -> AskedQuestion:
    (asked,) = catalog.asked("default")
    return asked


def _judged(catalog: Catalog) -> tuple[tuple[int, ...], ...]:
    asked = _only(catalog)
    return asked.opened, asked.up, asked.down


def test_a_question_is_kept_once_however_it_is_written(stocked: Catalog) -> None:
    for text in (QUESTION, "how often  is\nthe PUMP oiled?", QUESTION):
        stocked.remember("default", text)
    stocked.remember("default", "펌프는 언제 점검하나요?")
    korean, english = stocked.asked("default")
    assert (korean.text, korean.language, korean.times) == ("펌프는 언제 점검하나요?", "ko", 1)
    assert (english.text, english.language, english.times) == (QUESTION, "en", 3)
    assert english.asked_at.endswith("+00:00")
    assert stocked.count_asked("default") == 2


def test_a_question_is_one_however_its_letters_are_composed(stocked: Catalog) -> None:
    stocked.remember("default", "\uac00")
    stocked.remember("default", "\u1100\u1161")
    assert _only(stocked).times == 2


def test_threads_count_one_question_together(stocked: Catalog) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: stocked.remember("default", QUESTION), range(12)))
    assert _only(stocked).times == 12


def test_collections_have_questions_of_their_own(stocked: Catalog) -> None:
    stocked.create("letters", MODEL)
    stocked.remember("default", QUESTION)
    stocked.remember("letters", QUESTION)
    stocked.judge("default", QUESTION, 1, "up")
    assert stocked.asked("letters")[0].up == ()
    assert stocked.forget("default") == 1
    assert stocked.asked("default") == ()
    assert stocked.count_asked("letters") == 1
    with pytest.raises(UnknownCollection):
        stocked.remember("none", QUESTION)


def test_judgements_are_kept_and_a_thumb_turns(stocked: Catalog) -> None:
    stocked.remember("default", QUESTION)
    for chunk, kind in ((3, "up"), (1, "up"), (2, "down"), (1, "opened"), (1, "opened")):
        stocked.judge("default", QUESTION.upper(), chunk, kind)  # type: ignore[arg-type]
    assert _judged(stocked) == ((1,), (1, 3), (2,))
    assert _only(stocked).times == 1
    stocked.judge("default", QUESTION, 1, "down")
    assert _judged(stocked) == ((1,), (3,), (1, 2))
    stocked.judge("default", QUESTION, 1, None)
    assert _judged(stocked) == ((1,), (3,), (2,))


def test_a_judgement_brings_its_question_along(stocked: Catalog) -> None:
    stocked.judge("default", QUESTION, 2, "opened")
    assert (_only(stocked).text, _only(stocked).times) == (QUESTION, 1)


def test_a_passage_that_is_not_there_is_told(stocked: Catalog) -> None:
    stocked.create("letters", MODEL)
    for collection, chunk in (("default", 77), ("letters", 1)):
        with pytest.raises(UnknownChunk, match=f"'{collection}' has no passage {chunk}: .*again"):
            stocked.judge(collection, QUESTION, chunk, "up")
        assert stocked.asked(collection) == ()


def test_forgetting_takes_the_judgements_along(stocked: Catalog) -> None:
    stocked.judge("default", QUESTION, 1, "up")
    assert stocked.forget("default") == 1
    stocked.remember("default", QUESTION)
    assert _judged(stocked) == ((), (), ())
    assert stocked.forget("default") == 1
    assert stocked.forget("default") == 0


@pytest.mark.parametrize("judged", [False, True])
def test_a_log_that_is_full_forgets_what_nobody_asks_any_more(
    stocked: Catalog, judged: bool
) -> None:
    key = stocked.collection("default").id
    rows = [
        values_of(key, f"question {n}", f"2024-01-01T00:{n // 60 % 60:02}:{n % 60:02}+00:00")
        for n in range(20_000)
    ]
    for row in rows[3600:]:
        row["asked_at"] = "2024-01-02T00:00:00+00:00"
    stocked.create("letters", MODEL)
    stocked.remember("letters", QUESTION)
    with stocked.database.writing() as connection:
        connection.execute(insert(QuestionRow), rows)
    stocked.remember("default", "question 0")  # is there, and is new again
    assert stocked.count_asked("default") == 20_000
    if judged:
        stocked.judge("default", QUESTION, 1, "up")
    else:
        stocked.remember("default", QUESTION)
    left = {asked.text for asked in stocked.asked("default")}
    assert len(left) == 19_000
    assert {QUESTION, "question 0", "question 1002"} <= left
    assert "question 1001" not in left
    assert stocked.count_asked("letters") == 1


@pytest.mark.parametrize("url", [None])
def test_what_is_forgotten_is_not_in_the_file_either(stocked: Catalog) -> None:
    stocked.remember("default", "Whom may we dismiss?")
    _taught(stocked, report={"better": ["Whom may we dismiss?"]})
    stocked.forget("default")
    stocked.close()
    assert b"Whom may we" not in (stocked.home / "attest.db").read_bytes()


def test_judgements_hold_when_the_library_is_cut_anew(stocked: Catalog) -> None:
    for chunk, kind in ((1, "up"), (2, "opened"), (4, "down")):
        stocked.judge("default", QUESTION, chunk, kind)  # type: ignore[arg-type]
    move = stocked.move("default", NEW)
    for text in move.texts(0, 10):
        whole = Chunk(text.text, 0, len(text.text), None, (), 3)
        assert move.add(text, [whole], np.ones((1, NEW.dimensions), np.float32))
    assert _judged(stocked) == ((2,), (1,), (4,))  # the old ones answer until the switch
    assert move.finish()
    stocked.clear_former("default")
    assert _judged(stocked) == ((5,), (5,), (6,))
    assert verify(stocked).problems == ()


def test_of_several_new_passages_that_which_covers_most_is_meant(stocked: Catalog) -> None:
    stocked.judge("default", QUESTION, 2, "up")  # [7:14] of "pump a\ncrane a"
    move = stocked.move("default", NEW)
    for text in move.texts(0, 10):
        cut = [Chunk(text.text[i:j], i, j, None, (), 3) for i, j in ((0, 9), (9, 14))]
        move.add(text, cut, np.ones((2, NEW.dimensions), np.float32))
    assert move.finish()
    (found,) = stocked.chunks(_only(stocked).up)
    assert (found.document.path, found.text) == ("a", "ane a")


def test_the_later_of_two_thumbs_for_one_passage_counts(stocked: Catalog) -> None:
    stocked.judge("default", QUESTION, 2, "down")
    stocked.judge("default", QUESTION, 1, "up")
    move = stocked.move("default", NEW)
    for text in move.texts(0, 10):
        whole = Chunk(text.text, 0, len(text.text), None, (), 3)
        move.add(text, [whole], np.ones((1, NEW.dimensions), np.float32))
    assert move.finish()
    assert _judged(stocked) == ((), (5,), ())


def test_judgements_follow_a_document_that_moves_or_changes_elsewhere(
    stocked: Catalog, collection: Collection
) -> None:
    _add(collection, document("copy", "pump a", "crane a"))
    stocked.judge("default", QUESTION, 1, "up")
    stocked.judge("default", QUESTION, 3, "up")
    stocked.judge("default", QUESTION, 4, "up")
    stocked.remove(stocked.find("default", "a").id)  # its copy takes the passages over
    _add(collection, document("b", "a new line", "pump b"))  # and "crane b" has gone
    found = {(chunk.document.path, chunk.text) for chunk in stocked.chunks(_only(stocked).up)}
    assert found == {("copy", "pump a"), ("b", "pump b")}
    again = document("b", "pump b", "crane b")
    _add(collection, again)
    assert len(_only(stocked).up) == 3


def test_what_was_asked_goes_with_the_collection(stocked: Catalog) -> None:
    stocked.judge("default", QUESTION, 1, "up")
    _taught(stocked)
    stocked.drop("default")
    stocked.create("default", MODEL)
    assert stocked.asked("default") == ()
    assert stocked.adapters("default") == ()
    assert verify(stocked).problems == ()


def _taught(
    catalog: Catalog,
    fingerprint: str = "adapted",
    base: str = MODEL.fingerprint,
    report: dict[str, Any] = REPORT,
) -> int:
    return catalog.add_adapter(
        "default",
        fingerprint=fingerprint,
        base=base,
        kind="query",
        data=fingerprint.encode() * 1000,
        report=report,
    )


def test_an_adapter_is_used_and_taken_off(stocked: Catalog) -> None:
    assert stocked.active_adapter("default") is None
    first, second = _taught(stocked, "first"), _taught(stocked, "second")
    assert stocked.active_adapter("default") is None  # kept is not used
    stocked.use_adapter("default", first)
    active = stocked.active_adapter("default")
    assert active is not None
    assert (active.id, active.data, active.active) == (first, b"first" * 1000, True)
    assert (active.base, active.kind) == (MODEL.fingerprint, "query")
    assert active.report == REPORT
    listed = stocked.adapters("default")
    assert [(each.id, each.active, each.data) for each in listed] == [
        (second, False, b""),
        (first, True, b""),
    ]
    assert replace(active, data=b"") == listed[1]
    assert stocked.collection("default").adapter_id == first
    stocked.use_adapter("default", None)
    assert stocked.active_adapter("default") is None
    assert stocked.collection("default").adapter_id is None


def test_the_last_adapters_and_the_one_in_use_are_kept(stocked: Catalog) -> None:
    used, other = _taught(stocked, "used"), _taught(stocked, "other")
    stocked.use_adapter("default", used)
    last = [_taught(stocked, f"number {n}") for n in range(10)]
    assert [each.id for each in stocked.adapters("default")] == [*reversed(last), used]
    active = stocked.active_adapter("default")
    assert active is not None
    assert active.fingerprint == "used"
    with pytest.raises(UnknownAdapter):
        stocked.use_adapter("default", other)


def test_forgetting_empties_the_reports_which_quote_questions(stocked: Catalog) -> None:
    stocked.use_adapter("default", _taught(stocked))
    stocked.create("letters", MODEL)
    stocked.forget("letters")
    active = stocked.active_adapter("default")
    assert active is not None
    assert active.report == REPORT
    stocked.forget("default")
    active = stocked.active_adapter("default")
    assert active is not None
    assert (active.report, active.fingerprint) == ({}, "adapted")


def test_an_adapter_that_does_not_fit_is_refused(stocked: Catalog) -> None:
    stocked.create("letters", MODEL)
    other = _taught(stocked, base="f" * 64)
    with pytest.raises(AdapterMismatch, match=r"for the model ffffffffffff, .*tiny \(fingerprint-"):
        stocked.use_adapter("default", other)
    with pytest.raises(UnknownAdapter, match="'letters' has no adapter 1: list them"):
        stocked.use_adapter("letters", other)
    assert stocked.collection("default").adapter_id is None


def test_a_move_to_another_model_takes_the_adapter_off(stocked: Catalog) -> None:
    stocked.use_adapter("default", _taught(stocked))
    move = stocked.move("default", NEW)
    for text in move.texts(0, 10):
        whole = Chunk(text.text, 0, len(text.text), None, (), 3)
        move.add(text, [whole], np.ones((1, NEW.dimensions), np.float32))
    assert stocked.active_adapter("default") is not None
    assert move.finish()
    assert stocked.collection("default").adapter_id is None
    assert [each.active for each in stocked.adapters("default")] == [False]
    assert verify(stocked).problems == ()


def test_an_adapter_is_not_put_to_use_while_its_model_goes(stocked: Catalog) -> None:
    """Either it was in use before the switch, and is taken off, or it is refused after it."""
    key = _taught(stocked)
    move = stocked.move("default", NEW)
    for text in move.texts(0, 10):
        whole = Chunk(text.text, 0, len(text.text), None, (), 3)
        move.add(text, [whole], np.ones((1, NEW.dimensions), np.float32))
    start = threading.Barrier(2, timeout=10)

    def use() -> None:
        start.wait()
        try:
            stocked.use_adapter("default", key)
        except AdapterMismatch:
            return

    def finish() -> None:
        start.wait()
        assert move.finish()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(use), pool.submit(finish)]:
            done.result()
    assert stocked.collection("default").adapter_id is None
    assert stocked.active_adapter("default") is None


def test_the_re_ranking_weight_is_kept_within_bounds(stocked: Catalog) -> None:
    assert stocked.collection("default").rerank_weight == 0
    stocked.set_rerank_weight("default", 0.25)
    assert stocked.collection("default").rerank_weight == 0.25
    with pytest.raises(ValueError, match=r"weight 1\.5 must lie between 0 \(off\) and 1 \(alone\)"):
        stocked.set_rerank_weight("default", 1.5)
