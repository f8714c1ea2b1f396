"""Asks a classifier of the user's own for texts, and for the documents of a library."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from index.errors import UnknownDocument
from index.records import StoredDocument
from rag.errors import AttestError, Unreadable, UsageError
from rag.labelled import TABLES, read_rows
from rag.library import Library, Stop, never, tag_name
from rag.models import locate
from rag.settings import Settings

if TYPE_CHECKING:
    from encoder.classify import Classifier, Labelled

_AT_ONCE = 64  # documents of a library that are classified together


@dataclass(frozen=True, slots=True)
class ClassifiedText:
    """What a classifier says of one text."""

    path: str | None  # of the file that it was read from
    line: int | None  # of a table
    text: str
    label: str | None  # None from a regression
    score: float  # probability of the label; from a regression the number itself
    scores: Mapping[str, float]
    cut: bool  # longer than the classifier reads: its beginning was


@dataclass(frozen=True, slots=True)
class ClassifiedDocument:
    """What a classifier says of a document of the library, and the tag that it got for it."""

    id: int
    path: str
    title: str
    label: str
    score: float
    cut: bool
    tag: str | None  # None: the score was too low


def open_classifier(path: Path, settings: Settings) -> "Classifier":
    """A trained classifier, on the encoder that it was trained on.

    Raises:
        Unreadable: nothing is there, it is damaged, or the encoder has changed since.
        ModelMissing, NotFound: its encoder is not on this machine.
    """
    from encoder import headed
    from encoder.classify import Classifier
    from transformer import runtime

    with for_people():
        name = headed.note_of(path).get("base_name")
        whole = headed.is_whole(path)
        if not whole and not (isinstance(name, str) and name):
            raise Unreadable(f"{path} does not name its encoder: no classifier that can be asked")
        runtime.set_threads(settings.threads)
        return Classifier.load(path, None if whole else locate(str(name), settings.models_dir))


def classify(
    classifier: "Classifier",
    given: str,
    library: Library,
    *,
    text: str = "text",
    second: str | None = None,
) -> list[ClassifiedText]:
    """What a text, a file, or each row of a table is.

    Args:
        classifier: that is asked
        given: a text, or the path of a file: of a table each row is classified, of any other file
            its whole text
        library: reads files
        text: the column of a table that holds the texts
        second: the column that holds the other text of each pair

    Raises:
        UsageError: an empty text, a missing column, or pairs where single texts were learned.
        Unreadable: the file cannot be read.
    """
    file = _file(given)
    if file is None:
        if not given.strip():
            raise UsageError("the text is empty: write what is to be classified")
        return _told(classifier, [given], [], [(None, None)])
    if file.suffix.lower() not in TABLES:
        return _told(classifier, [_text_of(file, library)], [], [(str(file), None)])
    rows = read_rows(file, needs=[text, *([second] if second else [])])
    places = [(str(file), line) for line in rows.places]
    return _told(classifier, rows.texts(text), rows.texts(second) if second else [], places)


def label_library(
    classifier: "Classifier",
    library: Library,
    prefix: str,
    *,
    least: float = 0.0,
    collection: str | None = None,
    stop: Stop = never,
) -> Iterator[ClassifiedDocument]:
    """Classify every document, and keep its label as the tag `prefix/label`.

    A tag that an earlier run put on under the same prefix goes. Searches can stay within a tag.

    Args:
        classifier: of classes and single texts
        library: whose documents are tagged
        prefix: of the tags
        least: probability that a label needs to become a tag
        collection: None is the one of the settings
        stop: asked now and then; what was tagged until then is kept

    Raises:
        UsageError: the classifier gives numbers or reads pairs, or the prefix is no tag.
    """
    if not classifier.labels:
        raise UsageError("this is a regression: it gives numbers, and tags are names")
    if classifier.pairs:
        raise UsageError("this classifier compares two texts, and a document is one")
    if not 0 <= least <= 1:
        raise UsageError(f"the least score ({least:g}) must lie between 0 and 1")
    tags = {label: tag_name(f"{prefix}/{label}") for label in classifier.labels}
    mark = f"{tag_name(prefix)}/"
    rows = [row for row in library.documents(collection) if row.chunks]
    for start in range(0, len(rows), _AT_ONCE):
        if stop():
            return
        for row, said in _said(classifier, library, rows[start : start + _AT_ONCE]):
            assert said.label is not None
            tag = tags[said.label] if said.score >= least else None
            former = [each for each in row.tags if each.startswith(mark) and each != tag]
            with suppress(UnknownDocument):
                library.catalog.tag(row.id, [tag] if tag else [], former)
                yield ClassifiedDocument(
                    row.id, row.path, row.title, said.label, said.score, said.cut, tag
                )


def _said(
    classifier: "Classifier", library: Library, rows: Sequence[StoredDocument]
) -> "Iterator[tuple[StoredDocument, Labelled]]":
    """What each document is; those that were removed meanwhile are passed over."""
    there: list[StoredDocument] = []
    texts: list[str] = []
    for row in rows:
        with suppress(UnknownDocument):
            texts.append(library.catalog.text(row.id))
            there.append(row)
    yield from zip(there, classifier.classify(texts), strict=True)


def _told(
    classifier: "Classifier",
    texts: Sequence[str],
    seconds: Sequence[str],
    places: Sequence[tuple[str | None, int | None]],
) -> list[ClassifiedText]:
    try:
        found = classifier.classify(texts, seconds)
    except ValueError as error:  # pairs where single texts were learned, or the other way round
        raise UsageError(f"{error}: name the column of the second text, or none") from error
    return [
        ClassifiedText(path, line, text, one.label, one.score, one.scores, one.cut)
        for (path, line), text, one in zip(places, texts, found, strict=True)
    ]


def _file(given: str) -> Path | None:
    path = Path(given).expanduser()
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):  # a text too long or too strange for a path
        return None


def _text_of(file: Path, library: Library) -> str:
    from rag.loaders.errors import LoadError

    try:
        return library.load(file).text
    except LoadError as error:
        raise Unreadable(f"{file}: {error}") from error


@contextmanager
def for_people() -> Iterator[None]:
    """What goes wrong with a model or its data, as the edge shows it."""
    from transformer import errors

    try:
        yield
    except errors.CheckpointError as error:
        raise Unreadable(str(error)) from error
    except errors.ConfigError as error:
        raise UsageError(str(error)) from error
    except errors.ModelError as error:
        raise AttestError(str(error)) from error
