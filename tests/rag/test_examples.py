from pathlib import Path

from rag import Assistant
from rag.examples import candidates, examples

FILLER = "This line only fills the page, and it says nothing of what is asked. " * 6


def test_examples_are_answered_from_the_sections_that_they_name(
    attest: Assistant, tmp_path: Path
) -> None:
    (tmp_path / "lamp.md").write_text(
        f"# Lamp manual\n\n{FILLER}\n\n## 1. Cleaning the glass\n\n"
        f"Cleaning the glass of the lamp takes a dry cloth. {FILLER}\n\n"
        f"## 2. When do I change the bulb?\n\nThe bulb is changed each May. {FILLER}\n",
        encoding="utf-8",
    )
    attest.add(tmp_path)
    rows = attest.documents()
    found = [each.text for each in candidates(attest, rows, korean=False)]
    assert found == [
        "What does “Lamp manual” say about cleaning the glass?",
        "When do I change the bulb?",
    ]
    made = examples(attest, korean=False, n=4)
    assert set(made) <= set(found)
    assert examples(attest, korean=True, n=4) == []


def test_a_library_of_files_without_headings_has_none(library: Assistant) -> None:
    assert all("hours" not in text for text in examples(library, korean=False, n=4))
