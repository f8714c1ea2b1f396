"""Ask every document: questions by documents, each cell a quotation with its place or nothing.

A document is read once for all questions. Its cells are there as soon as it is read, judged by
what it says itself; when all are read, each question's cells are judged once more beside each
other, and those that come out differently are given again. So a table can be watched, stopped,
and gone on with.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from index import StoredDocument
from rag.errors import TooLong, UsageError
from rag.every_finding import Finder, Found
from rag.every_judging import Asking, Counterparts, Judged, Others, judge
from rag.every_kept import KeptCells
from rag.loaders.cleaning import clean, is_blank
from rag.records import EVERYWHERE, Within

if TYPE_CHECKING:
    from encoder import Embedder
    from rag.shelves import Shelves

MOST_QUESTIONS = 100
MOST_CELLS = 50_000  # 4 kB each while a table is filled

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Quote:
    """What a document states: `text` stands verbatim at `start:end` of its text."""

    text: str
    chunk_id: int
    start: int
    end: int
    page: int | None
    score: float  # 0..1, how surely it answers; from .5 on it is given


@dataclass(frozen=True, slots=True)
class Cell:
    """One question's answer in one document."""

    question: int  # its place among the questions, from 0
    document: int  # id
    quote: Quote | None  # None: not stated


@dataclass(frozen=True, slots=True)
class Table:
    """What is known so far; a cell that is not there has not been looked at."""

    questions: tuple[str, ...]
    documents: tuple[StoredDocument, ...]
    cells: tuple[Cell, ...]  # by document, then question

    @property
    def finished(self) -> bool:
        return len(self.cells) == len(self.questions) * len(self.documents)

    def cell(self, question: int, document: int) -> Cell | None:
        """A question's place and a document's id; None: not looked at yet."""
        wanted = (question, document)
        return next((c for c in self.cells if (c.question, c.document) == wanted), None)


