import re
from dataclasses import replace

from rag.records import LibraryStatus
from tests.ui.records import HOSTILE, answer
from tests.ui.test_render import shown
from tests.ui.test_turns import settled
from ui.locale import texts
from ui.memory import memory
from ui.turns import Turn, conversation

EN, KO = texts("en"), texts("ko")
STATUS = LibraryStatus(home="/h", database="/h/attest.db", collection="default", encoder="minilm")


def test_an_answer_with_sources_has_thumbs_with_names() -> None:
    for words in (EN, KO):
        markup = conversation([replace(settled(), learns=True)], words)
        labels = re.findall(r'data-judge="(\w+)" aria-pressed="false" aria-label="([^"]+)"', markup)
        assert labels == [("up", words("judge.up")), ("down", words("judge.down"))]
        assert 'data-chunks="[1, 2]"' in markup
        assert f'role="group" aria-label="{words("judge.label")}"' in markup
    assert 'data-asked="How much?"' in markup


def test_what_is_not_remembered_is_not_asked_for() -> None:
    markup = conversation([settled()], EN)
    assert "data-judge" not in markup
    assert "data-asked" not in markup


def test_a_declined_answer_is_judged_as_well_and_a_note_stays_with_it() -> None:
    declined = Turn("How much?", answer("Not there.", abstained=True), learns=True)
    markup = conversation([declined], EN)
    assert 'data-chunks="[]"' in markup
    assert re.search(r'class="a-note" hidden value=""', markup)
    noted = conversation([replace(declined, thumb="down", note="it is in <b>A</b>")], EN)
    assert re.search(r'data-judge="down" aria-pressed="true"', noted)
    assert re.search(r'class="a-note"  value="it is in &lt;b&gt;A', noted)


def test_buttons_of_a_source_name_its_passage() -> None:
    markup = conversation([settled()], EN)
    assert re.findall(r'data-source="a-source-1-(\d)" data-chunk="(\d)"', markup) == [
        ("1", "1"),
        ("2", "2"),
        ("1", "1"),
        ("2", "2"),
    ]


def test_a_hostile_question_stays_within_its_attribute() -> None:
    turn = replace(settled(), question=HOSTILE, learns=True)
    assert "<script" not in conversation([turn], EN)
    assert "&#34;&#39;`" in conversation([turn], EN)


def test_the_library_says_what_it_remembers() -> None:
    none = memory(STATUS, EN)
    assert "there are none so far" in none
    assert "<code>remember_questions = false</code> in attest.toml" in none
    assert "button" not in none
    some = memory(replace(STATUS, questions=1200), EN)
    assert shown(some).startswith("1,200 questions are remembered on this machine")
    assert 'data-send="forget"' in some
    assert "질문 1개를" in memory(replace(STATUS, questions=1), KO)


def test_switched_off_is_said_and_what_is_left_can_go() -> None:
    off = replace(STATUS, remember_questions=False)
    assert "not remembered" in memory(off, EN)
    assert "button" not in memory(off, EN)
    left = memory(replace(off, questions=3), EN)
    assert "3 from before are still kept." in left
    assert 'data-send="forget"' in left
