"""A05, A07 to A10, A37 and their like: every format with its facts where a reader sees them."""

import docx
import pytest
from docx.document import Document
from docx.oxml import parse_xml
from fastapi.testclient import TestClient

from tests.acceptance.hard_inputs.conftest import Shelve
from tests.acceptance.hard_inputs.shelf import Shelf, upload
from tests.rag.loaders.compound_files import compound
from tests.rag.loaders.docx_files import saved
from tests.rag.loaders.pdf_files import locked_pdf, open_but_restricted_pdf
from tests.rag.loaders.xlsx_files import cell, rows, workbook

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def _table(document: Document, *lines: tuple[str, ...]) -> None:
    table = document.add_table(len(lines), len(lines[0]))
    for row, line in zip(table.rows, lines, strict=True):
        for place, text in zip(row.cells, line, strict=True):
            place.text = text


def _between() -> bytes:
    document = docx.Document()
    document.add_paragraph("택배 요금표")
    _table(document, ("지역", "요금"), ("산마을", "6400원"), ("", "900원"))
    inner = document.tables[0].cell(2, 0).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "주말 추가", "토요일"
    document.add_paragraph("요금은 해마다 바뀐다.")
    return saved(document)


def _merged() -> bytes:
    document = docx.Document()
    _table(document, ("층", "용도"), ("", "창고"), ("", "식당"))
    table = document.tables[0]
    table.cell(1, 0).merge(table.cell(2, 0)).text = "이층"
    _table(document, ("", "", ""), ("동관", "7", "8"))
    table = document.tables[1]
    table.cell(0, 0).merge(table.cell(0, 2)).text = "좌석 배치"
    return saved(document)


