"""Whether evidence answers a question, and how sure that is."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis import content_words
from index.records import StoredChunk, StoredDocument, WordFrequencies
from rag.confidence import MEANING, Calibration, Weights, is_relevant, judge
from rag.evidence import Evidence
from rag.features import NAMES, Features, features, log_odds, swapped
from rag.records import Hit, SearchResult

TEXT = "The warranty of the Lumo lamp lasts 24 months from 2019."
QUESTION = "Does the warranty of the Lumo lamp last 24 months?"
_odds = st.floats(-20, 20)


def _hit(text: str, rank: int = 1, dense: float | None = 0.9) -> Hit:
    document = StoredDocument(rank, "a.txt", "A", "text/plain", "", 0, "indexed", None, (), 1, "")
    chunk = StoredChunk(rank, document, text, 0, len(text), None, (), 40)
    return Hit(rank, 1 / rank, dense, 2.0, chunk)


def _found(question: str, *hits: Hit) -> SearchResult:
    held = [set(content_words(hit.chunk.text)) for hit in hits]
    counts = {word: sum(word in each for each in held) for word in content_words(question)}
    return SearchResult(question, hits, WordFrequencies(100, counts))


def _evidence(hit: Hit, similarity: float | None) -> Evidence:
    return Evidence(hit, 0, len(hit.chunk.text), similarity, 1.0)


def _known(question: str, text: str = TEXT, similarity: float | None = 0.8) -> Features:
    hit = _hit(text)
    found = _found(question, hit)
    return features(question, [_evidence(hit, similarity)], found, unrelated=0.5)


def test_a_question_in_the_words_of_its_passage_lacks_nothing() -> None:
    known = _known(QUESTION)
    assert known.words == pytest.approx(1)
    assert known.sentence_words == pytest.approx(1)
    assert (known.missing, known.unknown, known.numbers, known.names) == (0, 0, 0, 0)
    assert known.nearest == pytest.approx(0.8)  # 0.9, above 0.5
    assert known.near == pytest.approx(0.8)
    assert known.sentence == 0.8


def test_a_number_that_is_not_its_own_is_seen() -> None:
    assert _known("What began in 2019?").numbers == 0
    assert _known("What began in 2018?").numbers == 1


def test_a_name_that_is_not_its_own_is_seen() -> None:
    assert _known("Does the Lumo lamp last?").names == 0
    assert _known("Does the Pixo lamp last?").names == 1


def test_an_amount_that_the_best_sentence_lacks_is_seen() -> None:
    assert _known("How long does the warranty of the lamp last?").amount == 0
    assert _known("How heavy is the lamp?").amount == 1
    assert _known("What is the lamp called?").amount == 0


def test_a_word_that_nobody_wrote_is_the_rarest_of_all() -> None:
    known = _known("Is the lamp waterproof?")
    assert known.missing == pytest.approx(1)
    assert known.unknown == pytest.approx(0.5)


def test_without_meaning_there_is_no_guess_at_it() -> None:
    hit = _hit(TEXT, dense=None)
    known = features(QUESTION, [_evidence(hit, None)], _found(QUESTION, hit), unrelated=0.5)
    assert (known.nearest, known.lead, known.sentence, known.decline) == (None,) * 4
    assert math.isfinite(MEANING.log_odds(known))


def test_nothing_found_has_figures_too() -> None:
    known = features(QUESTION, [], _found(QUESTION), unrelated=0.5)
    assert known.words == 0
    assert known.missing == 1


def test_what_is_missing_counts_by_a_weight_of_its_own() -> None:
    weights = Weights(1.0, {"decline": -2.0}, {"decline": 0.25})
    known = _known(QUESTION)
    assert weights.log_odds(known) == 1.25
    assert weights.log_odds(replace(known, decline=0.5)) == 0.0


def test_the_weights_that_ship_go_the_right_way() -> None:
    assert set(MEANING.of) <= set(NAMES)
    against = {"missing", "unknown", "numbers", "names", "decline"}
    assert all(weight < 0 if name in against else weight > 0 for name, weight in MEANING.of.items())
    assert "decline" in MEANING.of


def test_a_generator_that_declines_makes_an_answer_less_likely() -> None:
    hit = _hit(TEXT)
    found, evidence = _found(QUESTION, hit), [_evidence(hit, 0.7)]
    given = Calibration(0.0)
    sure, unsure = (
        judge(
            QUESTION, evidence, found, unrelated=0.5, calibration=given, decline_probability=share
        )
        for share in (0.01, 0.99)
    )
    assert sure.probability is not None
    assert unsure.probability is not None
    assert sure.probability > unsure.probability + 0.2


def test_there_is_no_probability_before_calibration() -> None:
    hit = _hit(TEXT)
    found, evidence = _found(QUESTION, hit), [_evidence(hit, 0.9)]
    assert judge(QUESTION, evidence, found, unrelated=0.5).probability is None
    assert judge(QUESTION, evidence, found, unrelated=0.5).answerable
    fitted = judge(QUESTION, evidence, found, unrelated=0.5, calibration=Calibration(100.0))
    assert not fitted.answerable
    assert fitted.probability == pytest.approx(0, abs=1e-9)


def test_what_is_far_from_everything_is_declined() -> None:
    question = "Who won the regatta?"
    hit = _hit(TEXT, dense=0.5)
    found = _found(question, hit)
    assert not judge(question, [_evidence(hit, 0.05)], found, unrelated=0.5).answerable
    assert not judge(question, [], found, unrelated=0.5).answerable
    assert not is_relevant([], found, 0.5)


def test_where_the_encoder_does_not_speak_words_decide() -> None:
    hit = _hit(TEXT, dense=None)
    near = judge(QUESTION, [_evidence(hit, None)], _found(QUESTION, hit), unrelated=0.5)
    far_off = "Who won the regatta in Kiel?"
    far = judge(far_off, [_evidence(hit, None)], _found(far_off, hit), unrelated=0.5)
    assert (near.answerable, near.probability) == (True, None)
    assert (far.answerable, far.probability) == (False, None)


@given(odds=_odds, threshold=_odds, scale=st.floats(0.1, 5))
def test_half_is_the_threshold(odds: float, threshold: float, scale: float) -> None:
    probability = Calibration(threshold, scale).probability(odds)
    assert 0 < probability < 1
    assert (probability >= 0.5) == (odds >= threshold) or abs(odds - threshold) < 1e-9


@given(st.floats(0, 1), st.floats(0, 1))
def test_log_odds_keep_the_order_and_stay_finite(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert math.isfinite(log_odds(one))
    assert log_odds(low) <= log_odds(high)


def test_a_calibration_is_stored_as_it_is() -> None:
    fitted = Calibration(1.25, 0.5)
    assert Calibration.of({**fitted.values(), "more": 1}) == fitted
    with pytest.raises(ValueError, match=r"threshold .nan.*attest calibrate"):
        Calibration(math.nan)
    with pytest.raises(ValueError, match=r"scale .0"):
        Calibration(0.0, 0.0)


@pytest.mark.parametrize(
    ("question", "other", "expected"),
    [
        ("What began in 2019?", "", "What began in 2026?"),
        ("Is it 1,250 or 7?", "", "Is it 8,250 or 7?"),
        ("Does the Lumo lamp last?", "Is the Pixo lamp sold?", "Does the Pixo lamp last?"),
        ("Does the Lumo lamp last?", "Is the Lumo lamp sold?", None),
        ("이 등은 2019년에 나왔나?", "", "이 등은 2026년에 나왔나?"),
        ("Is it sold?", "", None),
    ],
)
def test_one_fact_is_changed(question: str, other: str, expected: str | None) -> None:
    assert swapped(question, other) == expected
