"""What a library is examined by: a corpus with judgements, or a user's own questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from index import Model
from index.records import StoredText
from rag.comparing import Relevance
from rag.errors import UsageError
from rag.judged import JudgedCorpus, OwnQuestion, is_corpus, read_corpus, read_questions
from rag.own_questions import homes, passages
from rag.records import Hit
from rag.retrieve import retrieve
from rag.trial import Trial, library_of
from rag.vector_cache import Watch, unwatched

if TYPE_CHECKING:
    from encoder import Embedder
    from rag.assistant import Assistant

QUESTIONS = "questions.jsonl"
HITS = 300  # of a search, so that a hundred documents are among them

Judged = Mapping[str, Mapping[str, int]]
Search = Callable[[str], Sequence[Hit]]

_TEXTS_AT_ONCE = 64
_SHOWN = 120  # characters of what should have been found


class CorpusExam:
    """A corpus with judgements, which becomes a library of its own for the time.

    An exam has `queries` to put to the library, what is `expected` of each in words for people,
    and `notes` of what was left out.
    """

    kind: Literal["corpus"] = "corpus"

    def __init__(
        self,
        assistant: "Assistant",
        data: Path,
        corpus: JudgedCorpus,
        making: Callable[..., AbstractContextManager[Trial]],
    ) -> None:
        self.data = data
        self.encoder = assistant.settings.encoder
        self.queries, self.notes = corpus.queries, corpus.notes
        self.expected = _best_of(corpus)
        self._assistant = assistant
        self._corpus = corpus
        self._making = making

    def embedder(self) -> "Embedder":
        """The encoder that is examined."""
        return self._assistant.models.embedder(self.encoder)

    def trial(self, encoder: str, embedder: "Embedder") -> AbstractContextManager[Trial]:
        """The library on an encoder."""
        return self._making(self._corpus.documents, embedder, encoder)

    def judged(self, trial: Trial) -> dict[Relevance, Judged]:
        """What is relevant in it, of the questions that can be judged so."""
        return {"document": self._corpus.judged}

    def adapted(self, trial: Trial) -> Search | None:
        """A search with what the collection of the settings has learned of this encoder, if any."""
        name = self._assistant.settings.collection
        if not self._assistant.exists(name):
            return None
        stored = self._assistant.catalog.collection(name)
        if stored.adapter_id is None or stored.model.fingerprint != trial.embedder.fingerprint:
            return None
        asking = self._assistant.encoders.asking(name)

        def search(query: str) -> Sequence[Hit]:
            fits = asking.takes(query)
            return retrieve(
                query,
                collection=trial.collection,
                embedder=asking if fits and trial.speaks(query) else None,
                k=HITS,
                weight=stored.fusion_weight,
            ).hits

        return search


class LibraryExam:
    """A user's own questions, put to the library that is there."""

    kind: Literal["questions"] = "questions"

    def __init__(
        self,
        assistant: "Assistant",
        data: Path,
        making: Callable[..., AbstractContextManager[Trial]],
    ) -> None:
        self.data = data
        self._assistant = assistant
        self._name = assistant.settings.collection
        self._questions, left_out = read_questions(data)
        found = homes(self._questions, assistant.documents(), self._name)
        self._documents = found.judged
        self._making = making
        self.encoder = assistant.encoders.name(self._name)
        self.queries = {one.id: one.question for one in self._questions}
        self.expected = {one.id: _answer_of(one) for one in self._questions}
        self.notes = (*left_out, *found.notes)

    def embedder(self) -> "Embedder":
        return self._assistant.encoders.of(self._name)

    def trial(self, encoder: str, embedder: "Embedder") -> AbstractContextManager[Trial]:
        catalog = self._assistant.catalog
        stored = catalog.collection(self._name)
        if embedder.fingerprint != stored.model.fingerprint:
            return self._making(_texts(self._assistant, self._name), embedder, encoder)
        opened = self._assistant.opened(self._name)
        return nullcontext(Trial(encoder, embedder, catalog, opened, stored.fusion_weight))

    def judged(self, trial: Trial) -> dict[Relevance, Judged]:
        by: dict[Relevance, Judged] = {
            "document": self._documents,
            "passage": passages(trial, self._questions, self._documents),
        }
        return {relevance: judged for relevance, judged in by.items() if judged}

    def adapted(self, trial: Trial) -> Search | None:
        """The product's own search, where the library has learned something."""
        stored = self._assistant.catalog.collection(self._name)
        if stored.adapter_id is None and not stored.rerank_weight:
            return None

        def search(query: str) -> Sequence[Hit]:
            fits = trial.embedder.takes(query)
            mode: Literal["hybrid", "lexical"] = "hybrid" if fits else "lexical"
            found = self._assistant.search(
                query, k=HITS, mode=mode, collection=self._name, remember=False
            )
            return found.hits

        return search


Exam = CorpusExam | LibraryExam


def exam(
    assistant: "Assistant", path: Path, *, cache: Path | None = None, watch: Watch = unwatched
) -> Exam:
    """Read what lies at a path.

    Args:
        assistant: whose collection or settings say which encoder is examined
        path: a folder in BEIR's layout, a questions.jsonl, or a folder that holds one
        cache: a folder that keeps vectors between runs
        watch: called as texts are encoded

    Raises:
        UsageError: it is neither, is damaged, or judges nothing.
    """
    making = partial(library_of, cache=cache, watch=watch)
    if is_corpus(path):
        return CorpusExam(assistant, path, read_corpus(path), making)
    file = path / QUESTIONS if path.is_dir() else path
    if not file.is_file():
        lacks = f"holds neither corpus.jsonl nor {QUESTIONS}" if path.is_dir() else "is not there"
        raise UsageError(f"{path} {lacks}: name a folder in BEIR's layout, or a {QUESTIONS}")
    return LibraryExam(assistant, file, making)


def _texts(assistant: "Assistant", name: str) -> Iterator[StoredText]:
    """Every document of a collection as it is stored."""
    # Those without chunks of a model that there is not: all of them.
    move = assistant.catalog.move(name, Model("none", "none", 1))
    after = 0
    while texts := move.texts(after, _TEXTS_AT_ONCE):
        yield from texts
        after = texts[-1].id


def _best_of(corpus: JudgedCorpus) -> dict[str, str]:
    documents = {document.id: document for document in corpus.documents}
    expected = {}
    for query, grades in corpus.judged.items():
        best = max(grades, key=lambda name: (name in documents, grades[name]))
        document = documents.get(best)
        said = " ".join((document.title or document.text).split()) if document else "not there"
        expected[query] = f"{best}: {said[:_SHOWN]}"
    return expected


def _answer_of(question: OwnQuestion) -> str:
    return " — ".join(filter(None, (question.document, " | ".join(question.answers)[:_SHOWN])))
