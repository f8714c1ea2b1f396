"""Gathering what a library practises on, and keeping apart what it is judged by."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from random import Random
from typing import TYPE_CHECKING, Literal

from index import StoredDocument
from index.analysis import is_korean
from index.records import StoredChunk
from rag.judged import read_corpus
from rag.loaded import speaks
from rag.practice import Question, Shelf, document_judges, from_log, from_text, judges
from rag.pseudo import PseudoQuestion, pseudo_questions, words_of, written_questions

if TYPE_CHECKING:
    from pathlib import Path

    from encoder import Embedder
    from generator import Writer
    from rag.library import Library

Source = Literal["log", "pseudo", "both"]
Fits = Callable[[str], bool]

MOST = 2000  # questions that are learned from: an hour's worth at most, and memory for their lists
_FILLED = 400  # real questions, from which on made ones are left out: they are less like real ones
_MADE = 800  # pseudo-questions that stand in for a log
_PROBES = 300  # pseudo-questions that judge
_PROBES_EACH = 5  # of one document: more of the same are no more evidence
_WRITTEN = 150  # of those that the generator writes
_BACK = 20  # a made question that does not bring its document back among so many asks for nothing
_JUDGING = "sentence"  # the manner of question that judges; the others are learned from


@dataclass(frozen=True, slots=True)
class Gathered:
    """Questions, each in one part only."""

    learned: tuple[Question, ...]
    judged: tuple[Question, ...]  # of people, with documents that are right
    open: tuple[Question, ...]  # of people, where nobody knows
    probes: tuple[Question, ...]  # of documents that nothing was learned from


def gather(
    library: "Library",
    name: str,
    shelf: Shelf,
    *,
    source: Source,
    queries: "Path | None",
    writer: "Writer | None",
    stop: Callable[[], bool],
    rng: Random,
) -> Gathered:
    """All that a collection can practise on.

    Args:
        library: whose log it is
        name: of the collection
        shelf: its passages
        source: the log, the library's own text, or both: the text where the log is short
        queries: a folder in BEIR's layout about the documents of the library
        writer: of questions; None where it does not speak their language
        stop: asked while the writer writes
        rng: chooses passages

    Raises:
        UsageError: the folder cannot be read.
    """
    fits = partial(_fits, shelf.embedder, library.encoders.name(name))
    people = [] if queries is None else given(shelf, queries, library.catalog.documents(name))
    if source != "pseudo":
        known = {each.text.casefold() for each in people}
        log = from_log(library.catalog.asked(name), shelf)
        people += [each for each in log if each.text.casefold() not in known]
    people = [each for each in people if fits(each.text) and _shares_a_word(shelf, each.text)]
    learned = [each for each in people if not judges(each.text)]
    kept = [each for each in people if judges(each.text)]
    lacking = _MADE - len(learned) if source != "log" and len(learned) < _FILLED else 0
    if lacking > 0:
        learned += _made(shelf, lacking, writer, fits, stop, rng)
    rng.shuffle(learned)
    return Gathered(
        tuple(learned[:MOST]),
        tuple(each for each in kept if any(grade > 0 for grade in each.grades.values())),
        tuple(each for each in kept if not each.grades),
        tuple(_probes(shelf, fits, rng)),
    )


def counts(questions: Sequence[Question]) -> dict[str, int]:
    """How many there are of each origin."""
    return dict(Counter(each.origin for each in questions))


def given(shelf: Shelf, folder: "Path", documents: Sequence[StoredDocument]) -> list[Question]:
    """Judged questions; a document is known by its path, its file's name, or that without ending.

    Raises:
        UsageError: the folder cannot be read.
    """
    here = set(shelf.document_of.values())
    known = _names(documents, here)
    corpus = read_corpus(folder)
    questions = []
    for key, text in corpus.queries.items():
        grades = {
            known[document]: grade
            for document, grade in corpus.judged[key].items()
            if known.get(document) in here
        }
        if any(grade > 0 for grade in grades.values()):
            questions.append(Question(text, "given", grades))
    return questions


def _names(documents: Sequence[StoredDocument], here: set[int]) -> dict[str, int]:
    """Documents by what they may be called; a duplicate is the one whose text is searched."""
    originals = {row.sha256: row.id for row in documents if row.id in here}
    found = [
        (PurePath(row.path), row.path, originals[row.sha256])
        for row in documents
        if row.sha256 in originals
    ]
    known: dict[str, int] = {}
    for path, _, key in found:
        known.setdefault(path.stem, key)
    for path, _, key in reversed(found):  # of two files of one name the first
        known[path.name] = key
    return known | {whole: key for _, whole, key in found}


def _fits(embedder: "Embedder", encoder: str, text: str) -> bool:
    """Whether a search would have the encoder read it."""
    spoken = speaks(encoder, "ko" if is_korean(text) else "en")
    return spoken and embedder.takes(text)


def _shares_a_word(shelf: Shelf, text: str) -> bool:
    """Whether any word of it stands in the library: else words teach nothing about it."""
    return len(shelf.collection.lexical(text, 1).ids) > 0


def _made(
    shelf: Shelf,
    most: int,
    writer: "Writer | None",
    fits: Fits,
    stop: Callable[[], bool],
    rng: Random,
) -> list[Question]:
    chunks = _chunks(shelf, most, rng, judging=False)
    made = [each for each in _of(shelf, chunks, rng) if each.kind != _JUDGING]
    if writer is not None:
        made += written_questions(chunks[:_WRITTEN], writer, stop=stop)
    made = [each for each in made if fits(each.text)]
    rng.shuffle(made)
    return _bring_back(shelf, from_text(made[: 2 * most]))[:most]


def _probes(shelf: Shelf, fits: Fits, rng: Random) -> list[Question]:
    """None is left out for what it finds: what the base finds would be among those that stay."""
    made = _of(shelf, _chunks(shelf, 4 * _PROBES, rng, judging=True), rng)
    taken = Counter[int]()
    probes = []
    for each in made:
        if each.kind == _JUDGING and taken[each.document_id] < _PROBES_EACH and fits(each.text):
            taken[each.document_id] += 1
            probes.append(each)
    return from_text(probes[:_PROBES])


def _of(shelf: Shelf, chunks: Sequence[StoredChunk], rng: Random) -> list[PseudoQuestion]:
    frequencies = shelf.collection.frequencies(words_of(chunks))
    return pseudo_questions(chunks, frequencies, rng=rng)


def _chunks(shelf: Shelf, most: int, rng: Random, *, judging: bool) -> list[StoredChunk]:
    ids = [
        key for key, document in shelf.document_of.items() if document_judges(document) == judging
    ]
    return shelf.collection.chunks(rng.sample(ids, min(most, len(ids))))


def _bring_back(shelf: Shelf, questions: Sequence[Question]) -> list[Question]:
    """Those whose document either side brings back (Alberti et al. 2019, round trips)."""
    found = shelf.find([each.text for each in questions], shelf.embedder)
    return [
        question
        for question, each in zip(questions, found, strict=True)
        if any(
            shelf.document_of.get(key) in question.grades
            for side in (each.dense, each.lexical)
            for key in side.ids[:_BACK].tolist()
        )
    ]
