"""The product end to end on a tiny library: what is added is found, cited, compared and removed."""

import re
from pathlib import Path

import pytest

from index.errors import CollectionExists, UnknownCollection, UnknownDocument
from rag import Answer, Assistant
from rag.encoders import Encoders
from rag.errors import NotFound, TooLong, UsageError
from rag.records import Within


def name_of(path: str) -> str:
    return Path(path).name


def test_files_are_added_once_and_changed_ones_again(attest: Assistant, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The gate is green.", encoding="utf-8")
    assert [one.status for one in attest.add(file)] == ["added"]
    assert [one.status for one in attest.add(file)] == ["unchanged"]
    file.write_text("The gate is blue.", encoding="utf-8")
    assert [one.status for one in attest.add(file)] == ["updated"]
    assert attest.text("a.txt") == "The gate is blue."


def test_an_unchanged_file_is_not_encoded_again(
    library: Assistant, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = library.models.embedder(library.settings.encoder)
    encoded: list[int] = []
    embed = embedder.embed_documents
    monkeypatch.setattr(embedder, "embed_documents", lambda t: encoded.append(len(t)) or embed(t))

    assert {one.status for one in library.add(shelf)} == {"unchanged"}
    assert sum(encoded) == 0


def test_a_file_that_cannot_be_read_stops_nothing(attest: Assistant, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("The gate is green.", encoding="utf-8")
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    (tmp_path / "junk.txt").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")

    done = {name_of(one.path): one for one in attest.add(tmp_path)}

    assert {name: one.status for name, one in done.items()} == {
        "good.txt": "added",
        "empty.txt": "empty",
        "junk.txt": "failed",
        "broken.pdf": "failed",
    }
    assert all(one.reason for name, one in done.items() if name != "good.txt")
    rows = {name_of(row.path): row for row in attest.documents()}
    assert rows["broken.pdf"].status == "failed"
    assert rows["broken.pdf"].chunks == 0
    again = {name_of(one.path): one.status for one in attest.add(tmp_path)}
    assert again == {
        "good.txt": "unchanged",
        "empty.txt": "empty",
        "junk.txt": "failed",
        "broken.pdf": "failed",
    }


def test_the_same_bytes_under_two_names_are_shown_once(attest: Assistant, tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("The canteen serves soup.", encoding="utf-8")

    assert sorted(one.status for one in attest.add(tmp_path)) == ["added", "duplicate"]
    assert len(attest.search("soup").hits) == 1


def test_a_missing_path_is_named_and_nothing_is_added(attest: Assistant, shelf: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        attest.add(shelf, shelf / "nowhere")
    assert attest.documents() == []


def test_search_finds_by_words_and_says_why(library: Assistant) -> None:
    found = library.search("warranty of the lamp", k=3)

    first = found.hits[0]
    assert name_of(first.chunk.document.path) == "warranty.md"
    assert first.rank == 1
    assert first.lexical is not None
    assert first.dense is not None
    assert [hit.score for hit in found.hits] == sorted(
        (hit.score for hit in found.hits), reverse=True
    )


def test_korean_questions_meet_words_with_other_particles(library: Assistant) -> None:
    found = library.search("연차가 며칠", k=1, mode="lexical")

    assert name_of(found.hits[0].chunk.document.path) == "휴가.md"


def test_search_stays_within_the_documents_named(library: Assistant) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        found = library.search("months", mode=mode, within=Within(documents=("hours.txt",)))
        assert {name_of(hit.chunk.document.path) for hit in found.hits} <= {"hours.txt"}
    assert library.search("workshop", within=Within(documents=("hours.txt",))).hits


@pytest.mark.parametrize("blank", ["", "   ", "\u3000\n"])
def test_a_blank_question_is_refused(library: Assistant, blank: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        library.search(blank)


def test_a_question_over_the_limit_is_refused_with_both_numbers(library: Assistant) -> None:
    with pytest.raises(TooLong, match=r"\d+ tokens, the encoder takes 256"):
        library.search("a" * 600 + " b" * 300)
    with pytest.raises(TooLong, match="100000 characters, 20000 are taken"):
        library.search("x" * 100_000)


def test_k_below_one_is_refused(library: Assistant) -> None:
    with pytest.raises(UsageError, match=r"k \(0\)"):
        library.search("lamp", k=0)


def test_more_results_than_there_are_is_all_of_them(library: Assistant) -> None:
    found = library.search("the", k=500, mode="dense")

    ids = [hit.chunk.id for hit in found.hits]
    assert len(ids) == len(set(ids)) == library.status().chunks


def test_an_unknown_collection_or_document_is_named(library: Assistant) -> None:
    with pytest.raises(UnknownCollection, match="elsewhere"):
        library.search("lamp", collection="elsewhere")
    with pytest.raises(UnknownDocument, match="ghost"):
        library.search("lamp", within=Within(documents=("ghost.txt",)))


def test_an_answer_quotes_with_citations_that_stand_verbatim(library: Assistant) -> None:
    given = library.ask("How long does the warranty of the lamp last?", mode="extract")

    assert "24 months" in given.answer
    assert given.mode == "extract"
    assert not given.abstained
    assert given.citations
    for cited in given.citations:
        assert library.text(cited.document.id)[cited.start : cited.end] == cited.quote
        own = given.answer[cited.answer_start : cited.answer_end]
        assert " ".join(cited.quote.split()) == own


def test_pieces_add_up_to_the_answer(library: Assistant) -> None:
    *pieces, last = library.stream("When does the workshop open?", mode="extract")

    assert isinstance(last, Answer)
    assert "".join(str(piece) for piece in pieces) == last.answer


@pytest.mark.parametrize(
    ("question", "declined"),
    [("zebra migration yearly?", "do not hold"), ("얼룩말 이동 경로?", "찾지 못했습니다")],
)
def test_what_the_documents_do_not_hold_is_declined(
    library: Assistant, question: str, declined: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Random vectors have cosines near one: what is judged here is the words.
    monkeypatch.setattr(Encoders, "speaks", lambda *_: False)
    given = library.ask(question, mode="extract")

    assert given.abstained
    assert declined in given.answer
    assert given.citations == ()


def test_removed_documents_are_gone_from_every_answer(library: Assistant) -> None:
    [done] = library.remove(["warranty.md"])

    assert done.status == "removed"
    assert all(
        name_of(hit.chunk.document.path) != "warranty.md"
        for mode in ("hybrid", "dense", "lexical")
        for hit in library.search("warranty lamp battery", mode=mode, k=50).hits
    )
    with pytest.raises(UnknownDocument):
        library.remove(["warranty.md"])


def test_nothing_is_removed_if_one_name_is_wrong(library: Assistant) -> None:
    with pytest.raises(UnknownDocument, match="ghost"):
        library.remove(["warranty.md", "ghost.txt"])
    assert library.find("warranty.md").status == "indexed"


def test_what_was_added_is_there_after_opening_again(library: Assistant) -> None:
    settings = library.settings
    library.close()

    with Assistant.open(settings) as again:
        assert again.search("lamp", mode="lexical").hits
        assert len(again.documents()) == 3


def test_similar_documents_leave_out_the_one_asked_about(
    library: Assistant, tmp_path: Path
) -> None:
    found = library.similar("warranty.md", k=5)
    assert {name_of(hit.chunk.document.path) for hit in found.hits} == {"hours.txt", "휴가.md"}

    copy = tmp_path / "copy.md"
    copy.write_text(library.text("warranty.md"), encoding="utf-8")
    best = library.similar(copy, k=1).hits[0]
    assert name_of(best.chunk.document.path) == "warranty.md"
    assert best.score == pytest.approx(1.0, abs=0.02)


def test_an_upload_is_kept_in_the_home_and_goes_with_its_document(attest: Assistant) -> None:
    (done,) = attest.upload("../../note.txt", b"The gate is green.")

    file = Path(done.path)
    assert file.is_relative_to(attest.settings.home)
    assert file.is_file()
    attest.remove([done.id or 0])
    assert not file.exists()


def test_a_report_names_every_document_once(library: Assistant, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    made = library.report(page, clusters=2)

    listed = [row.id for group in made.clusters for row in group.documents]
    assert sorted(listed) == sorted(row.id for row in library.documents())
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|img|link|iframe)[^>]*(src|href)=", text)
    assert all(row.title in text for row in library.documents())


def test_a_report_of_nothing_says_so(attest: Assistant) -> None:
    made = attest.report()

    assert made.n_documents == 0
    assert made.notes == ("no documents",)


def test_status_counts(library: Assistant) -> None:
    found = library.status()

    assert found.documents == {"indexed": 3}
    assert found.chunks == found.vectors > 0


def test_a_file_name_moves_no_vector(attest: Assistant, tmp_path: Path) -> None:
    for folder, name in (("a", "pears.txt"), ("b", "plums.txt")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("The gate is green.", encoding="utf-8")
        attest.add(tmp_path / folder, collection=folder)

    scores = [
        attest.search("gate", mode="dense", collection=folder).hits[0].dense for folder in "ab"
    ]
    assert scores[0] == scores[1]


def test_a_collection_is_made_named_anew_and_let_go(library: Assistant) -> None:
    assert library.create("  Notes ") == "Notes"
    assert library.at("Notes").documents() == []
    with pytest.raises(CollectionExists, match="there is a collection 'Notes' already"):
        library.create("Notes")
    for name in ("", " \t", "a\nb", "a" * 256):
        with pytest.raises(UsageError, match="1 to 255 characters"):
            library.create(name)
    assert library.search("lamp").hits  # the index is open by its old name
    held = len(library.documents())
    assert library.rename_collection("default", "Lamps") == "Lamps"
    assert library.documents() == []
    assert library.at("Lamps").search("lamp").hits
    with pytest.raises(UnknownCollection):
        library.search("lamp", collection="default")
    assert library.drop("Lamps") == held
