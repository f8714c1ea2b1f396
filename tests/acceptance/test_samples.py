"""The sample library through the whole product, on the real encoder: what must hold of answers."""

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest

from rag import Answer, Assistant, Settings
from rag.models import DEFAULT_ENCODER

ROOT = Path(__file__).parents[2]
MODELS = platformdirs.user_data_path("attest", appauthor=False) / "models"

pytestmark = pytest.mark.skipif(
    not (MODELS / DEFAULT_ENCODER / "model.safetensors").is_file(),
    reason=f"the model {DEFAULT_ENCODER} is not pulled: attest models pull",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A line of samples/questions.jsonl."""

    question: str
    answers: tuple[str, ...]
    document: str | None
    answerable: bool
    language: str


def questions() -> list[Question]:
    lines = (ROOT / "samples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Question(**{**row, "answers": tuple(row["answers"])}) for row in rows]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with Assistant.open(Settings(home=tmp_path_factory.mktemp("home"))) as opened:
        assert {one.status for one in opened.add(ROOT / "samples" / "library")} == {"added"}
        yield opened


@pytest.fixture(scope="module")
def answered(samples: Assistant) -> list[tuple[Question, Answer]]:
    """Every third question with its quoted answer."""
    return [(one, samples.ask(one.question, mode="extract")) for one in questions()[::3]]


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def test_the_gold_document_is_among_the_first_three(samples: Assistant) -> None:
    asked = [one for one in questions() if one.answerable]
    found = 0
    for one in asked:
        hits = samples.search(one.question, k=20).hits
        names = list(dict.fromkeys(Path(hit.chunk.document.path).name for hit in hits))
        found += one.document in names[:3]

    assert found / len(asked) >= 0.9, f"{found} of {len(asked)}"


def test_the_quoted_answer_holds_the_gold_string(answered: list[tuple[Question, Answer]]) -> None:
    asked = [(one, given) for one, given in answered if one.answerable]
    held = sum(any(plain(g) in plain(given.answer) for g in one.answers) for one, given in asked)

    assert held / len(asked) >= 0.75, f"{held} of {len(asked)}"


def test_every_citation_stands_in_its_source(
    samples: Assistant, answered: list[tuple[Question, Answer]]
) -> None:
    cited = [(given, citation) for _, given in answered for citation in given.citations]

    assert len(cited) > 40
    for given, citation in cited:
        source = samples.text(citation.document.id)
        assert source[citation.start : citation.end] == citation.quote
        claimed = given.answer[citation.answer_start : citation.answer_end]
        assert plain(claimed) == plain(citation.quote)


def test_answers_are_withheld_only_where_there_is_reason(
    answered: list[tuple[Question, Answer]],
) -> None:
    declined = {True: 0, False: 0}
    asked = {True: 0, False: 0}
    for one, given in answered:
        asked[one.answerable] += 1
        declined[one.answerable] += given.abstained
        assert given.abstained is (not given.citations)

    assert declined[True] / asked[True] <= 0.1
    assert declined[False] / asked[False] >= 0.65
