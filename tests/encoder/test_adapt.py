"""Questions that learn behind a frozen encoder: planted gains are found, and nothing else moves."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from encoder import Embedder
from encoder.adapt import QueryTuning, TunedQueries, taught, tune_queries
from tests.builders import spelling_encoder
from transformer.errors import CheckpointError, TrainingError

N, K, WIDTH = 200, 12, 16
CONFIG = QueryTuning(steps=120, learning_rate=5e-2, drift=0.0)
Rows = NDArray[np.float32]


def _unit(rows: Rows) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


@pytest.fixture(scope="module")
def turned() -> tuple[Rows, Rows, Rows]:
    """Questions that lie where their passages would lie if two halves of the axes were swapped."""
    rng = np.random.default_rng(0)
    candidates = _unit(rng.normal(size=(N, K, WIDTH)).astype(np.float32))
    questions = _unit(np.roll(candidates[:, 0], WIDTH // 2, axis=1))
    teacher = np.full((N, K), 0.1 / (K - 1), np.float32)
    teacher[:, 0] = 0.9
    return questions, candidates, teacher


def _tune(lesson: tuple[Rows, Rows, Rows], folder: Path, base: str = "b" * 16) -> TunedQueries:
    return tune_queries(*lesson, CONFIG, folder, base=base)


def _hits(questions: Rows, candidates: Rows) -> float:
    return float((np.einsum("nd,nkd->nk", questions, candidates).argmax(axis=1) == 0).mean())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return Embedder.load(spelling_encoder(tmp_path_factory.mktemp("models") / "tiny"))


def test_questions_learn_to_find_what_the_teacher_found(
    turned: tuple[Rows, Rows, Rows], base: Embedder, tmp_path: Path
) -> None:
    questions, candidates, _ = turned
    learned = (questions[:160], candidates[:160], turned[2][:160])
    tuned = _tune(learned, tmp_path, base.fingerprint)
    after = taught(base, tuned.data).learned(questions[160:])
    before = _hits(questions[160:], candidates[160:])
    assert _hits(after, candidates[160:]) > before + 0.3
    assert np.allclose(np.linalg.norm(after, axis=1), 1, atol=1e-5)


def test_a_run_is_the_same_again(turned: tuple[Rows, Rows, Rows], tmp_path: Path) -> None:
    first, second = (_tune(turned, tmp_path / name) for name in ("a", "b"))
    assert first.data == second.data
    assert first.fingerprint == second.fingerprint


def test_nothing_learned_is_the_base_to_the_bit(
    turned: tuple[Rows, Rows, Rows], base: Embedder, tmp_path: Path
) -> None:
    held = replace(CONFIG, steps=1, learning_rate=1e-30)
    tuned = tune_queries(*turned, held, tmp_path, base=base.fingerprint)
    embedder = taught(base, tuned.data)
    texts = ["the lamp", "opening hours", "연차"]
    assert np.allclose(embedder.embed_queries(texts), base.embed_queries(texts), atol=1e-6)
    assert (embedder.embed_documents(texts) == base.embed_documents(texts)).all()


def test_passages_limits_and_weights_are_the_bases_own(
    turned: tuple[Rows, Rows, Rows], base: Embedder, tmp_path: Path
) -> None:
    embedder = taught(base, _tune(turned, tmp_path, base.fingerprint).data)
    assert embedder.fingerprint == base.fingerprint
    assert embedder.taught != base.fingerprint
    assert embedder.model is base.model  # no second copy
    assert (embedder.embed_documents(["a lamp"]) == base.embed_documents(["a lamp"])).all()
    assert not np.allclose(embedder.embed_queries(["a lamp"]), base.embed_queries(["a lamp"]))


def test_drift_holds_questions_where_they_were(
    turned: tuple[Rows, Rows, Rows], base: Embedder, tmp_path: Path
) -> None:
    def cosine(drift: float) -> float:
        config = replace(CONFIG, drift=drift)
        folder = tmp_path / str(drift)
        tuned = tune_queries(*turned, config, folder, base=base.fingerprint)
        return float((taught(base, tuned.data).learned(turned[0]) * turned[0]).sum(axis=1).mean())

    assert cosine(50.0) > cosine(0.0) + 0.1


def test_what_was_learned_behind_another_model_is_refused(
    turned: tuple[Rows, Rows, Rows], base: Embedder, tmp_path: Path
) -> None:
    data = _tune(turned, tmp_path).data
    with pytest.raises(CheckpointError, match=f"bbbbbbbbbbbbbbbb, this one is {base.fingerprint}"):
        taught(base, data)
    with pytest.raises(CheckpointError, match="damaged"):
        taught(base, data[:100])


def test_another_width_is_refused(turned: tuple[Rows, Rows, Rows], tmp_path: Path) -> None:
    wide = Embedder.load(spelling_encoder(tmp_path / "wide", d_model=24))
    data = _tune(turned, tmp_path / "run", wide.fingerprint).data
    with pytest.raises(CheckpointError, match=r"\(16, 16\), the model asks for \(24, 24\)"):
        taught(wide, data)


def test_a_loss_that_is_no_number_stops(turned: tuple[Rows, Rows, Rows], tmp_path: Path) -> None:
    broken = turned[1].copy()
    broken[3] = math.nan
    with pytest.raises(TrainingError, match="step 1: the loss is nan"):
        _tune((turned[0], broken, turned[2]), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, c, t: (q[:1], c[:1], t[:1]), "1 questions are too few"),
        (lambda q, c, t: (q, c[:, :, :8], t), "do not fit 200 questions of width 16"),
        (lambda q, c, t: (q, c, t[:, :5]), "is not that of the candidates"),
        (lambda q, c, t: (q, c, t * 2), "must be distributions"),
        (lambda q, c, t: (q, c, t * math.nan), "must be distributions"),
    ],
)
def test_lessons_that_cannot_be_are_refused(
    turned: tuple[Rows, Rows, Rows], tmp_path: Path, change: object, message: str
) -> None:
    assert callable(change)
    with pytest.raises(ValueError, match=message):
        _tune(change(*turned), tmp_path)


@pytest.mark.parametrize(
    ("setting", "value"), [("steps", 0), ("temperature", 0.0), ("drift", -1.0), ("held_out", 1.0)]
)
def test_settings_that_cannot_be_are_refused(setting: str, value: float) -> None:
    with pytest.raises(ValueError, match=setting):
        replace(CONFIG, **{setting: value})  # type: ignore[arg-type]
