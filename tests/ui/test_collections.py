"""Collections as the page shows them, and a library that is looked into at one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from index.keys import Keys
from rag import Assistant, Settings
from tests.builders import spelling_encoder
from tests.ui.records import ESCAPED, HOSTILE
from tests.ui.test_render import shown
from ui.collections import Shelf, chooser, listed, shelves
from ui.locale import texts
from ui.visitor import chosen

EN, KO = texts("en"), texts("ko")


@pytest.fixture
def attest(tmp_path: Path) -> Iterator[Assistant]:
    """Two collections of one small document each."""
    encoder = spelling_encoder(tmp_path / "encoder")
    for name in ("pump", "lease"):
        (tmp_path / f"{name}.md").write_text(f"# The {name}\n\nIt is a {name}.\n", "utf-8")
    with Assistant.open(Settings(home=tmp_path / "home", encoder=str(encoder))) as opened:
        opened.add(tmp_path / "pump.md")
        opened.at("계약").add(tmp_path / "lease.md")
        yield opened


def test_a_look_at_a_collection_is_at_that_one_alone(attest: Assistant, tmp_path: Path) -> None:
    other = attest.at("계약")
    assert [row.title for row in attest.documents()] == ["The pump"]
    assert [row.title for row in other.documents()] == ["The lease"]
    assert {hit.chunk.document.title for hit in other.search("pump").hits} == {"The lease"}
    assert {hit.chunk.document.title for hit in attest.search("pump").hits} == {"The pump"}
    assert [row.text for row in other.history()] == ["pump"]
    assert other.at("default").settings == attest.settings
    assert attest.at("none of this name").documents() == []
    assert other.models is attest.models


def test_the_header_offers_every_collection_and_marks_the_one_at_hand(attest: Assistant) -> None:
    attest.create(HOSTILE)
    markup = chooser(attest.at("계약"), "default", KO)
    assert '<option value="계약" selected>' in markup
    assert f">{ESCAPED}</option>" in markup
    assert "<script" not in markup
    assert 'data-collection="계약"' in markup
    assert 'data-collection=""' in chooser(attest, "default", EN)
    assert "data-leave" not in markup
    Keys(attest.catalog.database).set_password("hash")
    assert EN("login.leave") in chooser(attest, "default", EN)


def test_one_collection_needs_no_chooser(attest: Assistant) -> None:
    attest.drop("계약")
    assert "hidden" in chooser(attest, "default", EN)


def test_a_browser_comes_back_to_its_collection_while_there_is_one(attest: Assistant) -> None:
    assert chosen(attest, "%EA%B3%84%EC%95%BD") == "계약"
    assert chosen(attest, None) == "default"
    assert chosen(attest, "gone%00%3Cb%3E") == "default"


def test_the_list_counts_documents_and_asks_before_one_goes(attest: Assistant) -> None:
    assert shelves(attest) == [Shelf("default", 1, True), Shelf("계약", 1, True)]
    markup = listed([*shelves(attest), Shelf(HOSTILE, 0, True), Shelf("n", 0, False)], "계약", EN)
    text = shown(markup)
    assert "계약Chosen1 document" in text
    assert "Remove it with 1 document?" in text
    assert "Remove it? It holds nothing." in text
    assert "<script" not in markup
    assert markup.count('data-do="ask"') == 3  # what is not there yet cannot go
