from pathlib import Path

import pytest

from index import Catalog, Collection
from index.conversations import Conversations
from index.errors import UnknownCollection, UnknownConversation
from tests.index.library import document, vectors_of

ANN, BOB = "a" * 32, "b" * 32
ANSWER = {"answer": "15일", "뜻": [1, 2]}


@pytest.fixture
def talks(collection: Collection, catalog: Catalog) -> Conversations:
    """Over a catalogue with one collection."""
    collection.add(new := document("a", "pump"), vectors_of(new))
    return Conversations(catalog.database)


def _asked(talks: Conversations, question: str, uid: str | None = None, owner: str = ANN) -> str:
    uid, message = talks.ask("default", owner, question, title=question, uid=uid)
    talks.settle(message, "answered", f"{question} Yes.", ANSWER)
    return uid


def test_questions_and_answers_come_back_in_order(talks: Conversations) -> None:
    uid = _asked(talks, "First?")
    assert _asked(talks, "둘째?", uid) == uid
    head, messages = talks.read(uid, ANN)
    assert (head.title, head.collection, head.messages) == ("First?", "default", 2)
    assert [each.question for each in messages] == ["First?", "둘째?"]
    assert [each.answer for each in messages] == [ANSWER, ANSWER]
    assert messages[0].asked_at.endswith("+00:00")


def test_a_question_is_stored_before_its_answer_and_a_stop_takes_nothing_back(
    talks: Conversations,
) -> None:
    uid, message = talks.ask("default", ANN, "Why?", title="Why?")
    (open_,) = talks.read(uid, ANN)[1]
    assert (open_.state, open_.text, open_.answer) == ("stopped", "", None)
    talks.settle(message, "stopped", "Because")
    assert talks.read(uid, ANN)[1][0].text == "Because"
    talks.settle(message, "answered", "Because of it.", ANSWER)
    talks.settle(message, "stopped", "Because")
    (whole,) = talks.read(uid, ANN)[1]
    assert (whole.state, whole.text, whole.answer) == ("answered", "Because of it.", ANSWER)


def test_a_question_can_take_the_place_of_another(talks: Conversations) -> None:
    uid, first = talks.ask("default", ANN, "Why?", title="Why?")
    again, second = talks.ask("default", ANN, "Why?", title="x", uid=uid, instead_of=first)
    assert again == uid
    assert [each.id for each in talks.read(uid, ANN)[1]] == [second]
    other = _asked(talks, "Other?")
    talks.ask("default", ANN, "More?", title="x", uid=other, instead_of=second)
    assert len(talks.read(uid, ANN)[1]) == 1  # it is no message of that conversation


def test_nobody_sees_or_changes_what_is_anothers(talks: Conversations) -> None:
    uid, message = talks.ask("default", ANN, "Mine?", title="Mine?")
    assert talks.listed("default", BOB) == ()
    with pytest.raises(UnknownConversation, match=uid):
        talks.read(uid, BOB)
    with pytest.raises(UnknownConversation):
        talks.rename(uid, BOB, "Yours")
    with pytest.raises(UnknownConversation):
        talks.remove(uid, BOB)
    with pytest.raises(UnknownConversation):
        talks.think(uid, BOB, message, "up", "")
    other, _ = talks.ask("default", BOB, "Mine too?", title="Mine too?", uid=uid)
    assert other != uid
    assert talks.clear("default", BOB) == 1
    assert [each.uid for each in talks.listed("default", ANN)] == [uid]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("pump", 1), ("PUMP yes", 1), ("연차", 1), ("100%", 1), ("%", 1), ("_", 0), ("crane", 0)],
)
def test_words_of_titles_questions_and_answers_find(
    talks: Conversations, wanted: str, found: int
) -> None:
    _asked(talks, "Does the Pump run at 100%?")
    _asked(talks, "연차는 며칠인가?")
    assert len(talks.listed("default", ANN, wanted)) == found


def test_the_last_changed_comes_first_and_a_name_changes_nothing(talks: Conversations) -> None:
    one, two = _asked(talks, "One?"), _asked(talks, "Two?")
    talks.rename(one, ANN, "하나")
    found = talks.listed("default", ANN)
    assert [each.title for each in found] == ["Two?", "하나"]
    assert talks.listed("default", ANN, limit=1)[0].uid == two
    assert talks.listed("other", ANN) == ()
    with pytest.raises(UnknownCollection):
        talks.ask("other", ANN, "?", title="?")


def test_what_was_thought_is_kept_and_taken_back(talks: Conversations) -> None:
    uid, message = talks.ask("default", ANN, "Why?", title="Why?")
    talks.think(uid, ANN, message, "down", "too short")
    (kept,) = talks.read(uid, ANN)[1]
    assert (kept.thumb, kept.note) == ("down", "too short")
    talks.think(uid, ANN, message, None, "")
    assert talks.read(uid, ANN)[1][0].thumb is None


def test_messages_go_with_their_conversation_and_that_with_its_collection(
    talks: Conversations, catalog: Catalog
) -> None:
    uid, message = talks.ask("default", ANN, "Why?", title="Why?")
    talks.remove(uid, ANN)
    talks.settle(message, "answered", "late", ANSWER)  # nothing to settle any more
    _asked(talks, "Again?")
    catalog.drop("default")
    with catalog.database.reading() as connection:
        for table in ("conversation", "message"):
            left = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            assert left == 0


def test_two_processes_add_to_one_conversation(
    talks: Conversations, catalog: Catalog, tmp_path: Path
) -> None:
    uid = _asked(talks, "One?")
    url = catalog.database.url.render_as_string(hide_password=False)
    with Catalog(catalog.home, url) as other:
        _asked(Conversations(other.database), "Two?", uid)
    assert talks.listed("default", ANN)[0].messages == 2


def test_what_no_text_can_hold_is_in_no_conversation(talks: Conversations) -> None:
    _asked(talks, "Why?")
    for told in ("\0", "why\ud800"):
        assert talks.listed("default", ANN, told) == ()
        with pytest.raises(UnknownConversation):
            talks.read(told, ANN)
