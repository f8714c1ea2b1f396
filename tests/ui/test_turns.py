import re
from dataclasses import replace

from rag.records import Certificate
from tests.ui.records import HOSTILE, answer, cited, document, hit
from tests.ui.test_render import quoted, shown
from ui.locale import texts
from ui.turns import Turn, claims, conversation, under_way

EN, KO = texts("en"), texts("ko")
PASSAGE = "The pump moves 42 litres a minute. It weighs 14 kg. Keep it dry."
TEXT = "It moves 42 litres.\nIt weighs 14 kg. It is red."


def settled() -> Turn:
    """Two cited sentences of two sources, and one that nothing bears out."""
    first, second = hit(PASSAGE), hit("It weighs 14 kg.", id_=2, of=document(2, "Data sheet"))
    citations = [
        cited(first, "The pump moves 42 litres a minute.", TEXT, "It moves 42 litres."),
        cited(second, "It weighs 14 kg.", TEXT, "It weighs 14 kg.", marker=2),
    ]
    red = TEXT.index("It is red.")
    whole = answer(
        TEXT, citations, [(red, len(TEXT))], passages=[first, second], notes=["Left out: 2."],
        written=True,
    )  # fmt: skip
    return Turn("How much?", whole, (PASSAGE, "It weighs 14 kg."))


def test_markers_stand_behind_their_sentences() -> None:
    turn = settled()
    assert turn.answer is not None
    markup = claims(turn.answer, ["k1", "k2"], EN, turn.surroundings)
    assert shown(markup) == "It moves 42 litres.1It weighs 14 kg.2 It is red. not in the documents"
    assert markup.count("<p>") == 2
    assert markup.index('data-source="k1"') < markup.index("</p>") < markup.index("k2")
    assert re.search(r'a-unsupported">It is red\.</span> <span class="a-flag">', markup)


def test_a_sentence_with_two_sources_has_two_buttons() -> None:
    first, second = hit(PASSAGE), hit(PASSAGE, id_=2)
    both = [
        cited(first, "It weighs 14 kg.", "It weighs 14 kg.", "It weighs 14 kg."),
        cited(second, "It weighs 14 kg.", "It weighs 14 kg.", "It weighs 14 kg.", marker=2),
    ]
    markup = claims(answer("It weighs 14 kg.", both), ["a", "b"], EN, (PASSAGE, None))
    assert shown(markup) == "It weighs 14 kg.12"


def test_text_outside_of_the_sentences_is_kept() -> None:
    found = hit(PASSAGE)
    text = "Well: It weighs 14 kg. — so far"
    one = cited(found, "It weighs 14 kg.", text, "It weighs 14 kg.")
    assert (
        shown(claims(answer(text, [one]), ["a"], EN, (PASSAGE,)))
        == "Well: It weighs 14 kg.1 — so far"
    )


def test_each_button_opens_its_own_source() -> None:
    markup = conversation([settled(), settled()], EN)
    keys = re.findall(r'class="a-cite" data-source="([^"]+)"', markup)
    stored = re.findall(r'class="a-stored" id="([^"]+)"', markup)
    assert keys == stored
    assert len(set(keys)) == 4


def test_a_source_shows_title_page_heading_and_the_quote() -> None:
    markup = conversation([settled()], EN)
    source = markup[markup.index('class="a-stored"') :]
    assert quoted(source)[0] == "The pump moves 42 litres a minute."
    assert "Pump manual" in source
    assert "pump.pdf · page 3 · 2 Flow" in source


def test_one_chip_a_source_however_often_it_is_cited() -> None:
    found = hit(PASSAGE)
    text = "It weighs 14 kg. Keep it dry."
    twice = [
        cited(found, "It weighs 14 kg.", text, "It weighs 14 kg."),
        cited(found, "Keep it dry.", text, "Keep it dry."),
    ]
    whole = answer(text, twice, passages=[found])
    markup = conversation([Turn("?", whole, (PASSAGE, PASSAGE))], EN)
    assert markup.count('class="a-chip"') == 1
    assert markup.count('class="a-cite"') == 2


def test_a_source_that_is_gone_shows_the_passage_as_cited() -> None:
    found = hit(PASSAGE, start=1000)
    one = cited(found, "It weighs 14 kg.", "It weighs 14 kg.", "It weighs 14 kg.")
    turn = Turn("?", answer("It weighs 14 kg.", [one], passages=[found]), (None,))
    markup = conversation([turn], EN)
    assert quoted(markup) == ["It weighs 14 kg."]
    assert EN("source.gone") in markup


def test_how_an_answer_came_about() -> None:
    turn = settled()
    assert turn.answer is not None
    assert "With words of smollm2, checked against the documents · 1.2 s" in conversation(
        [turn], EN
    )
    quoted_only = Turn("?", answer("It weighs 14 kg."))
    assert "Quoted word for word · 1.2 s" in conversation([quoted_only], EN)
    assert "Left out: 2." in conversation([turn], EN)


def test_declining_is_calm_and_has_no_sources() -> None:
    turn = Turn("?", answer("The documents do not hold it.", abstained=True))
    markup = conversation([turn], EN)
    assert 'class="a-declined"' in markup
    assert "Quoted" not in markup
    for absent in ('role="alert"', "a-cite", "a-chip", "a-failure"):
        assert absent not in markup


def test_a_stop_keeps_what_had_come_and_says_so() -> None:
    assert EN("ask.stopped") in conversation([Turn("?", pieces=("It moves ", "42"))], EN)
    assert "<p>It moves 42</p>" in conversation([Turn("?", pieces=("It moves ", "42"))], EN)
    assert EN("ask.nothing") in conversation([Turn("?")], EN)


