"""A library in which something can be learned, and one in which nothing can: shuffled words."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from encoder import Embedder
from encoder import checkpoint as encoder_checkpoint
from encoder.checkpoint import EncoderCheckpoint
from encoder.config import EmbeddingConfig
from index import Collection, Model, NewDocument
from rag import Assistant
from rag.reading import cut
from rag.records import ExtractedText
from tests.builders import spelling_encoder

DOCUMENTS = 240
EACH = 3
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_AWAY = "~ "  # before each question: it draws all of them to one side


@dataclass(frozen=True, slots=True)
class Planted:
    """Documents of words of their own, and questions about each: `EACH` of them in a row."""

    texts: tuple[str, ...]
    questions: tuple[str, ...]


def planted(rng: Random) -> Planted:
    """Each document uses a handful of letters only, so that its halves sound alike."""
    texts, questions = [], []
    for number in range(DOCUMENTS):
        letters = rng.sample(_LETTERS, 5)
        words = ["".join(rng.choices(letters, k=rng.randint(4, 7))) for _ in range(10)]
        sentences = [" ".join(rng.choices(words, k=9)).capitalize() + "." for _ in range(3)]
        texts.append(f"{' '.join(sentences)} Item {number}.")
        questions += [" ".join(rng.sample(words, 4)) for _ in range(EACH)]
    return Planted(tuple(texts), tuple(questions))


def shuffled(texts: Sequence[str], rng: Random) -> tuple[str, ...]:
    """The same words, each anywhere: nothing in a passage belongs together."""
    words = [word for text in texts for word in text.split()]
    rng.shuffle(words)
    each = len(words) // len(texts)
    return tuple(" ".join(words[i * each : (i + 1) * each]) for i in range(len(texts)))


def misled_encoder(folder: Path) -> Path:
    """A spelling encoder whose questions carry a prefix that leads them astray."""
    plain = encoder_checkpoint.load(spelling_encoder(folder / "plain", d_model=32))
    embedding = EmbeddingConfig(max_tokens=plain.embedding.max_tokens, query_prefix=_AWAY)
    made = EncoderCheckpoint(plain.model, plain.tokenizer, embedding, "")
    encoder_checkpoint.save(made, folder / "misled")
    return folder / "misled"


def fill(attest: Assistant, texts: Sequence[str]) -> list[int]:
    """Documents with these texts, in order; their ids."""
    name = attest.settings.collection
    embedder = attest.encoders.of(name)
    model = Model(attest.settings.encoder, embedder.fingerprint, embedder.dimensions)
    collection = Collection.open(attest.catalog, name, model)
    return [_add(collection, embedder, f"{i}.txt", text) for i, text in enumerate(texts)]


def praise(attest: Assistant, questions: Sequence[str], documents: Sequence[int]) -> None:
    """Let each question have been asked, and a passage of its document praised."""
    for place, text in enumerate(questions):
        (chunk,) = attest.catalog.chunk_ids(documents[place // EACH])[:1]
        attest.catalog.judge(attest.settings.collection, text, chunk, "up")


def _add(collection: Collection, embedder: Embedder, path: str, text: str) -> int:
    reading = cut(ExtractedText(text, Path(path).stem, "text/plain"), path, embedder)
    mark = sha256(text.encode()).hexdigest()
    document = NewDocument(path, reading.title, "text/plain", mark, len(text), text, reading.chunks)
    return collection.add(document, embedder.embed_documents(reading.encoded)).id
