import csv
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from rag import Assistant, Settings, report_files, shapes
from rag.errors import Unreadable, UsageError
from rag.records import Report
from rag.report import language_of
from rag.report_compare import compared, old_report, read_report
from rag.report_page import page
from rag.report_words import entries
from tests.rag.conftest import Ran

Run = Callable[..., Ran]

SUBJECTS = {
    "lamp": "The lamp has a warranty. A warranty of the lamp covers its bulb and switch.",
    "boat": "The boat sails over the lake. A sail of the boat is white on the lake.",
    "bread": "Bread is baked from flour. The baker kneads flour and bakes the bread.",
}


@pytest.fixture(scope="module")
def filled(encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    """Nine documents on three subjects, of three months: nobody changes them."""
    folder = tmp_path_factory.mktemp("subjects")
    for month, at in enumerate("abc", start=1):
        for name, text in SUBJECTS.items():
            file = folder / f"{name}-{at}.txt"
            file.write_text(f"{text} Note {at}.", encoding="utf-8")
            moment = datetime(2025, month, 15, 12).timestamp()
            os.utime(file, (moment, moment))
    home = tmp_path_factory.mktemp("home")
    with Assistant.open(Settings(home=home, encoder=str(encoder_folder), threads=1)) as opened:
        opened.add(folder)
        yield opened


@pytest.fixture
def empty(encoder_folder: Path, tmp_path: Path) -> Iterator[Assistant]:
    with Assistant.open(
        Settings(home=tmp_path / "home", encoder=str(encoder_folder), threads=1)
    ) as opened:
        yield opened


def test_a_report_has_groups_words_shares_and_times(filled: Assistant) -> None:
    made = filled.report(clusters=3)

    assert sorted(group.size for group in made.clusters) == [3, 3, 3]
    parts = [group.share_pct for group in made.clusters]
    assert round(sum(parts) + made.unclustered_pct, 6) == 100
    for group in made.clusters:
        subject = {row.title.split("-")[0] for row in group.documents}
        assert len(subject) == 1
        assert subject & set(group.words)
        assert all(sentence in "".join(SUBJECTS.values()) for sentence in group.representative)
        assert sum(group.over_time) == 3
    assert made.periods[0].startswith("2025-01")
    assert made.language == "en"
    assert made == filled.report(clusters=3)


def test_every_document_has_a_dot(filled: Assistant) -> None:
    made = filled.report()
    documents = [point for point in made.points if point.chunk_id is None]

    assert sorted(point.document_id for point in documents) == sorted(
        row.id for row in filled.documents()
    )
    assert {point.cluster for point in documents} == {group.id for group in made.clusters}


def test_passages_can_be_grouped(attest: Assistant, tmp_path: Path) -> None:
    text = "\n\n".join(f"# {name}\n\n{text}" for name, text in SUBJECTS.items())
    (tmp_path / "long.md").write_text(text, encoding="utf-8")
    attest.add(tmp_path / "long.md")
    made = attest.report(by="passages", clusters=3)

    assert made.n_documents == 1
    assert sum(group.size for group in made.clusters) == made.n_passages == 3
    assert all(len(group.documents) == 1 for group in made.clusters)
    assert [point.chunk_id is None for point in made.points] == [False] * 3


@pytest.mark.parametrize("suffix", [".html", ".json", ".csv", ".md"])
def test_the_suffix_says_what_is_written(filled: Assistant, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / "out" / f"report{suffix}"
    made = filled.report(file)
    text = file.read_text(encoding="utf-8-sig" if suffix == ".csv" else "utf-8")

    assert made.file == str(file)
    assert made.html == (str(file) if suffix == ".html" else None)
    assert all(row.title in text.replace("\\", "") for row in filled.documents())
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_another_suffix_is_refused_before_the_work(filled: Assistant, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"report.xyz: a report is written as .html"):
        filled.report(tmp_path / "report.xyz")


def test_a_page_needs_nothing_else(filled: Assistant) -> None:
    text = page(filled.report(clusters=3))

    assert not re.search(r"<(script|img|link|iframe)[^>]*(src|href)=", text)
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", text)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert "<path" in text


def test_texts_of_documents_are_never_markup(filled: Assistant) -> None:
    hostile = "</script><script>alert(1)</script>\"'"
    made = filled.report(clusters=3)
    row = replace(made.clusters[0].documents[0], title=hostile)
    group = replace(
        made.clusters[0], label=hostile, words=(hostile,), representative=(hostile,),
        documents=(row,),
    )  # fmt: skip
    points = tuple(replace(point, text=hostile) for point in made.points)
    text = page(replace(made, clusters=(group, *made.clusters[1:]), points=points))

    assert "<script>alert" not in text
    assert text.count("</script>") == 1


def test_a_table_runs_no_formula(filled: Assistant, tmp_path: Path) -> None:
    made = filled.report(clusters=3)
    evil = ['=HYPERLINK("x")', "+1", "-2", "@SUM(A1)", "\t=1", "\r=1"]
    group = made.clusters[0]
    rows = tuple(replace(group.documents[0], title=title) for title in evil)
    file = tmp_path / "report.csv"
    report_files.write(
        replace(made, clusters=(replace(group, documents=rows, label="=1+1"),)), file
    )

    assert file.read_bytes().startswith(b"\xef\xbb\xbf")
    with file.open(encoding="utf-8-sig", newline="") as stream:
        head, *read = csv.reader(stream)
    assert len(read) == len(evil)
    assert [row[head.index("title")] for row in read] == [f"'{title}" for title in evil]
    assert {row[head.index("label")] for row in read} == {"'=1+1"}
    assert {row[head.index("share_pct")] for row in read} == {str(group.share_pct)}


def test_a_later_report_says_what_has_changed(filled: Assistant) -> None:
    made = filled.report(clusters=3)
    body = shapes.report(made)
    first, second, third = body["clusters"]
    grown = first["documents"].pop()["id"]  # it came later
    second["documents"].append({"id": 10_001})  # it has been removed since
    body["clusters"].append({"id": 4, "label": "old", "documents": [{"id": 10_002}]})
    found = compared(old_report(body), made.clusters, [])

    assert grown in {row.id for row in made.clusters[0].documents}
    assert (found.old_documents, found.added, found.removed) == (10, 1, 2)
    changes = [(each.change, each.id, each.old_id) for each in found.changes]
    assert changes == [("grown", 1, 1), ("shrunk", 2, 2), ("same", 3, 3), ("gone", None, 4)]
    assert found.changes[0].old_size == third["size"] - 1 == 2
    assert found.changes[1].shared == 3


def test_a_new_group_is_new(filled: Assistant) -> None:
    made = filled.report(clusters=3)
    body = shapes.report(made)
    gone = body["clusters"].pop()
    found = compared(old_report(body), made.clusters, [])

    assert [each.change for each in found.changes] == ["same", "same", "new"]
    assert found.changes[-1].size == gone["size"] == found.added


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"clusters": [{}]}', '{"clusters": 3}'])
def test_what_is_no_report_cannot_be_compared(tmp_path: Path, text: str) -> None:
    (tmp_path / "old.json").write_text(text, encoding="utf-8")
    with pytest.raises(Unreadable, match="not a report; make one with"):
        read_report(tmp_path / "old.json")
    with pytest.raises(Unreadable, match="No such file"):
        read_report(tmp_path / "none.json")


@pytest.mark.parametrize("suffix", [".html", ".json", ".csv", ".md"])
def test_a_report_of_nothing_is_a_whole_file(empty: Assistant, tmp_path: Path, suffix: str) -> None:
    made = empty.report(tmp_path / f"report{suffix}")

    assert (made.n_documents, made.clusters, made.notes) == (0, (), ("no documents",))
    assert (tmp_path / f"report{suffix}").stat().st_size > 0


def test_a_korean_library_has_a_korean_page(filled: Assistant) -> None:
    text = page(replace(filled.report(), language="ko"))

    assert '<html lang="ko">' in text
    assert "문서함 한눈에 보기" in text


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (("바다는 넓다.", "The sea."), "en"),
        (("바다는 넓다.", "산은 높다.", "Sea"), "ko"),
        ((), "en"),
    ],
)
def test_a_report_speaks_as_most_of_its_documents(texts: tuple[str, ...], language: str) -> None:
    assert language_of(texts) == language


def test_both_languages_have_the_same_words() -> None:
    english, korean = entries("en"), entries("ko")

    assert list(english) == list(korean)
    for key, value in english.items():
        assert set(re.findall(r"{\w+}", value)) == set(re.findall(r"{\w+}", korean[key])), key
    assert all(re.search("[가-힣]", value) for value in korean.values())


def test_the_command_writes_and_compares(
    run: Run, settings: Settings, filled: Assistant, tmp_path: Path
) -> None:
    shutil.copytree(filled.settings.home, settings.home)
    old = tmp_path / "old.json"
    assert "written to" in run("report", "-o", old, "--clusters", "2").out
    assert json.loads(old.read_text(encoding="utf-8"))["n_clusters"] == 2
    ran = run("report", "--clusters", "2", "--compare", old, "--outliers", "assign")
    assert "same" in ran.out
    assert run("report", "-o", tmp_path / "x.pdf").code == 2
    assert run("report", "--compare", tmp_path / "none.json").code == 1


def test_nothing_but_a_report_has_a_time(filled: Assistant) -> None:
    made = filled.report()

    assert isinstance(made, Report)
    assert datetime.fromisoformat(made.made).tzinfo is not None
