"""The heavy way to adapt: a new model is trained, judged, and moved to or thrown away."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from rag import Assistant, Settings
from rag.adapting import adapt, rollback
from rag.adapting_run import Wish
from rag.errors import UsageError
from rag.loaded import ORIGIN, speaks, taught_from
from tests.rag.planted import fill, misled_encoder, planted, praise


@pytest.fixture
def attest(tmp_path: Path) -> Iterator[Assistant]:
    settings = Settings(
        home=tmp_path / "home",
        encoder=str(misled_encoder(tmp_path / "models")),
        generator=str(tmp_path / "none"),
        threads=1,
    )
    with Assistant.open(settings) as opened:
        yield opened


def test_the_library_moves_only_to_what_was_accepted(attest: Assistant) -> None:
    material = planted(Random(0))
    ids = fill(attest, material.texts)
    praise(attest, material.questions, ids)
    before = attest.status()
    made = adapt(attest, Wish("log", two_sided=True), watch=lambda _what, _share: None)
    after, homes = attest.status(), attest.settings.home / "models"
    assert made.kind == "both"
    assert made.evidence[0].kind == "judged"
    if made.accepted:
        assert after.fingerprint == made.adapter != before.fingerprint
        assert (after.pending, after.former) == (0, 0)
        (kept,) = homes.iterdir()
        assert kept.name == f"adapted-{made.adapter}"
        assert taught_from(str(kept)) == made.encoder == attest.settings.encoder
        with pytest.raises(UsageError, match=r"have learned too.* go back with `attest reembed "):
            rollback(attest)
    else:
        assert after.fingerprint == before.fingerprint
        assert list(homes.iterdir()) == []


def test_questions_without_a_right_passage_teach_no_passages(attest: Assistant) -> None:
    material = planted(Random(0))
    fill(attest, material.texts)
    for text in material.questions:
        attest.catalog.remember("default", text)
    with pytest.raises(UsageError, match="0 questions with a right passage are too few"):
        adapt(attest, Wish("log", two_sided=True), watch=lambda _what, _share: None)


@pytest.mark.parametrize(
    ("origin", "korean"),
    [({"base": "minilm"}, False), ({"base": "e5-small"}, True), ({"base": 3}, True), ([], True)],
)
def test_an_adapted_encoder_speaks_what_it_spoke(
    tmp_path: Path, origin: object, korean: bool
) -> None:
    (tmp_path / ORIGIN).write_text(json.dumps(origin), encoding="utf-8")
    assert speaks(str(tmp_path), "en")
    assert speaks(str(tmp_path), "ko") is korean
