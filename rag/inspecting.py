"""How the library's models read a question and a passage: attention, on one's own text.

The encoder reads the two apart, and they meet in a cosine; the generator reads them one behind the
other, and answers. Both are the models that are loaded, asked as search and answers ask them.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from index.analysis import is_korean
from rag import prompts, quoting
from rag.errors import EngineError, ModelMissing, NotFound, TooLong, UsageError
from rag.loaded import speaks
from rag.loaders.cleaning import clean, is_blank
from rag.statements import spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from encoder import Embedder
    from encoder.inspecting import InspectedText
    from generator import Writer
    from generator.inspecting import InspectedAnswer
    from rag.assistant import Assistant
    from transformer.inspecting import AttentionMap

LONGEST = 20_000  # characters of a question, and of a passage
SHOWN = 128  # tokens of a map

_READ = 384  # tokens of a passage that the generator reads
_ANSWER = 40  # tokens
_PIECES = 12  # parts of a passage that are left out in turn

Span = tuple[int, int]
Absent = Literal["engine", "missing", "failed"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a model is built like."""

    name: str
    layers: int
    heads: int
    groups: int  # heads of keys and values, each shared by heads / groups
    width: int
    positions: str  # learned, sinusoidal, rotary or none
    first: int  # row of the table of learned positions that the first token gets
    speaks: bool  # the language of the question


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """Question and passage as the encoder reads them, and what their cosine is made of."""

    facts: Facts
    pooling: str
    question: "InspectedText"
    passage: "InspectedText"
    question_map: "AttentionMap"
    passage_map: "AttentionMap"
    cosine: float
    question_shares: "NDArray[np.float32]"  # of each token in the cosine: they sum to it
    passage_shares: "NDArray[np.float32]"
    taught: bool  # a search turns the question's vector further, by what the library learned
    left: int  # characters at the passage's end that were not read


@dataclass(frozen=True, slots=True, eq=False)
class Answering:
    """An answer of the generator from the passage alone."""

    facts: Facts
    answer: "InspectedAnswer"
    pieces: tuple[str, ...]  # of the passage: each was left out once, and `answer.needs` says how
    left: int  # as above


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """A question and a passage inside of both models."""

    question: str
    passage: str
    encoder: Meeting
    generator: Answering | None
    absent: Absent | None = None  # where no generator can be looked into
    failure: str = ""  # and why not


def inspect(assistant: "Assistant", question: str, passage: str, collection: str) -> Inspection:
    """Look inside; see `Assistant.inspect`."""
    question, passage = (_checked(*each) for each in (("question", question), ("passage", passage)))
    language = "ko" if is_korean(question) else "en"
    met = _met(assistant, question, passage, collection, language)
    if assistant.models.remote is not None:
        return Inspection(question, passage, met, None, "engine")
    try:
        writer = assistant.models.writer()
    except (NotFound, ModelMissing) as error:
        return Inspection(question, passage, met, None, "missing", str(error))
    name = assistant.settings.generator
    try:
        answering = _answered(writer, name, question, passage, language)
    except (EngineError, TooLong) as error:
        return Inspection(question, passage, met, None, "failed", str(error))
    return Inspection(question, passage, met, answering)


def _checked(what: str, text: str) -> str:
    text, _ = clean(text)
    text = text.strip()
    if is_blank(text):
        raise UsageError(f"the {what} is empty: inspecting takes a question and a passage")
    if len(text) > LONGEST:
        raise TooLong(f"the {what} has {len(text):,} characters, {LONGEST:,} are taken: shorten it")
    return text


def _met(
    assistant: "Assistant", question: str, passage: str, collection: str, language: str
) -> Meeting:
    from encoder.inspecting import attention, read_text
    from transformer.errors import LengthError
    from transformer.inspecting import around

    embedder = assistant.encoders.of(collection)
    read = _fitting(passage, embedder.max_tokens, embedder.count)
    try:
        asked = read_text(embedder, question, query=True)
        found = read_text(embedder, read, query=False)
    except LengthError as error:
        raise TooLong(str(error)) from error
    own, others = asked.shares(found.vector), found.shares(asked.vector)

    def seen(text: "InspectedText", shares: "NDArray[np.float32]") -> "AttentionMap":
        return attention(embedder, text, around(len(text.ids), int(shares.argmax()), SHOWN))

    return Meeting(
        _facts_of_encoder(embedder, assistant.encoders.name(collection), language),
        embedder.embedding.pooling,
        asked,
        found,
        seen(asked, own),
        seen(found, others),
        cosine=float(asked.vector @ found.vector),
        question_shares=own,
        passage_shares=others,
        taught=assistant.encoders.asking(collection) is not embedder,
        left=len(passage) - len(read),
    )


def _answered(writer: "Writer", name: str, question: str, passage: str, language: str) -> Answering:
    from generator.inspecting import inspect as look

    read = _fitting(passage, _READ, writer.count)
    pieces = _pieces(read)
    system = prompts.system(writer)
    written = [quoting.passage(1, "", piece) for piece in pieces]
    with prompts.asking():
        found = look(writer, system, question, quoting.passage(1, "", read), written, most=_ANSWER)
    return Answering(
        _facts_of_writer(writer, name, language), found, pieces, len(passage) - len(read)
    )


def _fitting(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The text's sentences that fit within so many tokens, or what fits of its first."""
    ends: Sequence[int] = [end for _, end in spans(text)]
    ends = [*ends[:-1], len(text)]
    kept = bisect_right(ends, limit, key=lambda end: count(text[:end]))
    if kept:
        return text[: ends[kept - 1]]
    within = bisect_right(range(1, ends[0] + 1), limit, key=lambda end: count(text[:end]))
    return text[:within]


def _pieces(text: str) -> tuple[str, ...]:
    """The sentences; of many, neighbours together."""
    found = spans(text) or [(0, len(text))]
    size = -(-len(found) // _PIECES)
    groups = [found[i : i + size] for i in range(0, len(found), size)]
    return tuple(" ".join(text[group[0][0] : group[-1][1]].split()) for group in groups)


def _facts_of_encoder(embedder: "Embedder", name: str, language: str) -> Facts:
    config = embedder.model.config
    first = config.position_offset if config.positions == "learned" else 0
    return Facts(
        name,
        config.n_layers,
        config.n_heads,
        config.n_heads,
        config.d_model,
        config.positions,
        first,
        speaks(name, language),
    )


def _facts_of_writer(writer: "Writer", name: str, language: str) -> Facts:
    config = writer.model.config
    return Facts(
        name,
        config.n_layers,
        config.n_heads,
        config.n_kv_heads,
        config.d_model,
        config.positions,
        0,
        speaks(name, language),
    )
