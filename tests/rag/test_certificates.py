"""Certificates at citations: what is asked of the model, and when nothing is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from generator import Writer
from generator.blocks import caches_of
from rag import quoting, shapes, terminal
from rag.certificates import case_of, certify
from rag.examining import Case, Changed, Claim, examine
from rag.prompts import SYSTEM
from rag.records import Answer, Certificate, Hit
from rag.remote import RemoteWriter
from tests.generator.builders import generator, loaded, tokenizer
from tests.ui.records import answer, cited, document, hit

PUMP = "The pump moves 42 litres a minute. Keep it dry."
SHEET = "As stated, the pump moves 42 litres a minute at most. It weighs 14 kg."
TEXT = "The pump moves 42 litres a minute.\nIt weighs 14 kg."


def writer(*, grounded: bool = True, max_tokens: int = 2048) -> Writer:
    made = loaded(generator(max_tokens=max_tokens), tokenizer())
    return Writer(replace(made, grounded=grounded))


def given() -> Answer:
    first = hit(PUMP, heading=("Pump manual",))
    second = hit(SHEET, id_=2, of=document(2, "Data sheet"), start=100, heading=())
    citations = [
        cited(first, "The pump moves 42 litres a minute.", TEXT, TEXT.split("\n")[0]),
        cited(second, "It weighs 14 kg.", TEXT, "It weighs 14 kg.", marker=2),
    ]
    return answer(TEXT, citations, passages=[first, second])


def hits(of: Answer) -> Sequence[Hit]:
    return of.passages


def test_passages_are_cut_at_what_is_cited_and_copies_go_with_it() -> None:
    case = case_of(given(), given().passages, writer())
    assert case.sources == (
        "Passage 1 (Pump manual):\nThe pump moves 42 litres a minute.",
        "Passage 1 (Pump manual):\nKeep it dry.",
        "Passage 2:\nAs stated, the pump moves 42 litres a minute at most.",
        "Passage 2:\nIt weighs 14 kg.",
    )
    assert case.groups == ((0, 2), (3,), (1,))
    one, two = case.claims
    assert one.text == 'Passage 1: "The pump moves 42 litres a minute."'
    assert (one.group, two.group) == (0, 1)
    assert one.changed == Changed(
        'Passage 1: "The pump moves 55 litres a minute."',
        tuple(case.sources[i].replace("42", "55") for i in (0, 2)),
    )
    assert two.changed is not None
    assert "14" not in two.changed.sources[0]
    assert case.behind((1, 0)) == (case.sources[0], case.sources[2], case.sources[3])


def test_a_model_without_the_adapter_is_asked_for_the_claims_as_they_stand() -> None:
    case = case_of(given(), given().passages, writer(grounded=False))
    assert [claim.text for claim in case.claims] == TEXT.split("\n")


def test_each_citation_gets_what_separate_passes_say() -> None:
    of, whole = writer(grounded=False), given()
    short = replace(whole, citations=whole.citations[:1])
    certified = certify(short, whole.passages, of)
    certificate = certified.citations[0].certificate
    assert certificate is not None

    case, caches = case_of(short, whole.passages, of), caches_of(of, SYSTEM)
    question, answered = caches.question(whole.question), of.tokenizer.encode(TEXT.split("\n")[0])

    @torch.inference_mode()
    def mean(subset: Sequence[int]) -> float:
        cache = caches.assemble(case.behind(subset), len(question) + len(answered))
        logits = of.model(torch.tensor([[*question, *answered]]), cache)[0].log_softmax(-1)
        own = logits[len(question) - 1 : -1]
        return float(own[range(len(answered)), answered].mean())

    everything = range(len(case.groups))
    best = max(mean([]), *(mean([i]) for i in everything if i != 0))
    assert certificate.drop == pytest.approx(mean(everything) - best, abs=1e-3)
    assert certificate.alone == pytest.approx(mean(everything) - mean([0]), abs=1e-3)
    assert "certificates" in certified.timings_ms
    assert certify(short, whole.passages, of).citations == certified.citations


def test_the_rest_of_an_answer_stays_as_it_is() -> None:
    whole = given()
    certified = certify(whole, whole.passages, writer())
    bare = tuple(replace(each, certificate=None) for each in certified.citations)
    assert replace(certified, citations=bare, timings_ms=whole.timings_ms) == whole


def test_where_it_cannot_be_known_nothing_is_said() -> None:
    whole, of = given(), writer()
    assert certify(whole, whole.passages, None) is whole
    remote = RemoteWriter("http://127.0.0.1:1/v1", "any", None)
    assert certify(whole, whole.passages, remote) is whole
    summary = replace(whole, kind="summary")
    assert certify(summary, whole.passages, of) is summary
    declined = replace(whole, abstained=True, citations=())
    assert certify(declined, whole.passages, of) is declined
    assert certify(whole, whole.passages, writer(max_tokens=64)) is whole  # no room for it


def test_broken_numbers_certify_nothing_and_break_nothing() -> None:
    whole, of = given(), writer()
    with torch.no_grad():
        of.model.embedding.weight.fill_(float("nan"))
    assert certify(whole, whole.passages, of) is whole


def test_what_would_take_too_long_is_left_out() -> None:
    of = writer()
    case = case_of(given(), given().passages, of)
    caches = caches_of(of, quoting.SYSTEM)

    def certificates(most: int) -> list[Certificate]:
        return examine(case, caches, declined=quoting.DECLINED, most=most)

    whole = certificates(1 << 20)
    assert len(whole) == 2
    assert certificates(0) == []
    some = next(found for most in range(0, 1 << 14, 100) if (found := certificates(most)))
    assert some == whole[:1]


def test_all_subsets_find_no_larger_drop_than_a_few_of_them() -> None:
    of = writer()
    claims = (Claim("It is red.", 1, None),)
    sources = ("The bell is red.", "It is red.", "Nobody knows.")
    case = Case("What colour?", claims, sources, ((0,), (1,), (2,)))
    few, every = (
        examine(case, caches_of(of, SYSTEM), declined="", most=1 << 20, few=few)[0]
        for few in (0, 3)
    )
    assert every.drop <= few.drop + 1e-4
    assert every.alone == pytest.approx(few.alone, abs=1e-4)
    assert every.follows is None


def test_a_certificate_is_told_in_json_and_in_the_terminal() -> None:
    whole = given()
    first, second = whole.citations
    certified = replace(first, certificate=Certificate(True, False, True, 2.5, 0.75))
    told = replace(whole, citations=(certified, second))
    one, two = shapes.answer(told)["citations"]
    assert one["certificate"] == {
        "necessary": True,
        "sufficient": False,
        "follows": True,
        "drop": 2.5,
        "alone": 0.75,
    }
    assert two["certificate"] is None
    english = terminal.answer(told)
    assert "    (needed · not enough by itself · the answer follows its facts)" in english
    assert english.count("needed") == 1
    korean = terminal.answer(replace(told, question="얼마나 옮기나요?"))
    assert "(꼭 필요함 · 이것만으로는 부족함 · 답이 출처의 사실을 따름)" in korean


def test_the_reference_names_every_field_of_an_answer() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/json.md").read_text(encoding="utf-8")
    section = page.split("\n## ask\n")[1].split("\n## ")[0]
    shape = shapes.answer(certify(given(), given().passages, writer()))
    names = {*shape, *shape["citations"][0], *shape["citations"][0]["certificate"]}
    assert {name for name in names if f'"{name}"' not in section} == set()
