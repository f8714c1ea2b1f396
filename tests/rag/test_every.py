import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag import Assistant
from rag.errors import TooLong, UsageError
from rag.every import Cell, Quote, Table
from rag.every_export import as_csv, as_text, as_xlsx, write
from rag.every_finding import Found, Sentence
from rag.every_html import page
from rag.every_judging import Asking, Counterparts, judge
from rag.loaders.xlsx import read_xlsx
from rag.records import Within
from tests.rag.conftest import Ran
from tests.ui.records import document

QUESTIONS = ("How long does the warranty last?", "When does the workshop open?")


def test_every_cell_is_there_once_and_quotes_its_own_document(library: Assistant) -> None:
    made = library.every(QUESTIONS)
    list(made.fill())

    table = made.table
    assert table.finished
    assert len(table.cells) == len({(c.question, c.document) for c in table.cells}) == 6
    offered = [s for c in table.cells for s in made.found(c.question, c.document).offered]
    assert offered
    for cell in table.cells:
        text = library.text(cell.document)
        for sentence in made.found(cell.question, cell.document).offered:
            assert text[sentence.start : sentence.end] == sentence.text
        if cell.quote is not None:
            assert text[cell.quote.start : cell.quote.end] == cell.quote.text


def test_a_table_is_stopped_and_gone_on_with(library: Assistant) -> None:
    made = library.every(QUESTIONS)
    first = next(iter(made.fill()))
    begun = made.table
    assert begun.cells == (first,)
    assert not begun.finished

    assert list(made.fill(stop=lambda: True)) == []
    assert made.table == begun
    rest = list(made.fill())
    whole_table = made.table
    assert whole_table.finished
    assert (first.question, first.document) not in [(c.question, c.document) for c in rest][:5]

    whole = library.every(QUESTIONS)
    list(whole.fill())
    assert whole.table == whole_table


def test_only_the_chosen_documents_are_asked(library: Assistant) -> None:
    made = library.every(QUESTIONS, within=Within(documents=("hours.txt",)))
    list(made.fill())
    assert [Path(row.path).name for row in made.documents] == ["hours.txt"]
    assert made.total == made.done == 2


def test_nothing_to_ask_is_an_empty_table(attest: Assistant) -> None:
    made = attest.every(["How long?"])
    assert list(made.fill()) == []
    assert made.table == Table(("How long?",), (), ())
    assert "attest add" in as_text(made.table)


@pytest.mark.parametrize("questions", [[], [" "], ["\u200b"]])
def test_a_blank_question_is_refused(attest: Assistant, questions: list[str]) -> None:
    with pytest.raises(UsageError, match="one question a line"):
        attest.every(questions)


def test_limits_name_their_numbers(library: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="101 questions are more than 100"):
        library.every([f"Question {i}?" for i in range(101)])
    monkeypatch.setattr("rag.every.MOST_CELLS", 5)
    with pytest.raises(UsageError, match="2 questions of 3 documents are 6 cells, 5"):
        library.every(QUESTIONS)
    monkeypatch.undo()
    with pytest.raises(TooLong, match="the encoder takes 256"):
        list(library.every(["w " * 300]).fill())


# What a document holds, in two dimensions: the question lies along the first.
QUESTION = np.array([[1.0, 0.0]], np.float32)
ASKING = Asking(("How long is the notice period?",), QUESTION, unrelated=0.0)


def held(text: str, similarity: float, *, direction: float = 0.0, usual: float = 0.1) -> Found:
    row = np.array([[np.cos(direction), np.sin(direction)]], np.float16)
    sentence = Sentence(text, 1, 0, len(text), None, similarity, similarity)
    return Found((sentence,), row, usual)


def test_what_stands_out_is_stated_and_what_does_not_is_not() -> None:
    assert judge(0, held("Notice is 60 days.", 0.8), ASKING) is not None
    assert judge(0, held("Notices are sent by post.", 0.15), ASKING) is None


def test_a_sentence_of_the_kind_that_is_asked_for_is_taken_first() -> None:
    near = held("Any notice must be in writing.", 0.52).offered[0]
    right = held("Notice is 60 days.", 0.5).offered[0]
    rows = np.array([[1.0, 0.0], [1.0, 0.0]], np.float16)
    judged = judge(0, Found((near, right), rows, 0.1), ASKING)
    assert judged is not None
    assert judged.sentence == right


