"""The heavy way to adapt: a new model is trained, judged, and moved to or thrown away."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from rag import Assistant, Settings
from rag.adapting import Wish, adapt
from rag.errors import UsageError
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
        assert [path.name for path in homes.iterdir()] == [f"adapted-{made.adapter}"]
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
