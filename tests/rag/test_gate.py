"""The gate: what it accepts, what it refuses, and that it says why with numbers."""

from pathlib import Path

import numpy as np
import pytest

from encoder import Embedder
from rag.drift import Drift, drift
from rag.gate import LEAST, Evidence, Kind, coherence, decide, weighed
from rag.metrics import Difference
from tests.builders import spelling_encoder

STILL = Drift(cosine=0.98, likeness=0.97, pairs_before=0.5, pairs_after=0.5)
GAIN = Difference(mean=3.0, low=1.0, high=5.0, p=0.01)
CHANCE = Difference(mean=0.2, low=-1.0, high=1.4, p=0.8)
LOSS = Difference(mean=-3.0, low=-5.0, high=-1.0, p=0.01)


def _evidence(
    dense: Difference, fused: Difference, kind: Kind = "judged", questions: int = 100
) -> Evidence:
    return Evidence(kind, questions, 60.0, dense, 70.0, fused)


def test_a_gain_with_confidence_is_accepted() -> None:
    verdict = decide([_evidence(GAIN, CHANCE)], STILL, 0.98)
    assert verdict.accepted
    assert "by meaning +3.0 [+1.0, +5.0] from 60.0" in verdict.reason


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ([_evidence(CHANCE, CHANCE)], "not better with confidence"),
        ([_evidence(GAIN, LOSS)], "worse with confidence"),
        ([_evidence(LOSS, CHANCE)], "worse with confidence"),
        ([_evidence(GAIN, GAIN, questions=LEAST - 1)], "29 questions are held out, 30 are needed"),
        ([], "0 questions are held out"),
        (
            [_evidence(CHANCE, CHANCE), _evidence(GAIN, GAIN, "known items")],
            r"not better with confidence: on 100 questions held out \(judged\)",
        ),
        ([_evidence(GAIN, CHANCE), _evidence(CHANCE, LOSS, "known items")], "known items"),
    ],
)
def test_anything_else_is_refused_with_its_reason(evidence: list[Evidence], reason: str) -> None:
    verdict = decide(evidence, STILL, 0.98)
    assert not verdict.accepted
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(verdict.reason)


def test_an_average_loss_of_the_fused_list_is_refused_even_within_chance() -> None:
    slipping = Difference(mean=-1.2, low=-2.8, high=0.4, p=0.3)
    assert not decide([_evidence(GAIN, slipping)], STILL, 0.98).accepted


def test_made_questions_that_meaning_finds_less_are_no_veto() -> None:
    evidence = [_evidence(GAIN, CHANCE), _evidence(LOSS, CHANCE, "known items")]
    assert decide(evidence, STILL, 0.98).accepted


def test_forgetting_is_refused() -> None:
    lost = Drift(cosine=0.5, likeness=0.3, pairs_before=0.9, pairs_after=0.9)
    assert "forgot" in decide([_evidence(GAIN, GAIN)], lost, 0.98).reason
    korean = Drift(cosine=0.97, likeness=0.97, pairs_before=0.9, pairs_after=0.6)
    assert "60% of the Korean" in decide([_evidence(GAIN, GAIN)], korean, 0.98).reason


def test_what_does_not_read_like_text_is_refused() -> None:
    verdict = decide([_evidence(GAIN, GAIN)], STILL, 0.51)
    assert not verdict.accepted
    assert "51% of the pairs, chance is 50%" in verdict.reason


def test_chance_is_seldom_taken_for_a_gain() -> None:
    """Where nothing changed but noise, two-sided 95 % lets a fortieth through."""
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(60):
        before, after = rng.uniform(size=(2, 80))
        evidence = weighed("judged", (before, before), (after, before), rng)
        accepted += decide([evidence], STILL, 0.98).accepted
    assert accepted <= 6


def test_a_few_lucky_questions_are_no_gain() -> None:
    """Four of thirty: the bootstrap's interval leaves zero out, chance does it in an eighth."""
    before = np.full(30, 0.5)
    after = before + np.where(np.arange(30) < 4, 0.3, 0.0)
    evidence = weighed("judged", (before, before), (after, after), np.random.default_rng(0))
    assert evidence.dense.low > 0
    assert not decide([evidence], STILL, 0.98).accepted
    after = before + np.where(np.arange(30) < 8, 0.3, 0.0)
    evidence = weighed("judged", (before, before), (after, after), np.random.default_rng(0))
    assert decide([evidence], STILL, 0.98).accepted


def test_a_real_gain_is_seen() -> None:
    rng = np.random.default_rng(1)
    before = rng.uniform(0, 0.8, size=200)
    after = before + rng.uniform(-0.1, 0.2, size=200)
    evidence = weighed("judged", (before, before), (after, before), rng)
    assert evidence.dense_before == pytest.approx(100 * before.mean())
    assert evidence.dense.mean == pytest.approx(100 * (after - before).mean())
    assert decide([evidence], STILL, 0.98).accepted


def test_shuffled_words_do_not_cohere(tmp_path: Path) -> None:
    embedder = Embedder.load(spelling_encoder(tmp_path / "tiny"))
    rng = np.random.default_rng(0)
    letters = [rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 4) for _ in range(40)]
    texts = [" ".join("".join(rng.choice(own, 5)) for _ in range(16)) for own in letters]
    words = [word for text in texts for word in text.split()]
    rng.shuffle(words)
    noise = [" ".join(words[i * 16 : (i + 1) * 16]) for i in range(40)]
    assert coherence(embedder, texts) > 0.8
    assert coherence(embedder, noise) == pytest.approx(0.5, abs=0.1)
    assert coherence(embedder, ["too short"]) == 0.5


def test_drift_sees_what_was_forgotten(tmp_path: Path) -> None:
    base = Embedder.load(spelling_encoder(tmp_path / "tiny"))
    same = drift(base, base)
    assert same.cosine == pytest.approx(1.0)
    assert same.likeness == pytest.approx(1.0)
    assert same.bearable
    other = Embedder.load(spelling_encoder(tmp_path / "other", seed=5))
    assert drift(base, other).likeness < same.likeness