def test_a_sentence_that_belongs_to_another_question_is_left_to_it() -> None:
    two = Asking(
        ("How long is the notice period?", "How long is the warranty?"),
        np.array([[1.0, 0.0], [0.0, 1.0]], np.float32),
        unrelated=0.0,
    )
    other = held("The warranty lasts 60 days.", 0.6, direction=1.2)
    assert judge(0, other, ASKING) is not None
    assert judge(0, other, two) is None


def test_counterparts_in_other_documents_bear_a_sentence_out() -> None:
    others = [held("Notice is 30 days.", 0.7) for _ in range(8)]
    alike = held("You hear from us 60 days before.", 0.36)
    strange = held("Lunch takes 30 minutes.", 0.36, direction=1.5)
    with_alike, with_strange = Counterparts([*others, alike]), Counterparts([*others, strange])
    assert judge(0, alike, ASKING, with_alike.besides(alike)) is not None
    assert judge(0, strange, ASKING, with_strange.besides(strange)) is None
    assert Counterparts([*others[:3], alike]).besides(alike) is None  # too few to compare with


def test_words_decide_where_the_encoder_does_not_speak_the_language() -> None:
    sentence = held("연차는 15일이다.", 0.0).offered
    assert judge(0, Found(sentence, None, 0.0, by_words=True), ASKING) is not None
    assert judge(0, Found(sentence, None, 0.0), ASKING) is None


HOSTILE = '=HYPERLINK("http://x") <script>alert(1)</script> & a<b && c>d'


def table(text: str = HOSTILE) -> Table:
    rows = (document(1, "@SUM(A1)", "/a/one.txt"), document(2, "Two", "/a/two.txt"))
    quote = Quote(text, 5, 10, 10 + len(text), 3, 0.9)
    return Table(("-1+1?", "b"), rows, (Cell(0, 1, quote), Cell(1, 1, None), Cell(0, 2, None)))


def test_csv_holds_no_formula_and_says_where_each_quotation_stands() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(table()).decode("utf-8-sig"))))
    assert rows[0] == ["document", "path", "'-1+1?", "place", "b", "place"]
    assert rows[1][0] == "'@SUM(A1)"
    assert rows[1][2] == f"'{HOSTILE}"
    assert rows[1][3].startswith("page 3, chunk 5, characters 10–")
    assert rows[1][4] == "not stated"
    assert rows[2][4] == ""  # not looked at
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


def test_xlsx_holds_text_and_is_read_again() -> None:
    content = as_xlsx(table())
    read = read_xlsx(content, "table").text
    assert HOSTILE in read
    assert "not stated" in read
    assert "/a/one.txt" in read
    as_xlsx(table("x" * 40_000))  # over what a cell takes


def test_html_needs_nothing_else_and_escapes_everything() -> None:
    text = page(table())
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; a&lt;b &amp;&amp; c&gt;d" in text
    assert "http://" not in text.replace("http://x", "")
    assert "not stated" in text
    korean = Table(("며칠인가요?",), (document(1),), (Cell(0, 1, None),))
    assert "언급 없음" in page(korean)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.csv, \.xlsx, \.html, not as \.doc"):
        write(table(), tmp_path / "a.doc")


def test_the_command_writes_a_table(run: Callable[..., Ran], shelf: Path, tmp_path: Path) -> None:
    run("add", shelf)
    asked = tmp_path / "questions.txt"
    asked.write_text("How long?\n\nWhen?\n", encoding="utf-8")
    file = tmp_path / "out" / "table.csv"
    ran = run("every", "--questions", asked, "-o", file, "--path", "*.txt", "--json")
    assert ran.code == 0
    said = json.loads(ran.out)
    assert said["questions"] == ["How long?", "When?"]
    assert said["finished"]
    assert len(said["documents"]) == 1
    assert {tuple(cell) for cell in said["cells"]} == {("question", "document", "stated", "quote")}
    assert file.read_text(encoding="utf-8-sig").startswith("document,path,How long?")


def test_the_command_refuses_before_it_works(run: Callable[..., Ran], tmp_path: Path) -> None:
    assert run("every").code == 2
    assert run("every", "What?", "-o", tmp_path / "a.doc").code == 2
    gone = run("every", "--questions", tmp_path / "none.txt")
    assert gone.code == 1
    assert "one question a line" in gone.err
