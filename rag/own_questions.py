"""Which documents and passages of a library answer a user's own questions."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from index import StoredDocument
from index.titles import nfc
from rag.errors import UsageError
from rag.judged import OwnQuestion, named
from rag.trial import Trial

Judged = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Homes:
    """Where the answers of questions stand."""

    judged: Judged  # question id to document paths, each of grade 1
    notes: tuple[str, ...]


def homes(
    questions: Sequence[OwnQuestion], documents: Iterable[StoredDocument], library: str
) -> Homes:
    """The documents that the questions name; of a duplicate the one whose text is searched.

    A name that the library lacks stays, and counts as not found.

    Raises:
        UsageError: every question names a document that is not there.
    """
    rows = list(documents)
    originals = {row.sha256: row.path for row in rows if row.status == "indexed"}
    paths: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if (path := originals.get(row.sha256)) is not None:
            paths[_file_name(row.path)].add(path)
    judged: Judged = {}
    lost: set[str] = set()
    for question in questions:
        if question.document is not None:
            found = paths.get(_file_name(question.document))
            lost |= set() if found else {question.document}
            judged[question.id] = dict.fromkeys(sorted(found or {question.document}), 1)
    if not originals or (lost and len(judged) == len(questions) and not _any_found(judged, rows)):
        raise UsageError(
            f"none of {len(questions)} questions names one of the {len(originals)} documents of "
            f"the library {library!r} ({named(lost) or 'it is empty'}): add them with `attest add`"
        )
    note = f"{len(lost)} documents are not in the library ({named(lost)}): they count as not found"
    return Homes(judged, (note,) if lost else ())


def passages(trial: Trial, questions: Sequence[OwnQuestion], documents: Judged) -> Judged:
    """The chunks that hold one of a question's answers, in its document where it names one.

    Only questions with such a chunk.
    """
    asked = [question for question in questions if question.answers]
    golds = {question.id: [_folded(answer) for answer in question.answers] for question in asked}
    judged: Judged = defaultdict(dict)
    for row in trial.collection.documents():
        here = [one for one in asked if row.path in documents.get(one.id, {row.path: 1})]
        for chunk in trial.catalog.chunks_of(row.id) if here else ():
            text = _folded(chunk.text)
            for question in here:
                if any(gold in text for gold in golds[question.id]):
                    judged[question.id][str(chunk.id)] = 1
    return {question.id: judged[question.id] for question in asked if question.id in judged}


def _any_found(judged: Mapping[str, Mapping[str, int]], rows: Sequence[StoredDocument]) -> bool:
    there = {row.path for row in rows}
    return any(path in there for grades in judged.values() for path in grades)


def _file_name(path: str) -> str:
    return nfc(path).replace("\\", "/").rsplit("/", 1)[-1]


def _folded(text: str) -> str:
    """Without differences of case and white space: a line break of the document is a space."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
