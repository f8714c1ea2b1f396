"""The whole product over Milvus Lite in a folder, held to what the files in the home give."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import Assistant, Settings
from rag.models import DEFAULT_ENCODER
from tests.acceptance.test_samples import MODELS, ROOT, questions

pytest.importorskip("milvus_lite")

pytestmark = pytest.mark.skipif(
    not (MODELS / DEFAULT_ENCODER / "model.safetensors").is_file()
    or not (MODELS / "minilm" / "model.safetensors").is_file(),
    reason="the models are not pulled: attest models pull e5-small minilm",
)


def over_milvus(home: Path) -> Settings:
    return Settings(home=home, index="milvus", milvus_uri=str(home.parent / f"{home.name}.db"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Assistant, Assistant]]:
    """The samples over Milvus and over the files in the home, of one database."""
    home = tmp_path_factory.mktemp("home")
    with Assistant.open(Settings(home=home)) as embedded:
        embedded.add(ROOT / "samples" / "library")
        with Assistant.open(over_milvus(home)) as over:
            yield over, embedded


@pytest.mark.slow
def test_hits_are_those_of_the_embedded_engine(both: tuple[Assistant, Assistant]) -> None:
    for one in questions():
        over, embedded = (each.search(one.question, k=10, remember=False) for each in both)
        assert over.words == embedded.words
        common = {hit.chunk.id for hit in over.hits} & {hit.chunk.id for hit in embedded.hits}
        assert len(common) >= 0.9 * len(embedded.hits), one.question
