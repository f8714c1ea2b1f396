"""What the Every document and the Similar tab show, without a browser."""

from index.records import StoredChunk, WordFrequencies
from rag.differences import Difference
from rag.duplicates import Copy, Duplicates, Group
from rag.every import Cell, Quote, Table
from rag.records import Hit
from rag.similar import Aligned, Passage, Similar
from tests.ui.records import HOSTILE, document, hit
from tests.ui.test_render import shown
from ui import every_table, pairs, similar
from ui.locale import texts

EN, KO = texts("en"), texts("ko")


class Filling:
    """What the tab reads of a table that is being filled."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.questions, self.documents = table.questions, table.documents
        self.total = len(table.questions) * len(table.documents)
        self.done = len(table.cells)


def filling(*cells: Cell) -> Filling:
    return Filling(Table((HOSTILE, "b?"), (document(1), document(2, HOSTILE)), cells))


def test_cells_are_quoted_empty_or_on_their_way() -> None:
    quote = Quote(HOSTILE, 5, 10, 10 + len(HOSTILE), 3, 0.9)
    made = filling(Cell(0, 1, quote), Cell(1, 1, None))
    markup = every_table.table(made, EN, working=True)  # type: ignore[arg-type]
    assert "<script" not in markup
    text = shown(markup)
    assert "2 of 4 cells looked at" in text
    assert "page 3" in text
    assert text.count("not stated") >= 1
    assert text.count("looking…") == 2
    assert 'data-send="0:1"' in markup
    assert "not looked at yet" in shown(every_table.table(made, EN))  # type: ignore[arg-type]
    korean = every_table.table(made, KO)  # type: ignore[arg-type]
    assert "언급 없음" in korean


def test_a_whole_table_says_how_much_is_stated() -> None:
    quote = Quote("q", 5, 0, 1, None, 0.9)
    cells = [Cell(0, 1, quote), Cell(1, 1, None), Cell(0, 2, None), Cell(1, 2, None)]
    text = shown(every_table.table(filling(*cells), EN))  # type: ignore[arg-type]
    assert "1 of 4 cells stated" in text


def test_many_documents_are_cut_and_that_is_said() -> None:
    rows = tuple(document(key) for key in range(1, 260))
    made = Filling(Table(("a?",), rows, ()))
    assert "59 more are not shown" in every_table.table(made, EN)  # type: ignore[arg-type]


def likes(*hits: Hit) -> Similar:
    mine = Passage(HOSTILE, 0, 5, 2, ())
    aligned = tuple((Aligned(mine, each.chunk, 0.81),) for each in hits)
    return Similar("x", hits, WordFrequencies(0, {}), aligned=aligned)


def test_matching_passages_stand_side_by_side() -> None:
    one = hit("The other text.", score=0.42)
    assert isinstance(one.chunk, StoredChunk)
    markup = pairs.similar(HOSTILE, likes(one), EN)
    assert "<script" not in markup
    text = shown(markup)
    assert "Likeness0.42" in text
    assert "Here · page 2 · 0.81" in text
    assert "The other text." in text


def test_nothing_like_it_is_said() -> None:
    assert "no other document" in pairs.similar("A", likes(), EN)


def test_duplicates_show_what_differs() -> None:
    told = (Difference(HOSTILE, "", 0, 0), Difference("900 euros", "950 euros", 5, 5))
    group = Group(
        document(1, "First"),
        (Copy(document(2), 1.0, True, (), 0), Copy(document(3), 0.9999, False, told, 4)),
    )
    markup = pairs.duplicates(Duplicates(3, 0.7, (group,)), EN)
    assert "<script" not in markup
    assert "<del>900 euros</del>" in markup
    assert "<ins>950 euros</ins>" in markup
    text = shown(markup)
    assert "2 copies in 1 group" in text
    assert "same file" in text
    assert "99.9% the same" in text
    assert "4 more differences" in text


def test_empty_states() -> None:
    assert "a-notice" in similar.page(None, EN)
    assert "3" in pairs.duplicates(Duplicates(3, 0.7, ()), KO)
