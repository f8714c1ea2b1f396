"""The files of a set that is kept beside the project: what users of other tools sent in.

Meaning matters here, so the library is made with the packaged encoder of many languages.
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import Assistant, Settings
from rag.errors import AttestError
from rag.models import locate
from rag.records import Within
from tests.acceptance.hard_inputs.shelf import name_of

FOLDER = Path(__file__).parents[4] / "shared" / "hard-inputs" / "files"
_LARGE = "A09_big_cell.csv"  # its cell takes half a minute to encode: read with the tiny encoder


@pytest.fixture(scope="module")
def attest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    """A library of all the files."""
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is not there")
    given = Settings(home=tmp_path_factory.mktemp("given") / "자료 창고", encoder="e5-small")
    try:
        locate(given.encoder, given.models_dir)
    except AttestError as error:
        pytest.skip(str(error))
    with Assistant.open(given) as opened:
        opened.add(*(path for path in sorted(FOLDER.iterdir()) if path.name != _LARGE))
        yield opened


@pytest.mark.parametrize(
    ("query", "name", "held"),
    [
        ("새 주소", "A01_cp949_notice.txt", "은하구 별빛로 27"),
        ("가게 이름", "A01_cp949_notice.txt", "'똠방각하'와 '쀍쓰네'"),
        ("나비 사료", "A02_utf8_note.txt", "€3짜리"),
        ("창고 점검표", "A06_nul_glyph.pdf", "창고 점검표"),
        ("섬마을 요금", "A07_table_between.docx", "7300원"),
        ("make wash", "A08_fence_hash.md", "make wash"),
        ("화요일 몇 시에 여나", "A10_script_style.html", "화요일은 오전 8시에 엽니다."),
        ("호박엿", "A12_repeat.txt", "호박엿"),
        ("보물 상자의 비밀번호", "A13_tail_fact.txt", "오로라-6174"),
        ("초록 우체통", "A21_keep.txt", "초록 우체통"),
        ("망치는 어디서 빌리나", "A29_xss_note.md", "대여료는 하루 500원"),
        ("우유는 어디에 두나?", "A32_injected.txt", "둘째 칸"),
        ("감자 수확", "A33_formula_titles.txt", "=HYPERLINK"),
        ("모두 42", "A37_formula_cached.xlsx", "모두 | 42"),
    ],
)
def test_each_fact_is_found_first(attest: Assistant, query: str, name: str, held: str) -> None:
    hit = attest.search(query, k=5).hits[0]

    assert name_of(hit.chunk.document.path) == name
    assert held in hit.chunk.text
    assert hit.dense is None or -1 <= hit.dense <= 1
    text = attest.text(hit.chunk.document.id)
    assert text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
    assert "\ufffd" not in text


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("A05_locked.pdf", "failed"),
        ("A22_rules_copy.txt", "duplicate"),
        ("broken.pdf", "failed"),
        ("not_really.pdf", "failed"),
        ("empty.txt", "empty"),
        ("blank.txt", "empty"),
        ("good_1.txt", "indexed"),
        ("good_2.md", "indexed"),
    ],
)
def test_each_file_has_its_status_and_reason(attest: Assistant, name: str, status: str) -> None:
    row = attest.find(name)
    assert row.status == status
    assert bool(row.reason) == (status != "indexed")
    assert "desktop.ini" not in [name_of(each.path) for each in attest.documents()]


def test_texts_hold_what_they_should_and_nothing_else(attest: Assistant) -> None:
    nul = attest.text("A06_nul_glyph.pdf")
    assert "K21" not in nul
    assert attest.find("A06_nul_glyph.pdf").warnings == ("2 unreadable characters",)
    table = attest.text("A07_table_between.docx")
    order = ["배송 요금 안내", "섬마을", "7300원", "야간 추가", "1100원", "요금은 매월"]
    assert [table.count(piece) for piece in order] == [1] * len(order)
    assert sorted(order, key=table.index) == order
    page = attest.text("A10_script_style.html")
    assert "팥빵 & 우유 <세트> 3500원" in page
    for hidden in ("secretCounter", "zzTrack", ".zq9", ".svgcls", "remark-5521", "ghost-77"):
        assert hidden not in page
    for name in ("A37_formula_cached.xlsx", "A37_formula_uncached.xlsx"):
        book = attest.text(name)
        assert "둘째 장에도 글이 있다" in book
        assert "=SUM" not in book
        assert "None" not in book


def test_names_are_found_in_either_form(attest: Assistant) -> None:
    for form in ("NFC", "NFD"):
        typed = unicodedata.normalize(form, "점심메뉴*")
        found = attest.search("점심", within=Within(paths=(typed,))).hits
        names = [name_of(hit.chunk.document.path) for hit in found]
        assert sorted(map(len, names)) == [12, 12]
    name = unicodedata.normalize("NFC", "점심메뉴_수요일.txt")
    assert "칼국수" in attest.text(name)


def test_equal_texts_leave_room_for_others(attest: Assistant) -> None:
    hits = attest.search("식판", k=5).hits
    texts = [hit.chunk.text for hit in hits]
    assert len(set(texts)) == len(texts)
    assert "A22_other.txt" in [name_of(hit.chunk.document.path) for hit in hits]


def test_no_chunk_is_over_the_limit_and_offsets_hold(attest: Assistant) -> None:
    limit = attest.encoders.of("default").max_tokens
    for row in attest.documents():
        parts = attest.opened("default").chunks(attest.catalog.chunk_ids(row.id))
        text = attest.text(row.id) if parts else ""
        assert all(part.tokens <= limit for part in parts)
        assert all(text[part.start : part.end] == part.text for part in parts)


def test_the_injected_orders_are_quoted_and_not_followed(attest: Assistant) -> None:
    given = attest.ask("우유는 어디에 두나?", mode="extract")
    assert "둘째 칸" in given.answer
    assert "PINEAPPLE" not in given.answer


def test_the_words_of_clusters_have_no_particles(attest: Assistant) -> None:
    words = {word for group in attest.report(clusters=12).clusters for word in group.words}
    stems = ("학교", "바다")
    assert not words & {stem + p for stem in stems for p in ("는", "가", "를", "에서", "의")}
    assert not words & {"는", "가", "를", "에서", "의", "을", "이"}


def test_a_cell_past_the_limit_of_pythons_reader_loses_nothing(
    encoder_folder: Path, tmp_path: Path
) -> None:
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is not there")
    given = Settings(home=tmp_path / "home", encoder=str(encoder_folder), threads=1)
    with Assistant.open(given) as opened:
        opened.add(FOLDER / _LARGE)
        for word in ("끝표식ZETA", "짧은 칸"):
            assert word in opened.search(word, k=1, mode="lexical").hits[0].chunk.text