class Every:
    """A table that fills up.

    Args:
        attest: whose documents are asked
        questions: none blank; a repeated one is asked once
        within: which documents to ask; duplicates are left out
        collection: None is that of the settings

    Raises:
        UsageError: no question, a blank one, or more than a table takes.
        UnknownDocument, BadFilter: as where a search is narrowed down.
    """

    def __init__(
        self,
        attest: "Shelves",
        questions: Sequence[str],
        within: Within = EVERYWHERE,
        collection: str | None = None,
    ) -> None:
        self._attest = attest
        self._name = collection or attest.settings.collection
        self.questions = _asked(questions)
        self.documents = tuple(attest.within(within, collection))
        if self.total > MOST_CELLS:
            raise UsageError(
                f"{len(self.questions)} questions of {len(self.documents)} documents are "
                f"{self.total:,} cells, {MOST_CELLS:,} are filled at most: choose documents"
            )
        self._found: dict[tuple[int, int], Found] = {}
        self._cells: dict[tuple[int, int], Cell] = {}
        self._asking: Asking | None = None

    @property
    def total(self) -> int:
        """Cells of the whole table."""
        return len(self.questions) * len(self.documents)

    @property
    def done(self) -> int:
        """Cells that have been looked at."""
        return len(self._cells)

    @property
    def table(self) -> Table:
        """What is known so far."""
        order = {document.id: place for place, document in enumerate(self.documents)}
        cells = sorted(self._cells.values(), key=lambda c: (order[c.document], c.question))
        return Table(self.questions, self.documents, tuple(cells))

    def asks_as(self, other: "Every") -> bool:
        """Whether another table has the same questions and the same versions of documents."""
        return (self._name, self.questions, self.documents) == (
            other._name,
            other.questions,
            other.documents,
        )

    def fill(self, stop: Stop = lambda: False) -> Iterator[Cell]:
        """Cells as they are found, then those that a comparison of all documents has changed.

        Called again after a stop, it goes on where it was; so does the same table after a restart,
        with what was found before (`rag.every_kept`).

        Args:
            stop: asked before each cell

        Raises:
            TooLong: a question is longer than the encoder takes.
            ModelMissing: the encoder that made the vectors is not here any more.
        """
        if self.done < self.total:
            yield from self._look(self._finder(), stop)
            if self.done < self.total:
                return
        for place in range(len(self.questions)):
            found_here = [self._found[place, document.id] for document in self.documents]
            counterparts = Counterparts(found_here)
            for row, found in zip(self.documents, found_here, strict=True):
                before = self._cells[place, row.id]
                others = counterparts.besides(found)
                if (cell := self._judged(place, row.id, others)) != before:
                    yield cell

    def _look(self, finder: Finder, stop: Stop) -> Iterator[Cell]:
        kept = KeptCells(
            self._attest.settings.home, self._made_by(), self.questions, self.documents
        )
        for (place, document), found in kept.read(self._attest.catalog.text):
            if (place, document) not in self._found:
                self._found[place, document] = found
                yield self._judged(place, document, None)
        with kept.noting() as note:
            for place, document in self._places():
                if (place, document) in self._found:
                    continue
                if stop():
                    return
                by_meaning = self._speaks(self.questions[place])
                found = finder.look(self.questions[place], document, by_meaning=by_meaning)
                self._found[place, document] = found
                note((place, document), found)
                yield self._judged(place, document, None)

    def _made_by(self) -> list[object]:
        """What a cell depends on, but for question, document, and what other documents say."""
        stored = self._attest.catalog.collection(self._name)
        model = stored.model.fingerprint
        return [stored.uid, model, stored.adapter_id, stored.fusion_weight]

    @property
    def asking(self) -> Asking:
        """What sentences are compared with; there once it has been filled."""
        assert self._asking is not None, "nothing was filled yet"
        return self._asking

    def found(self, question: int, document: int) -> Found:
        """What a cell was chosen from; a question's place and a document's id."""
        return self._found[question, document]

    def alone(self, question: int, document: int) -> Quote | None:
        """A cell as the document by itself has it."""
        judged = judge(question, self.found(question, document), self.asking)
        return None if judged is None else _quote(judged)

    def _places(self) -> Iterator[tuple[int, int]]:
        """Document by document: a row is full before the next begins."""
        for document in self.documents:
            for place in range(len(self.questions)):
                yield place, document.id

    def _finder(self) -> Finder:
        spoken = any(map(self._speaks, self.questions))
        embedder = self._attest.encoders.asking(self._name) if spoken else None
        if embedder is not None:
            _check(self.questions, embedder)
        weight = self._attest.catalog.collection(self._name).fusion_weight
        finder = Finder(self._attest.opened(self._name), embedder, weight)
        self._asking = Asking(self.questions, finder.ask(self.questions), finder.unrelated)
        return finder

    def _speaks(self, question: str) -> bool:
        return self._attest.encoders.speaks(self._name, question)

    def _judged(self, place: int, document: int, others: Others | None) -> Cell:
        judged = judge(place, self.found(place, document), self.asking, others)
        cell = Cell(place, document, None if judged is None else _quote(judged))
        self._cells[place, document] = cell
        return cell


def _asked(questions: Sequence[str]) -> tuple[str, ...]:
    asked = tuple(dict.fromkeys(" ".join(clean(question)[0].split()) for question in questions))
    if not asked or any(map(is_blank, asked)):
        raise UsageError("a question is empty: write one question a line")
    if len(asked) > MOST_QUESTIONS:
        raise UsageError(
            f"{len(asked)} questions are more than {MOST_QUESTIONS}: ask them in several tables"
        )
    return asked


def _check(questions: Sequence[str], embedder: "Embedder") -> None:
    for question in questions:
        tokens = embedder.count_query(question)
        if tokens > embedder.max_tokens:
            raise TooLong(
                f"the question {question[:60]!r}… has {tokens} tokens, the encoder takes "
                f"{embedder.max_tokens}: shorten it"
            )


def _quote(judged: Judged) -> Quote:
    of = judged.sentence
    return Quote(of.text, of.chunk_id, of.start, of.end, of.page, judged.score)
