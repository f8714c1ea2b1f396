"""Examples that teach to quote or to decline, and how answers are judged."""

import random

import pytest

from benchmarks.grounded import Outcome, measure
from benchmarks.grounded_data import joined, make
from benchmarks.grounded_sources import Asked, Passage, passage_spans, plain
from benchmarks.ranking import Ranking
from rag import quoting

_SUBJECTS = ("heron", "willow", "piston", "violin", "oven", "miller", "bridge", "ferry", "orchard")


def _pool() -> list[Passage]:
    pool = []
    for number, subject in enumerate(_SUBJECTS):
        for part in ("colour", "age", "owner"):
            text = f"About a {subject}. The {part} of the {subject} is number {number}. It is so."
            pool.append(Passage(f"doc/{number}", subject, text))
    return pool


def _asked() -> list[Asked]:
    found = []
    for passage in _pool():
        sentence = passage.text.split(". ")[1] + "."
        what, subject = sentence.split()[1], passage.heading
        question = f"What {what} has this {subject}?"
        found.append(Asked("toy", question, passage, sentence, (f"{passage.document} nowhere",)))
    return found


@pytest.fixture(scope="module")
def made() -> dict[str, list[dict[str, object]]]:
    asked = _asked()
    pairs = joined(asked, random.Random(0))
    rows = [each.row() for each in make(asked, pairs, _pool(), 40, seed=0)]
    return {kind: [r for r in rows if r["kind"] == kind] for kind in {r["kind"] for r in rows}}


def test_kinds_come_in_the_shares_of_the_recipe(made: dict[str, list[dict[str, object]]]) -> None:
    counts = {kind: len(rows) for kind, rows in made.items()}
    assert counts == {"answerable": 22, "unanswerable": 12, "several": 4, "chat": 2}


@pytest.mark.parametrize("kind", ["answerable", "several"])
def test_what_is_quoted_stands_in_the_passage_that_is_named(
    made: dict[str, list[dict[str, object]]], kind: str
) -> None:
    places = set()
    for row in made[kind]:
        quotes = list(quoting.quotations(str(row["answer"])))
        assert len(quotes) == (1 if kind == "answerable" else 2)
        for each in quotes:
            passage = row["passages"][each.number - 1]  # type: ignore[index]
            assert passage.startswith(f"Passage {each.number} (")
            assert each.quote in passage
            places.add(each.number)
    assert len(places) > 1  # gold stands now here, now there


def test_what_is_unanswerable_holds_no_evidence(made: dict[str, list[dict[str, object]]]) -> None:
    evidence = {quoting.question(each.question): each.evidence for each in _asked()}
    same = 0
    for row in made["unanswerable"]:
        assert row["answer"] == quoting.DECLINED
        passages = " ".join(row["passages"])  # type: ignore[call-overload]
        assert evidence[str(row["question"])] not in passages
        same += str(row["question"]).removesuffix("?").split()[-1] in passages
    assert same  # some are of the very document


def test_it_is_the_same_each_time() -> None:
    first, second = (make(_asked(), [], _pool(), 20, seed=3) for _ in range(2))
    assert first == second


def test_words_that_were_cut_apart_are_joined() -> None:
    assert (
        plain("it 's `` fine '' , he said -lrb- twice -rrb- .") == 'It\'s "fine", he said (twice).'
    )
    assert plain("they do n't pay $ 5") == "They don't pay $ 5".replace("$ 5", "$5")


def test_passages_are_whole_sentences_up_to_their_room() -> None:
    text = " ".join(f"Sentence number {n} says what there is to say about it." for n in range(42))
    spans = passage_spans(text, 200)
    assert all(end - start <= 200 for start, end in spans)
    assert all(text[start:end].endswith("about it.") for start, end in spans)
    assert "".join(text[start:end] for start, end in spans).count("Sentence") == 42


def test_rare_words_rank_before_common_ones() -> None:
    ranking = Ranking(["the old mill", "the old ferry of stone", "old old old"])
    assert ranking.best("old ferry", 3)[0] == 1
    assert ranking.best("nothing", 3) == []
    passages = [Passage("", "", text) for text in ("old", "a ferry")]
    assert ranking.sorted("old ferry", passages)[0].text == "a ferry"


def test_answers_are_judged_by_what_they_quote() -> None:
    passages = ("Passage 1:\nThe mill is\nold.", "Passage 2:\nIt rains.")
    right = Outcome(True, quoting.quotation(1, "The mill is old."), ("old",), passages)
    wrong = Outcome(True, quoting.quotation(2, "The mill is old."), ("young",), passages)
    silent = Outcome(False, quoting.DECLINED, (), passages)
    loose = Outcome(False, "The passages do not mention that.", (), passages)
    assert (right.verbatim, right.holds_gold, right.declined) == (True, True, False)
    assert (wrong.verbatim, wrong.holds_gold) == (False, False)
    assert silent.declined
    assert loose.declined
    (row,) = measure("a model", [right, wrong, silent, loose]).rows
    assert row["gold_contained_pct"] == 50
    assert row["declined_rightly_pct"] == 100
    assert row["declined_wrongly_pct"] == 0
    assert row["verbatim_pct"] == 50
