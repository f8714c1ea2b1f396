"""Questions that nobody asked: made of a library's own text, each with the chunk that it is from.

Where a library has no log yet they stand in for one, and their origin is a label that costs
nothing (Thakur et al. 2021; Wang et al. 2022, GPL).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from index.analysis import content_words, is_korean
from index.records import StoredChunk, WordFrequencies
from index.titles import found_title
from rag.sentences import sentences

if TYPE_CHECKING:
    from generator import Writer

Kind = Literal["title", "heading", "sentence", "words", "written"]

_SHORTEST, _LONGEST = 4, 40  # words of a sentence that could be a question
_TITLE = 3  # words, below which a title or a heading asks for nothing in particular
_KEY_WORDS = 5
_HALF = 0.5  # share of a sentence's words that are kept: nobody asks in the words of the text
_READ = 1500  # characters of a passage that the writer is shown
_ASK = (
    "Write one short question that a person would ask and that this passage answers. "
    "Write the question only.\n\nPassage: "
)


@dataclass(frozen=True, slots=True)
class PseudoQuestion:
    text: str
    chunk_id: int  # that it was made of
    document_id: int
    kind: Kind


def pseudo_questions(
    chunks: Sequence[StoredChunk], frequencies: WordFrequencies, *, rng: Random
) -> list[PseudoQuestion]:
    """Up to four of each chunk: title, heading, half of a sentence, its rarest words.

    Args:
        chunks: of the library
        frequencies: of their content words
        rng: chooses sentences and words
    """
    made = []
    for chunk in chunks:
        for kind, text in _of(chunk, frequencies, rng):
            made.append(PseudoQuestion(text, chunk.id, chunk.document.id, kind))
    return made


def written_questions(
    chunks: Sequence[StoredChunk], writer: "Writer", *, stop: Callable[[], bool]
) -> Iterator[PseudoQuestion]:
    """One that the generator asks of each chunk, as long as it is not told to stop."""
    from generator import Message, Sampling
    from transformer.runtime import seeded

    for chunk in chunks:
        if stop():
            return
        prompt = [Message("user", f"{_ASK}{chunk.text[:_READ]}")]
        pieces = writer.stream(prompt, Sampling(max_tokens=32), seeded(chunk.id))
        text, mark, _ = "".join(pieces).strip().partition("?")
        text = text.rpartition("\n")[2].removeprefix("Question:").strip(' "')
        if mark and len(text.split()) >= _SHORTEST:
            yield PseudoQuestion(f"{text}?", chunk.id, chunk.document.id, "written")


def words_of(chunks: Sequence[StoredChunk]) -> list[str]:
    """The content words whose frequencies `pseudo_questions` asks for."""
    return sorted({token for chunk in chunks for token in content_words(chunk.text)})


def _of(
    chunk: StoredChunk, frequencies: WordFrequencies, rng: Random
) -> Iterator[tuple[Kind, str]]:
    title = found_title(chunk.document.path, chunk.document.title)
    if chunk.start == 0 and _says_something(title):  # once a document
        yield "title", title
    if chunk.heading and _says_something(chunk.heading[-1]):
        yield "heading", chunk.heading[-1]
    spans = [chunk.text[start:end] for start, end in sentences(chunk.text)]
    fitting = [text for text in spans if _SHORTEST <= len(text.split()) <= _LONGEST]
    if fitting:
        yield "sentence", _halved(rng.choice(fitting), rng)
    if rare := _rarest(chunk.text, frequencies):
        yield "words", rare


def _says_something(text: str) -> bool:
    # A Korean word is a phrase of its own: 연차휴가 사용촉진.
    return len(text.split()) >= (_TITLE - 1 if is_korean(text) else _TITLE)


def _halved(sentence: str, rng: Random) -> str:
    words = " ".join(sentence.split()).split(" ")
    kept = [word for word in words if rng.random() < _HALF]
    return " ".join(kept if len(kept) >= _TITLE else words)


def _rarest(text: str, frequencies: WordFrequencies) -> str:
    """The words that tell this chunk from others, in its own spelling and order."""
    weights: dict[str, float] = {}
    for word in text.split():
        bare = word.strip(".,;:!?()[]\"'“”‘’「」")
        found = [frequencies.weight(token) for token in content_words(bare)]
        if found and bare not in weights:
            weights[bare] = max(found)
    if len(weights) < _KEY_WORDS:
        return ""
    best = set(sorted(weights, key=lambda word: (-weights[word], word))[:_KEY_WORDS])
    return " ".join(word for word in weights if word in best)
