"""What the nodes of a Ray cluster do: files come as bytes, and go as texts, chunks and vectors.

    read -> Shipped -> prepare -> Part

Nothing here knows Ray, or writes anything: whatever is done twice, after a kill, gives the same.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rag.errors import AttestError, ModelMissing
from rag.loaders import LoadError
from rag.loaders.formats import content
from rag.loaders.isolation import LoaderPool
from rag.models import locate
from rag.reading import Load, Reading, cut, read
from rag.records import ExtractedText

if TYPE_CHECKING:
    from encoder import Embedder

_TOKENS_AT_ONCE = 32_768  # of chunks that are encoded together: some ten batches of the encoder


@dataclass(frozen=True, slots=True)
class Needed:
    """What every node has to have, and how it reads."""

    version: str  # of this package
    model: str  # the encoder's name or folder
    fingerprint: str
    models_dir: str
    ocr: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that has to be read, on the machine that lists the files."""

    number: int  # in the order of the run
    file: Path
    path: str  # the name that it is catalogued under


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file on its way."""

    number: int
    name: str  # of the file
    path: str
    content: bytes | LoadError = field(repr=False)  # Ray logs what it sees of an object


@dataclass(frozen=True, slots=True)
class Part:
    """What was read of a file, and vectors of its chunks; a long document comes in several."""

    number: int
    index: int  # of this part
    last: bool
    vectors: NDArray[np.float32] = field(repr=False)  # (n, d), of the chunks behind the last part's
    read: tuple[ExtractedText, Reading] | LoadError | None = field(repr=False)  # with the first


def own_version() -> str:
    """The version of this package that runs here."""
    try:
        return metadata.version("attest-rag")
    except metadata.PackageNotFoundError:  # run from a folder
        return "unknown"


def lacking(needed: Needed) -> str | None:
    """What this machine lacks to do the work, with the remedy."""
    if (here := own_version()) != needed.version:
        return f"has version {here} of attest, not {needed.version}: install that version there"
    try:
        if needed.ocr:
            from rag.loaders.ocr import Recogniser

            Recogniser.find()
        _embedder(needed)
    except (AttestError, LoadError) as error:
        return f"cannot do its part: {error}"
    return None


def ship(listed: Sequence[Listed]) -> tuple[Shipped, ...]:
    """The files with their bytes, or why they cannot be read."""
    return tuple(Shipped(it.number, it.file.name, it.path, _bytes(it.file)) for it in listed)


def prepare(shipped: Sequence[Shipped], load: Load, embedder: "Embedder") -> Iterator[Part]:
    """Read, cut and encode files: their parts, in order.

    Args:
        load: reads a file of this machine
    """
    waiting: list[_Piece] = []
    tokens = 0
    for file in shipped:
        for piece in _pieces(file, load, embedder):
            if tokens + piece.tokens > _TOKENS_AT_ONCE:
                yield from _encoded(waiting, embedder)
                waiting, tokens = [], 0
            waiting.append(piece)
            tokens += piece.tokens
    yield from _encoded(waiting, embedder)


class Worker:
    """Prepares files, one batch after the other, with one encoder that it loads once.

    Raises:
        AttestError: the encoder is not on this machine, or is another one.
    """

    def __init__(self, needed: Needed) -> None:
        self._embedder = _embedder(needed)
        self._pool = LoaderPool(workers=1)
        self._ocr = needed.ocr

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The parts of each batch of shipped files in the column `files`, in the column `part`."""
        for shipped in batch["files"]:
            for part in prepare(shipped, self._load, self._embedder):
                yield {"part": [part]}

    def _load(self, file: Path) -> ExtractedText:
        return self._pool.load(file, ocr=self._ocr)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part before it is encoded."""

    part: Part
    texts: tuple[str, ...]
    tokens: int


def _embedder(needed: Needed) -> "Embedder":
    folder = locate(needed.model, Path(needed.models_dir))
    from encoder import Embedder
    from transformer import runtime
    from transformer.errors import ModelError

    runtime.set_threads(1)  # a worker is given one core
    try:
        embedder = Embedder.load(folder)
    except ModelError as error:
        raise AttestError(str(error)) from error
    if embedder.fingerprint != needed.fingerprint:
        raise ModelMissing(
            f"{folder} is another model ({embedder.fingerprint[:12]}) than the library's "
            f"({needed.fingerprint[:12]}): copy the folder there"
        )
    return embedder


def _bytes(file: Path) -> bytes | LoadError:
    try:
        return content(file)
    except LoadError as error:
        return error


def _pieces(file: Shipped, load: Load, embedder: "Embedder") -> Iterator[_Piece]:
    none = np.empty((0, embedder.dimensions), np.float32)
    try:
        text = _text(file, load)
    except LoadError as error:
        yield _Piece(Part(file.number, 0, True, none, error), (), 0)
        return
    reading = cut(text, file.path, embedder)
    sizes = [chunk.tokens for chunk in reading.chunks]
    slices = list(_slices(sizes))
    for index, some in enumerate(slices):
        read_ = (text, reading) if index == 0 else None
        part = Part(file.number, index, index == len(slices) - 1, none, read_)
        yield _Piece(part, reading.encoded[some], sum(sizes[some]))


def _text(file: Shipped, load: Load) -> ExtractedText:
    if isinstance(file.content, LoadError):
        raise file.content
    with tempfile.TemporaryDirectory(prefix="attest-") as folder:
        place = Path(folder) / file.name
        place.write_bytes(file.content)
        return read(place, file.path, load)


def _slices(tokens: Sequence[int]) -> Iterator[slice]:
    """Neighbours that are encoded together; one empty slice where there is nothing."""
    start = size = 0
    for i, count in enumerate(tokens):
        if size + count > _TOKENS_AT_ONCE and i > start:
            yield slice(start, i)
            start, size = i, 0
        size += count
    yield slice(start, len(tokens))


def _encoded(pieces: Sequence[_Piece], embedder: "Embedder") -> Iterator[Part]:
    vectors = embedder.embed_documents([text for piece in pieces for text in piece.texts])
    at = 0
    for piece in pieces:
        rows, at = vectors[at : at + len(piece.texts)], at + len(piece.texts)
        part = piece.part
        yield Part(part.number, part.index, part.last, rows, part.read)
