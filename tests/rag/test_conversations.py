import json
from dataclasses import replace
from pathlib import Path

import pytest

from index.errors import UnknownConversation
from rag import Assistant, Settings
from rag.conversation_export import as_json, as_markdown, plain, with_citations
from rag.conversations import Conversations, named_by
from rag.errors import UsageError
from rag.kept_answers import packed, surroundings, unpacked
from rag.reasons import reason
from rag.records import Answer, Certificate
from rag.strength import strengths
from tests.ui.records import answer as made_answer
from tests.ui.records import cited, hit

QUESTION = "How long does the warranty of the lamp last?"


def _asked(library: Assistant, question: str = QUESTION, uid: str | None = None) -> str:
    talks = Conversations(library)
    kept = talks.begin(question, uid)
    assert kept is not None
    list(talks.recorded(kept, library.stream(question, mode="extract")))
    return kept.uid


def _only(library: Assistant, uid: str) -> Answer:
    (message,) = Conversations(library).read(uid).messages
    assert message.answer is not None
    return message.answer


def test_a_reopened_conversation_shows_the_same_evidence(library: Assistant) -> None:
    before = library.ask(QUESTION, mode="extract")
    uid = _asked(library)
    again = _only(library, uid)
    assert replace(again, timings_ms={}) == replace(before, timings_ms={})
    moved, around = surroundings(again, library)
    assert moved == again
    for citation, text in zip(moved.citations, around, strict=True):
        assert text is not None
        assert text[citation.start : citation.end] == citation.quote


def test_what_is_removed_leaves_the_quote_and_no_more(library: Assistant) -> None:
    uid = _asked(library)
    quote = _only(library, uid).citations[0].quote
    library.remove(["warranty.md"])
    again = _only(library, uid)
    assert again.citations[0].quote == quote
    assert again.citations[0].document.title == "Warranty"
    assert surroundings(again, library)[1][0] is None
    with library.catalog.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT answer FROM message").scalars().all()
    assert "Keep the receipt" not in "".join(map(str, rows))


def test_a_quote_is_found_where_it_stands_today(
    library: Assistant, shelf: Path, tmp_path: Path
) -> None:
    file = tmp_path / "moved.md"
    file.write_text("# Handle\n\nThe handle of the Orinoco is made of beech.\n", encoding="utf-8")
    library.add(file)
    uid = _asked(library, "What is the handle of the Orinoco made of?")
    file.write_text(
        "# Handle\n\nA line that came later.\n\nThe handle of the Orinoco is made of beech.\n",
        encoding="utf-8",
    )
    library.add(file)
    moved, around = surroundings(_only(library, uid), library)
    (citation,) = [each for each in moved.citations if "beech" in each.quote]
    text = around[moved.citations.index(citation)]
    assert text is not None
    assert text[citation.start : citation.end] == citation.quote


