"""What is quoted, and what of a writer's words is let through."""

from collections.abc import Iterator

import pytest

from index.records import StoredChunk, StoredDocument, WordFrequencies
from rag.answer import choose
from rag.draft import Draft, admit, transcribe
from rag.evidence import Evidence, find_evidence
from rag.records import Hit, SearchResult

TEXT = (
    "The warranty of the lamp lasts 24 months from delivery. "
    "Batteries of the lamp are covered for 6 months. "
    "Before delivery, the warranty can be lengthened to 60 months for 9 % of the list price."
)
QUESTION = "How long does the warranty of the lamp last?"


def hit(text: str = TEXT, rank: int = 1, score: float = 1.0) -> Hit:
    document = StoredDocument(1, "a.txt", "A", "text/plain", "", 0, "indexed", None, (), 1, "")
    return Hit(
        rank,
        score,
        None,
        2.0,
        StoredChunk(rank, document, text, 10, 10 + len(text), 3, (), 40),
    )


def found(*hits: Hit) -> SearchResult:
    words = WordFrequencies(100, {"long": 9, "warranti": 2, "lamp": 3, "last": 4})
    return SearchResult(QUESTION, hits, words)


def quoted() -> Draft:
    """A draft that quotes the sentence which answers the question."""
    draft = Draft()
    draft.quote(find_evidence(QUESTION, found(hit()), embedder=None)[0])
    assert draft.text == "The warranty of the lamp lasts 24 months from delivery."
    return draft


@pytest.mark.parametrize(
    "said",
    [
        "The answer is: 60 months.",  # a number that stands there, and not for this
        "The warranty of the lamp lasts 24 months from delivery.",  # said already
        "The lamp's batteries are lengthened to 60 months for delivery.",  # put together wrongly
        "The warranty of the lamp lasts 36 months from delivery.",  # a number from nowhere
        "Lamps are lovely and warm in every winter evening.",
    ],
)
def test_nothing_is_added_that_one_place_does_not_say(said: str) -> None:
    draft = quoted()
    before = draft.text

    assert "".join(admit(iter(said.split("|")), [hit()], draft)) == ""
    assert draft.text == before
    assert len(draft.citations) == 1


def test_what_a_passage_says_is_added_and_cited() -> None:
    said = "The warranty can be lengthened to 60 months for 9 % of the list price."
    draft = quoted()
    before = draft.text

    pieces = list(admit(iter([said[:30], said[30:]]), [hit()], draft))

    assert draft.text == before + "".join(pieces) == f"{before}\n{said}"
    last = draft.citations[-1]
    assert draft.text[last.answer_start : last.answer_end] == said
    assert last.quote == TEXT[last.start - 10 : last.end - 10]
    assert "9 % of the list price" in last.quote


def test_all_is_transcribed_and_what_is_not_borne_out_is_marked() -> None:
    said = ["The warranty lasts 24 months.", " It is made of gold", " and shines at night."]
    draft = Draft()

    assert list(transcribe(iter(said), [hit()], draft)) == said
    assert draft.text == "".join(said)
    assert [draft.text[a:b] for a, b in draft.unsupported] == [
        "It is made of gold and shines at night."
    ]
    [cited] = draft.citations
    assert draft.text[cited.answer_start : cited.answer_end] == "The warranty lasts 24 months."
    assert cited.quote == TEXT[cited.start - 10 : cited.end - 10]
    assert cited.page == 3


def test_a_sentence_with_the_kind_of_amount_that_is_asked_for_goes_first() -> None:
    text = "The lamp has 1.9 kg with its foot. The lamp weighs next to nothing."
    evidence = find_evidence("How heavy is the lamp?", found(hit(text)), embedder=None)
    assert evidence[0].text == "The lamp has 1.9 kg with its foot."


def test_a_heading_is_never_quoted() -> None:
    evidence = find_evidence(
        QUESTION, found(hit("# Warranty of the lamp\n\nIt lasts 24 months.")), embedder=None
    )

    assert [e.text for e in evidence] == ["It lasts 24 months."]


def test_the_same_is_not_quoted_twice() -> None:
    evidence = find_evidence(
        QUESTION, found(hit(), hit(TEXT.replace("lasts", "lasts for"), 2, 0.9)), embedder=None
    )
    chosen = choose(evidence)

    first = [e for e in chosen if "24 months" in e.text]
    assert len(first) == 1


def test_nothing_found_is_nothing_quoted() -> None:
    assert choose([]) == []
    assert find_evidence(QUESTION, found(), embedder=None) == []


def test_evidence_knows_its_place() -> None:
    for e in find_evidence(QUESTION, found(hit()), embedder=None):
        assert isinstance(e, Evidence)
        assert TEXT[e.start - 10 : e.end - 10] == e.text


def test_a_reader_who_goes_stops_the_writer() -> None:
    written = []

    def pieces() -> Iterator[str]:
        for word in TEXT.split():
            written.append(word)
            yield word + " "

    reading = admit(pieces(), [hit()], Draft())
    for _ in range(3):
        next(reading)
    reading.close()

    assert len(written) == 3


@pytest.mark.parametrize(("second", "quoted_sentences"), [(None, 2), (2.0, 2), (0.0, 1)])
def test_a_further_sentence_is_quoted_only_where_the_judge_is_sure(
    second: float | None, quoted_sentences: int
) -> None:
    source = hit("The lamp lasts 24 months. Batteries are covered for 6 months.")
    best = Evidence(source, 10, 35, None, 1.0, None if second is None else 3.0)
    further = Evidence(source, 36, 71, None, 0.9, second)
    assert len(choose([best, further])) == quoted_sentences
