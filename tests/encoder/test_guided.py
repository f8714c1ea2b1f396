"""Both sides learn: pairs come nearer, a share of it is kept, and the base is not far."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from encoder import Embedder, checkpoint
from encoder.guided import GuidedTuning, Pairs, tune_both
from tests.builders import spelling_encoder

CONFIG = GuidedTuning(epochs=4, learning_rate=1e-2, batch=8, rank=4)
_CIPHER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
WORDS = ("lamp", "hour", "leave", "train", "bread", "vote", "river", "stone", "choir", "apple")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_encoder(tmp_path_factory.mktemp("models") / "tiny")


def _pairs(folder: Path) -> Pairs:
    """Passages in another spelling than their questions; wrong is the next but six."""
    questions = [f"{word} {other}" for word in WORDS for other in WORDS[:3]]
    passages = [text.translate(_CIPHER) for text in questions]
    negatives = [[passages[(i + 7) % len(passages)]] for i in range(len(passages))]
    guide = Embedder.load(folder)
    return Pairs(
        questions,
        passages,
        negatives,
        guide.embed_queries(questions),
        guide.embed_documents(passages),
        np.stack([guide.embed_documents(each) for each in negatives]),
    )


def _margin(folder: Path, pairs: Pairs) -> float:
    embedder = Embedder.load(folder)
    cosines = embedder.embed_queries(pairs.questions) @ embedder.embed_documents(pairs.passages).T
    return float(np.diag(cosines).mean() - cosines.mean())


def _tuned(folder: Path, config: GuidedTuning, scratch: Path) -> Path:
    base = checkpoint.load(folder)
    tune_both(base, _pairs(folder), config, scratch / "run")
    checkpoint.save(base, scratch / "encoder")
    return scratch / "encoder"


def test_pairs_come_nearer_and_the_result_is_a_model_of_its_own(
    folder: Path, tmp_path: Path
) -> None:
    tuned = _tuned(folder, CONFIG, tmp_path)
    pairs = _pairs(folder)
    assert _margin(tuned, pairs) > 2 * _margin(folder, pairs)
    assert Embedder.load(tuned).fingerprint != Embedder.load(folder).fingerprint


def test_only_a_share_is_kept(folder: Path, tmp_path: Path) -> None:
    base = dict(checkpoint.load(folder).model.named_parameters())

    def moved(kept: float) -> float:
        model = checkpoint.load(
            _tuned(folder, replace(CONFIG, kept=kept), tmp_path / str(kept))
        ).model
        return float(
            sum((p - base[name]).abs().sum() for name, p in model.named_parameters()).detach()  # type: ignore[union-attr]
        )

    assert moved(0.5) == pytest.approx(0.5 * moved(1.0), rel=1e-3)


def test_pairs_that_do_not_fit_are_refused(folder: Path) -> None:
    pairs = _pairs(folder)
    with pytest.raises(ValueError, match="30 questions, 29 passages"):
        replace(pairs, passages=pairs.passages[1:])
    with pytest.raises(ValueError, match="kept"):
        replace(CONFIG, kept=0.0)
