"""Corpora as libraries that were asked: half of the questions as a log, the rest to judge."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from index import Collection, Model, NewDocument
from rag.assistant import Assistant
from rag.judged import JudgedCorpus, JudgedDocument, read_corpus
from rag.practice import Found, Question, Shelf
from rag.reading import Reading, cut
from rag.records import ExtractedText
from rag.settings import Settings
from rag.vector_cache import embedded

NAME = "default"  # of the collection


@dataclass(frozen=True, slots=True)
class Replay:
    """A library, what people asked it, and what it is judged by."""

    assistant: Assistant
    log: tuple[str, ...]
    judged: tuple[Question, ...]

    def ask(self, log: Sequence[str]) -> None:
        """Let these be all that was ever asked, and nothing be learned yet."""
        self.assistant.catalog.forget(NAME)
        self.assistant.catalog.use_adapter(NAME, None)
        for text in log:
            self.assistant.catalog.remember(NAME, text)

    def shelf(self) -> Shelf:
        weight = self.assistant.catalog.collection(NAME).fusion_weight
        return Shelf(self.assistant.opened(NAME), self.assistant.encoders.of(NAME), weight)

    def values(self, shelf: Shelf, found: Sequence[Found]) -> NDArray[np.float64]:
        """nDCG@10 of the judged questions, dense and fused, 0 to 100: (2, n)."""
        return 100 * np.stack([shelf.ndcg(self.judged, found, side) for side in ("dense", "fused")])


@contextmanager
def replay(folder: Path, settings: Settings, *, cache: Path | None, seed: int) -> Iterator[Replay]:
    """A corpus in a library of its own.

    Where the folder has queries_train.jsonl beside its judged questions, that is the log; else the
    half of the questions that the seed draws. Judged ones that are too long to be asked are left
    out.
    """
    corpus = read_corpus(folder)
    with TemporaryDirectory(prefix="attest-") as home:
        given = settings.model_copy(update={"home": Path(home), "collection": NAME})
        with Assistant.open(given) as assistant:
            ids = _filled(assistant, corpus.documents, cache)
            log, judged = _split(folder, corpus, seed)
            asking = assistant.encoders.of(NAME)
            short = [key for key in judged if asking.takes(corpus.queries[key])]
            questions = []
            for key in short:
                grades = {ids[d]: g for d, g in corpus.judged[key].items() if d in ids}
                questions.append(Question(corpus.queries[key], "given", grades))
            yield Replay(assistant, log, tuple(questions))


def _split(folder: Path, corpus: JudgedCorpus, seed: int) -> tuple[tuple[str, ...], list[str]]:
    keys = list(corpus.queries)
    train = folder / "queries_train.jsonl"
    if train.is_file():
        lines = train.read_text(encoding="utf-8").splitlines()
        log = [json.loads(line)["text"] for line in lines]
        Random(seed).shuffle(log)
        return tuple(log), keys
    Random(seed).shuffle(keys)
    half = len(keys) // 2
    return tuple(corpus.queries[key] for key in keys[:half]), keys[half:]


def _filled(
    assistant: Assistant, documents: Sequence[JudgedDocument], cache: Path | None
) -> dict[str, int]:
    """The documents in the library: the ids that they have there, by their own."""
    embedder = assistant.encoders.of(NAME)
    model = Model(assistant.settings.encoder, embedder.fingerprint, embedder.dimensions)
    collection = Collection.open(assistant.catalog, NAME, model)
    read = [(document, _read(document, assistant)) for document in documents]
    read = [(document, reading) for document, reading in read if reading.encoded]
    texts = [text for _, reading in read for text in reading.encoded]
    vectors = embedded(texts, embedder, cache)
    stops = accumulate((len(reading.encoded) for _, reading in read), initial=0)
    return {
        document.id: collection.add(_new(document, reading), vectors[start:stop]).id
        for (document, reading), (start, stop) in zip(read, pairwise(stops), strict=True)
    }


def _read(document: JudgedDocument, assistant: Assistant) -> Reading:
    text = ExtractedText(document.text, document.title, "text/plain")
    return cut(text, document.id, assistant.encoders.of(NAME))


def _new(document: JudgedDocument, reading: Reading) -> NewDocument:
    # By its id too: two documents of one text are two, as the judgements count them.
    content = f"{document.id}\n{document.text}".encode()
    return NewDocument(
        document.id,
        reading.title,
        "text/plain",
        sha256(content).hexdigest(),
        len(content),
        document.text,
        reading.chunks,
    )