def test_a_stop_keeps_the_turn_and_an_error_is_left_to_the_caller(library: Assistant) -> None:
    talks = Conversations(library)
    kept = talks.begin(QUESTION)
    assert kept is not None
    pieces = talks.recorded(kept, iter(["The warranty ", "lasts"]))
    next(pieces)
    pieces.close()
    (message,) = talks.read(kept.uid).messages
    assert (message.state, message.text, message.answer) == ("stopped", "The warranty ", None)

    failing = talks.begin("And the handle?", kept.uid)
    with pytest.raises(ZeroDivisionError):
        list(talks.recorded(failing, (str(1 // 0) for _ in range(1))))
    talks.settle(failing, "the reason", failed=True)
    assert talks.read(kept.uid).messages[1].text == "the reason"


def test_nothing_is_kept_where_that_is_switched_off(library: Assistant, settings: Settings) -> None:
    off = settings.model_copy(update={"remember_questions": False})
    with Assistant.open(off) as attest:
        talks = Conversations(attest)
        assert talks.begin(QUESTION) is None
        assert list(talks.recorded(None, iter(["a"]))) == ["a"]
        assert talks.listed() == ()


def test_nothing_is_kept_without_a_library(attest: Assistant) -> None:
    assert Conversations(attest).begin(QUESTION) is None
    assert Conversations(attest).clear() == 0


def test_names_come_from_the_first_question_and_can_be_changed(library: Assistant) -> None:
    uid = _asked(library, f"  {QUESTION}\n  Please say it in a few words, and in months.")
    talks = Conversations(library)
    (head,) = talks.listed()
    assert head.title == "How long does the warranty of the lamp last? Please say it…"
    assert talks.rename(uid, "  Lamps\nand  more ") == "Lamps and more"
    assert talks.listed()[0].title == "Lamps and more"
    with pytest.raises(UsageError, match="needs a name"):
        talks.rename(uid, " \u200b ")
    assert named_by("긴" * 80) == f"{'긴' * 60}…"


def test_thoughts_have_a_longest_note_and_an_owner(library: Assistant) -> None:
    kept = Conversations(library, "a" * 32).begin(QUESTION)
    assert kept is not None
    with pytest.raises(UsageError, match=r"note has 2001 characters, 2000 are taken"):
        Conversations(library, "a" * 32).think(kept, "up", "x" * 2_001)
    with pytest.raises(UnknownConversation):
        Conversations(library).think(kept, "up")


def test_what_is_packed_is_json_and_whole(library: Assistant) -> None:
    given = library.ask(QUESTION, mode="extract")
    certified = replace(
        given,
        citations=tuple(
            replace(each, certificate=Certificate(True, False, None, 0.5, -0.1))
            for each in given.citations
        ),
        confidence=0.75,
        unsupported=((0, 3),),
    )
    again = unpacked(json.loads(json.dumps(packed(certified))), library, "default")
    assert again == certified


def test_exports_hold_the_citations(library: Assistant) -> None:
    uid = _asked(library)
    whole = Conversations(library).read(uid)
    data = as_json(whole)
    assert data["messages"][0]["answer"]["citations"][0]["document"]["title"] == "Warranty"
    text = as_markdown(whole)
    assert text.startswith("# How long does the warranty")
    assert "\\[1\\]" in text
    assert "“The warranty of the lamp lasts 24 months from delivery.”" in text


def test_a_copied_answer_has_numbers_and_sources() -> None:
    found = hit("It weighs 14 kg. Keep it dry.")
    text = "It weighs 14 kg. Keep it dry."
    both = [
        cited(found, "It weighs 14 kg.", text, "It weighs 14 kg."),
        cited(found, "Keep it dry.", text, "Keep it dry."),
    ]
    assert with_citations(made_answer(text, both)) == (
        "It weighs 14 kg. [1] Keep it dry. [1]\n\nSources\n"
        "[1] Pump manual, pump.pdf, page 3: “It weighs 14 kg.” “Keep it dry.”"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![x](http://a/b)", "!\\[x\\](http://a/b)"),
        ("<script>1</script>", "\\<script\\>1\\</script\\>"),
        ("# not a heading\n1. no list", "\\# not a heading\n1\\. no list"),
        ("a*b_c`d", "a\\*b\\_c\\`d"),
    ],
)
def test_markdown_of_documents_is_literal(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_support_is_strong_weak_or_none() -> None:
    found = hit("The pump moves 42 litres a minute and weighs 14 kg in all.")
    text = "The pump moves 42 litres a minute. The small pump quickly moves 42 litres. It is red."
    claims = [
        cited(
            found, "The pump moves 42 litres a minute", text, "The pump moves 42 litres a minute."
        ),
        cited(found, "The pump moves 42 litres", text, "The small pump quickly moves 42 litres."),
    ]
    red = (text.index("It is red"), len(text))
    answer = made_answer(text, claims, [red], passages=[found])
    assert list(strengths(answer).values()) == ["strong", "weak", "none"]
    doubted = Certificate(necessary=False, sufficient=False, follows=None, drop=0, alone=1)
    first = replace(claims[0], certificate=doubted)
    assert list(strengths(replace(answer, citations=(first,))).values()) == ["weak", "none"]


def test_a_declined_answer_says_what_is_missing() -> None:
    found = hit("The pump moves 42 litres a minute.")
    declined = replace(
        made_answer("Not there.", abstained=True, passages=[found]), question="Mars pump budget?"
    )
    why = reason(declined)
    assert why is not None
    assert why.missing == ("Mars", "budget")
    assert why.nearest == (found,)
    assert reason(made_answer("It moves.")) is None
    bare = reason(replace(declined, passages=()))
    assert bare is not None
    assert not bare.found
