"""A table of every document as one page that needs no other file, in English or Korean."""

from importlib import resources

import jinja2

from index.analysis import is_korean
from rag.every import Table

_WORDS = {
    "en": {
        "title": "Every document asked",
        "document": "Document",
        "none": "not stated",
        "unread": "not looked at",
        "page": "page",
        "summary": "{stated} of {cells} cells stated, in {documents} documents. Quotations are "
        "verbatim; their place is given in characters of the document's text.",
    },
    "ko": {
        "title": "모든 문서에 묻기",
        "document": "문서",
        "none": "언급 없음",
        "unread": "아직 찾지 않음",
        "page": "쪽",
        "summary": "문서 {documents}개, 칸 {cells}개 가운데 {stated}개에 답이 있습니다. 인용은 "
        "원문 그대로이며, 위치는 문서 텍스트의 글자 수로 적었습니다.",
    },
}


def page(table: Table) -> str:
    """Self-contained HTML, in the language of the first question; all text is escaped."""
    language = "ko" if any(map(is_korean, table.questions[:1])) else "en"
    words = _WORDS[language]
    known = {(cell.question, cell.document): cell for cell in table.cells}
    rows = [
        (row, [known.get((place, row.id)) for place in range(len(table.questions))])
        for row in table.documents
    ]
    summary = words["summary"].format(
        stated=sum(cell.quote is not None for cell in table.cells),
        cells=len(table.cells),
        documents=len(table.documents),
    )
    source = resources.files("rag").joinpath("templates/every.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(source).render(
        language=language, words=words, table=table, rows=rows, summary=summary
    )