def test_an_answer_under_way_says_what_is_done() -> None:
    assert EN("ask.reading") in under_way(1, Turn("Why?"), EN)
    growing = under_way(1, Turn("Why?", pieces=("A quote\nthat is wrapped.", "\nAnother one.")), EN)
    assert "<p>A quote\nthat is wrapped.</p><p>Another one.</p>" in growing
    assert EN("ask.writing") in growing


def test_a_quote_of_markdown_is_shown_without_its_marks() -> None:
    whole = "# Pump\n\n**Keep it dry. It moves 42 litres.** See *there*.\n"
    found = hit(whole, of=document(media_type="text/markdown"))
    quote = "It moves 42 litres.**"  # its pair stands before the quote
    turn = Turn("?", answer(quote, [cited(found, quote, quote, quote)], passages=[found]), (whole,))
    markup = conversation([turn], EN)
    assert 'class="a-claim a-strong">It moves 42 litres.</span>' in markup
    assert quoted(markup) == ["It moves 42 litres."]
    assert "*" not in shown(markup)
    plain = replace(found, chunk=replace(found.chunk, document=document()))
    turn = Turn("?", answer(quote, [cited(plain, quote, quote, quote)], passages=[plain]), (whole,))
    assert quoted(conversation([turn], EN)) == [quote]


def test_an_answer_says_what_was_not_found_by_meaning_yet() -> None:
    turn = replace(settled(), pending=2)
    assert "2 passages are still found by their words" in conversation([turn], EN)
    declined = Turn("?", answer("It is not there.", abstained=True), pending=1)
    assert "1 passage is still found by its words" in conversation([declined], EN)


def test_a_failure_is_told_in_words() -> None:
    turn = Turn("?", pieces=("It moves 42",), failure="the model is missing: pull it")
    markup = conversation([turn], KO)
    assert "<p>It moves 42</p>" in markup
    assert "the model is missing: pull it" in markup
    assert KO("error.title") in markup


def test_nothing_hostile_gets_through() -> None:
    found = hit(HOSTILE, of=document(title=HOSTILE, path=f"/a/{HOSTILE}"), heading=(HOSTILE, "x"))
    one = cited(found, HOSTILE, HOSTILE, HOSTILE)
    whole = answer(HOSTILE, [one], passages=[found], notes=[HOSTILE], written=True)
    turns = [
        Turn(HOSTILE, whole, (HOSTILE,)),
        Turn(HOSTILE, failure=HOSTILE),
        Turn(HOSTILE, pieces=(HOSTILE,)),
        Turn(HOSTILE, answer(HOSTILE, (), [(0, len(HOSTILE))])),
    ]
    for markup in (conversation(turns, EN), under_way(1, turns[2], EN)):
        assert "<script" not in markup
        assert HOSTILE in shown(markup)
        tags = set(re.findall(r"<(\w+)", markup))
        assert tags <= {
            "article", "b", "button", "dd", "details", "div", "dl", "dt", "h2", "h3", "header", "i",
            "li", "mark", "p", "small", "span", "strong", "summary", "table", "tbody", "td", "th",
            "thead", "tr", "ul",
        }  # fmt: skip


def test_a_follow_up_shows_what_was_looked_for_and_learns_by_it() -> None:
    turn = settled()
    assert turn.answer is not None
    answered = replace(turn.answer, query="How much does the pump move?")
    for words, label in ((EN, "Looked for: "), (KO, "찾은 질문: ")):
        markup = conversation([replace(turn, answer=answered, learns=True)], words)
        assert f"{label}How much does the pump move?" in shown(markup)
        assert 'data-asked="How much does the pump move?"' in markup


def test_what_is_no_question_is_not_learned_from() -> None:
    turn = settled()
    assert turn.answer is not None
    listed = replace(turn.answer, kind="catalog", citations=(), unsupported=())
    markup = conversation([replace(turn, answer=listed, surroundings=(), learns=True)], EN)
    assert "data-asked" not in markup
    assert EN("ask.quoted") not in markup


def test_a_summary_that_knows_not_of_what_gives_no_hint_on_other_words() -> None:
    unknown = answer("Which document?", abstained=True)
    assert EN("ask.declined") in conversation([Turn("Sum up", unknown)], EN)
    summary = replace(unknown, kind="summary")
    assert EN("ask.declined") not in conversation([Turn("Sum up", summary)], EN)


def test_a_certificate_is_one_quiet_line_at_its_source() -> None:
    turn = settled()
    assert turn.answer is not None
    first, second = turn.answer.citations
    certified = (
        replace(first, certificate=Certificate(True, False, True, 2.5, 0.75)),
        replace(second, certificate=Certificate(False, True, None, 0.25, -0.5)),
    )
    whole = replace(turn.answer, citations=certified)
    turn = replace(turn, answer=whole)
    markup = conversation([turn], EN)
    assert "needed · not enough by itself · the answer follows its facts</p>" in markup
    assert "not needed: the answer stands without it · enough by itself</p>" in markup
    assert markup.count(EN("source.certificate")) == 2
    assert "이 출처만으로는 부족 · 출처의 사실을 따르는 답" in conversation([turn], KO)
    stays = replace(first, certificate=Certificate(True, True, False, 2.5, 0.75))
    stubborn = replace(turn, answer=replace(whole, citations=(stays, second)))
    assert "the answer stays when its facts are changed" in conversation([stubborn], EN)
    assert EN("source.certificate") not in conversation([settled()], EN)
