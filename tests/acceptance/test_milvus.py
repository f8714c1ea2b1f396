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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files to be added."""
    folder = tmp_path / "files"
    folder.mkdir()
    texts = {
        "pump.md": "# Pumps\n\nThe pump QX-808 runs at 3.5 bar and is serviced every March.\n",
        "leave.md": "# 휴가\n\n연차 휴가는 15일이다. 신청은 사흘 전에 한다.\n",
        "office.md": "# Branch office\n\nThe branch office in Delft closes at five on Fridays.\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _found(attest: Assistant, query: str) -> list[str]:
    hits = attest.search(query, remember=False).hits
    return [Path(hit.chunk.document.path).name for hit in hits]


def test_the_life_of_a_library(tmp_path: Path, folder: Path) -> None:
    with Assistant.open(over_milvus(tmp_path / "home")) as attest:
        assert [one.status for one in attest.add(folder)] == ["added"] * 3
        assert _found(attest, "When is the pump serviced?")[0] == "pump.md"
        answer = attest.ask("At what pressure does the pump QX-808 run?", mode="extract")
        (citation, *_) = answer.citations
        source = attest.text(citation.document.id)
        assert source[citation.start : citation.end] == citation.quote
        assert "3.5 bar" in answer.answer

        (folder / "pump.md").write_text("# Pumps\n\nThe pump QX-808 was sold.\n")
        assert [one.status for one in attest.sync(folder)].count("updated") == 1
        hits = attest.search("pump QX-808", remember=False).hits
        assert "3.5 bar" not in " ".join(hit.chunk.text for hit in hits)
        attest.remove(["office.md"])
        assert "office.md" not in _found(attest, "branch office Delft")
        assert attest.verify().problems == ()
        assert attest.report().n_documents == 2

        *_, moved = attest.reembed("minilm")
        assert moved.finished
        assert _found(attest, "pump")[0] == "pump.md"
        assert attest.verify().problems == ()
        attest.export(tmp_path / "all.attest")
        before = _found(attest, "pump QX-808")
    with Assistant.open(over_milvus(tmp_path / "other")) as attest:
        attest.import_archive(tmp_path / "all.attest")
        assert _found(attest, "pump QX-808") == before
        assert attest.verify().problems == ()
        assert attest.reset() == 2
        assert attest.verify().problems == ()


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