def _in_a_box() -> bytes:
    spaces = (
        f'{_W} xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:wp="http://schemas.'
        'openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    )
    cells = "".join(
        f"<w:tc><w:p><w:r><w:t>{t}</w:t></w:r></w:p></w:tc>" for t in ("연필깎이", "열둘")
    )
    box = f"<w:txbxContent><w:tbl><w:tr>{cells}</w:tr></w:tbl></w:txbxContent>"
    document = docx.Document()
    paragraph = document.add_paragraph("상자 앞")
    drawing = f"<wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp>"
    graphic = f'<a:graphic><a:graphicData uri="x">{drawing}</a:graphicData></a:graphic>'
    paragraph._p.append(
        parse_xml(f"<w:r {spaces}><w:drawing><wp:inline>{graphic}</wp:inline></w:drawing></w:r>")
    )
    document.add_paragraph("상자 뒤")
    return saved(document)


def _in_a_header_cell() -> bytes:
    document = docx.Document()
    _table(document, ("구분", ""), ("정원", "31명"))
    inner = document.tables[0].cell(0, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "오전반", "오후반"
    return saved(document)


def _in_a_control() -> bytes:
    document = docx.Document()
    document.add_paragraph("앞줄")
    row = (
        '<w:tr><w:tc><w:p><w:ins w:id="1" w:author="x"><w:r><w:t>새값 55</w:t></w:r></w:ins>'
        '<w:del w:id="2" w:author="x"><w:r><w:delText>옛값 44</w:delText></w:r></w:del></w:p>'
        "</w:tc><w:tc><w:p><w:r><w:t>둘째칸</w:t></w:r></w:p></w:tc></w:tr>"
    )
    table = f"<w:sdt {_W}><w:sdtContent><w:tbl>{row}</w:tbl></w:sdtContent></w:sdt>"
    document.element.body.insert(1, parse_xml(table))
    return saved(document)


WORD = {  # the order of texts, and pairs that share a line
    "between.docx": (
        _between(),
        ["택배 요금표", "산마을", "6400원", "900원", "요금은 해마다"],
        [("산마을", "6400원"), ("주말 추가", "토요일")],
    ),
    "merged.docx": (
        _merged(),
        ["이층", "식당", "좌석 배치", "동관"],
        [("이층", "창고"), ("이층", "식당")],
    ),
    "box.docx": (_in_a_box(), ["상자 앞", "연필깎이", "열둘", "상자 뒤"], [("연필깎이", "열둘")]),
    "header.docx": (_in_a_header_cell(), ["오전반", "오후반", "정원", "31명"], [("정원", "31명")]),
    "control.docx": (_in_a_control(), ["앞줄", "새값 55", "둘째칸"], [("새값 55", "둘째칸")]),
}

_FENCED = """# 세탁기 설치

준비물은 호스 하나다.

```sh
# 첫 단계
make rinse
```

~~~python
# not a heading
```
# nor this
~~~

# 연락처

내선 417번이다.
"""
_MORE_FENCES = """---
title: 안내
# no heading
---
# 하나

````md
```
# no
```
````

    # four spaces

- item

  ```
  # in a list
  ```

<!-- # in a
# comment -->

> ```
> # quoted
> ```

둘
==

#no-space

## 셋 ##

```
# never closed
"""
MARKDOWN: dict[str, tuple[str, list[tuple[str, ...]], tuple[str, tuple[str, ...]]]] = {
    "fences.md": (_FENCED, [("세탁기 설치",), ("연락처",)], ("rinse", ("세탁기 설치",))),
    "more.md": (_MORE_FENCES, [("하나",), ("둘",), ("둘", "셋")], ("never closed", ("둘",))),
    "windows.md": (
        "\ufeff" + _FENCED.replace("\n", "\r\n").replace("rinse", "spin"),
        [("세탁기 설치",), ("연락처",)],
        ("spin", ("세탁기 설치",)),
    ),
}

_LONG = "éclairéclair " * 10_400  # each word is one token to the tiny encoder
CELLS = {
    "cell.csv": f"번호,내용\n1,{_LONG}끝알파\n2,작은 칸하나\n",
    "cell.tsv": f"번호\t내용\n1\t{_LONG}끝베타\n2\t작은 칸둘\n",
    "header.csv": f"번호,{_LONG}끝감마\n1,작은 칸셋\n",
    "lines.csv": '번호,내용\n1,"' + "éclairéclair\n" * 10_400 + '끝델타"\n2,"작은 ""칸넷"""\n',
}
_CELL_WORDS = {
    "cell.csv": ("끝알파", "칸하나"),
    "cell.tsv": ("끝베타", "칸둘"),
    "header.csv": ("끝감마", "칸셋"),
    "lines.csv": ("끝델타", "칸넷"),
}

HTML = {
    "page.html": (
        "<!doctype html><meta charset=utf-8><title>꽃집 여는 때</title><style>.gx1{}</style>"
        "<script>var gx2=1</script><h1>꽃집 여는 때</h1><p>목요일은 <b>낮</b> 1시에 연다.</p>"
        "<!-- gx3 --><template>gx4</template><svg><style>.gx5{}</style></svg>"
        "<p>장미&nbsp;&amp;&nbsp;국화 &lt;묶음&gt; 9000원</p>",
        ["목요일은 낮 1시에 연다.", "장미 & 국화 <묶음> 9000원"],
    ),
    "upper.HTM": (
        '<HTML><HEAD><SCRIPT TYPE="application/ld+json">{"gx1":1}</SCRIPT></HEAD>'
        '<BODY ONLOAD="gx2()">'
        '<P HIDDEN>gx3</P><P STYLE="DISPLAY : NONE">gx4</P><NOSCRIPT></NOSCRIPT>'
        '<P title="gx5">보이는 글 <IMG SRC=x ALT="" ONERROR="gx6()"></P><SCRIPT>gx7',
        ["보이는 글"],
    ),
    "nested.xhtml": (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>겹</title><style><![CDATA[gx1]]>'
        "</style></head><body><svg><script>gx2</script></svg><p>겹친 글</p>"
        "<script><![CDATA[gx3]]></script></body></html>",
        ["겹친 글"],
    ),
}

_FORMULA = '<row r="1"><c r="A1" t="str"><v>합쳐서</v></c><c r="B1"><f>SUM(B2:B3)</f>{}</c></row>'
BOOKS = {
    "cached.xlsx": workbook({"셈": _FORMULA.format("<v>58</v>"), "쪽지": rows(("뒷장 글이다",))}),
    "uncached.xlsx": workbook({"셈": _FORMULA.format(""), "쪽지": rows(("뒷장 글이다 둘",))}),
    "error.xlsm": workbook(
        {
            "셈": '<row r="1"><c r="A1" t="e"><f>1/0</f><v>#DIV/0!</v></c>'
            + cell("B1", "나눗셈줄")
            + "</row>",
            "숨음": rows(("숨은 장 글이다",)),
        },
        states={"숨음": "hidden"},
    ),
}


@pytest.fixture(scope="module")
def shelf(shelve: Shelve) -> Shelf:
    files = {name: row[0] for name, row in WORD.items()}
    files |= {name: row[0].encode() for name, row in MARKDOWN.items()}
    files |= {name: row[0].encode() for name, row in HTML.items()}
    return shelve(
        files | BOOKS | {"restricted.pdf": open_but_restricted_pdf("도장은 서랍에 있다.")}
    )


@pytest.mark.parametrize("name", WORD)
def test_a07_tables_of_word_stand_where_they_are(shelf: Shelf, name: str) -> None:
    _, order, together = WORD[name]
    text = shelf.text(name)

    places = [text.index(piece) for piece in order]
    assert places == sorted(places)
    for one, two in together:
        (line,) = [line for line in text.splitlines() if one in line and two in line]
        assert line.index(two) > line.index(one) + len(one)  # not glued
    assert "옛값" not in text
    if name != "merged.docx":  # a merged cell stands in each of its rows
        assert all(text.count(piece) == 1 for piece in order)
    assert shelf.first(order[1]) == name


@pytest.mark.parametrize("name", MARKDOWN)
def test_a08_what_stands_in_code_is_no_heading(shelf: Shelf, name: str) -> None:
    _, headings, (word, heading) = MARKDOWN[name]
    found = {hit.chunk.heading for hit in shelf.chunks(name)}

    assert {path for path in found if path} <= set(headings)
    (hit,) = [hit for hit in shelf.hits(word) if hit.chunk.document.path.endswith(f"/{name}")]
    assert hit.chunk.heading == heading


def test_a09_a_cell_of_any_length_loses_nothing(shelve: Shelve) -> None:
    shelf = shelve({name: text.encode() for name, text in CELLS.items()})

    limit = shelf.attest.encoders.of("default").max_tokens
    for name, words in _CELL_WORDS.items():
        assert shelf.outcomes[name].status == "added"
        for word in words:
            assert shelf.first(word) == name
        ids = shelf.attest.catalog.chunk_ids(shelf.outcomes[name].id or 0)
        assert len(ids) > 40
        assert all(part.tokens <= limit for part in shelf.attest.opened("default").chunks(ids))


@pytest.mark.parametrize("name", HTML)
def test_a10_only_what_a_page_shows_is_read(shelf: Shelf, name: str) -> None:
    text = shelf.text(name)

    assert all(piece in text for piece in HTML[name][1])
    assert "gx" not in text.casefold()


def test_a10_the_title_is_that_of_the_page(shelf: Shelf) -> None:
    assert shelf.attest.find("page.html").title == "꽃집 여는 때"


def test_a37_workbooks_give_results_and_every_sheet(shelf: Shelf) -> None:
    assert "합쳐서 | 58" in shelf.text("cached.xlsx")
    assert "None" not in shelf.text("uncached.xlsx")
    assert "no stored result" in shelf.outcomes["uncached.xlsx"].warnings[0]
    assert not any("=" in shelf.text(name) or "SUM" in shelf.text(name) for name in BOOKS)
    for name, words in {"cached.xlsx": "뒷장 글이다", "error.xlsm": "숨은 장 나눗셈줄"}.items():
        assert all(word in shelf.text(name) for word in words.split())
        assert name in {hit.chunk.document.path.rpartition("/")[2] for hit in shelf.hits(words)}


def test_a05_a_locked_file_says_so_and_holds_up_nothing(client: TestClient) -> None:
    alone = upload(client, ("locked.pdf", locked_pdf()))
    assert alone.status_code == 422
    (row,) = alone.json()["documents"]
    assert (row["status"], row["chunks"]) == ("failed", 0)
    assert "password" in row["reason"]
    assert "암호" in row["reason"]

    both = upload(
        client, ("locked2.pdf", locked_pdf() + b"\n"), ("note.txt", b"The gate is green.")
    )
    assert both.status_code == 200
    assert both.json()["summary"] == {"failed": 1, "added": 1}
    listed = {row["title"]: row for row in client.get("/api/documents").json()["documents"]}
    assert (listed["locked"]["status"], listed["locked"]["chunks"]) == ("failed", 0)
    found = client.post("/api/search", json={"query": "gate"}).json()["hits"]
    assert [hit["document"]["title"] for hit in found] == ["note"]


@pytest.mark.parametrize("suffix", ["docx", "xlsx", "pptx"])
def test_a05_a_locked_office_file_says_so_too(client: TestClient, suffix: str) -> None:
    content = compound({"EncryptionInfo": b"x", "EncryptedPackage": b"y" * 5000})
    answer = upload(client, (f"locked.{suffix}", content))

    assert answer.status_code == 422
    assert "password" in answer.json()["documents"][0]["reason"]


def test_a05_a_password_for_the_owner_alone_locks_nobody_out(shelf: Shelf) -> None:
    assert "도장은 서랍에 있다." in shelf.text("restricted.pdf")
