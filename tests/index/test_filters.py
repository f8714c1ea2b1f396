import time
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

import pytest

from index import Catalog
from index.errors import BadFilter
from index.records import Filter
from tests.index.library import MODEL, document, rejected, vectors_of

ROWS = {
    "/home/me/docs/a.txt": ("text/plain", "2024-05-31T03:00:00+00:00", ("draft", "law")),
    "/home/me/docs/deep/b.md": ("text/markdown", "2024-05-31T14:59:59+00:00", ("law",)),
    "/home/me/한글 문서/휴가.hwp": ("application/x-hwp", "2024-06-01T00:00:00+00:00", ("법",)),
    "C:\\Users\\me\\Report [1].PDF": ("application/pdf", None, ()),
}


@pytest.fixture
def stocked(catalog: Catalog) -> Catalog:
    catalog.create("default", MODEL)
    for path, (media_type, modified, tags) in ROWS.items():
        new = replace(
            document(path, f"passage of {path}"), media_type=media_type, modified=modified
        )
        stored = catalog.add("default", new, vectors_of(new), MODEL.fingerprint)
        catalog.tag(stored.id, add=tags)
    return catalog


def _found(catalog: Catalog, given: Filter) -> list[str]:
    paths = {row.id: row.path for row in catalog.documents("default")}
    ids = catalog.matching("default", given)
    assert ids == sorted(ids)
    return [paths[key] for key in ids]


TXT, MD, HWP, PDF = ROWS


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.txt", [TXT]),
        ("a.txt", [TXT]),
        (".txt", []),
        ("docs/*", [TXT, MD]),
        ("/home/me/docs/*", [TXT, MD]),
        ("/docs/*", []),
        ("ocs/*", []),
        ("deep/?.md", [MD]),
        ("[ab].*", [TXT, MD]),
        ("*/me/*", [TXT, MD, HWP, PDF]),
        ("휴가.*", [HWP]),
        (unicodedata.normalize("NFD", "한글 문서/*"), [HWP]),
        ("한글 문서\\*", [HWP]),
        ("C:\\Users\\*", [PDF]),
        ("C:/Users/*", [PDF]),
        ("Users/me/Report [[]1].PDF", [PDF]),
        ("Report [1].PDF", []),  # a class of characters, as in every shell
    ],
)
def test_paths_by_glob(stocked: Catalog, glob: str, expected: list[str]) -> None:
    assert _found(stocked, Filter(paths=(glob,))) == expected


def test_one_of_several_globs_is_enough(stocked: Catalog) -> None:
    assert _found(stocked, Filter(paths=("*.md", "*.hwp"))) == [MD, HWP]


def test_a_decomposed_path_is_matched_by_a_composed_glob(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    path = unicodedata.normalize("NFD", "/문서/휴가.txt")
    new = document(path, "one")
    catalog.add("default", new, vectors_of(new), MODEL.fingerprint)
    assert _found(catalog, Filter(paths=("휴가.txt",))) == [path]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("text/*",), [TXT, MD]),
        (("TEXT/*",), [TXT, MD]),
        (("Application/PDF",), [PDF]),
        (("text/plain", "application/*"), [TXT, HWP, PDF]),
        (("tex/*",), []),
        (("text/",), []),
        (("%/*",), []),
    ],
)
def test_media_types(stocked: Catalog, types: tuple[str, ...], expected: list[str]) -> None:
    assert _found(stocked, Filter(media_types=types)) == expected


@pytest.fixture
def _seoul(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("this system sets its time zone elsewhere")
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_seoul")
@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2024-05-31", "2024-05-31", [TXT, MD]),  # the day in Seoul ends at 15:00 UTC
        ("2024-06-01", None, [HWP]),
        (None, "2024-05-30", []),
        ("2024-05-31T12:00:01", None, [MD, HWP]),
        ("2024-05-31T14:59:59Z", None, [MD, HWP]),
        (None, "2024-05-31T14:59:58+00:00", [TXT]),
    ],
)
def test_dates_of_the_files(
    stocked: Catalog, since: str | None, until: str | None, expected: list[str]
) -> None:
    assert _found(stocked, Filter(since=since, until=until)) == expected


@pytest.mark.parametrize("date", ["yesterday", "2024-13-01", "", "2024-05-31T25:00"])
def test_what_is_no_date_is_named(stocked: Catalog, date: str) -> None:
    with pytest.raises(BadFilter, match=r"is no date: write 2024-05-31, or 2024-05-31T18:00"):
        stocked.matching("default", Filter(since=date))


def test_tags_all_have_to_be_there(stocked: Catalog) -> None:
    assert _found(stocked, Filter(tags=("law",))) == [TXT, MD]
    assert _found(stocked, Filter(tags=("law", "draft"))) == [TXT]
    assert _found(stocked, Filter(tags=("Law",))) == []
    assert _found(stocked, Filter(tags=(unicodedata.normalize("NFD", "법"),))) == [HWP]


def test_all_conditions_hold_at_once(stocked: Catalog) -> None:
    ids = {row.path: row.id for row in stocked.documents("default")}
    within = (ids[TXT], ids[HWP], 999)
    assert _found(stocked, Filter()) == [TXT, MD, HWP, PDF]
    assert _found(stocked, Filter(documents=within)) == [TXT, HWP]
    assert _found(stocked, Filter(documents=within, tags=("law",))) == [TXT]
    assert _found(stocked, Filter(documents=())) == []


def test_a_duplicate_stands_for_its_original_and_a_rejected_file_for_nothing(
    stocked: Catalog,
) -> None:
    original = stocked.find("default", TXT)
    copy = stocked.add_duplicate("default", "/copies/c.txt", original.sha256, 1)
    assert copy is not None
    stocked.reject("default", rejected("/copies/d.txt"))
    assert _found(stocked, Filter(paths=("copies/*",))) == [TXT]
    assert _found(stocked, Filter(documents=(copy.id,))) == [TXT]


def test_another_collection_is_not_looked_at(stocked: Catalog) -> None:
    stocked.create("other", MODEL)
    assert stocked.matching("other", Filter(paths=("*",))) == []


def test_folders_are_told_apart_by_capitals(stocked: Catalog) -> None:
    assert [path for _, path in stocked.paths_under("default", "/home/me/docs")] == [TXT, MD]
    assert stocked.paths_under("default", "/home/me/Docs") == []
    assert [path for _, path in stocked.paths_under("default", "C:\\Users")] == [PDF]
