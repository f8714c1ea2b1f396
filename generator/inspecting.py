"""One answer and what it was made of: what each of its tokens looked at, and what it needs.

Two measures that can disagree. Attention is where the model looked; it does not prove use. Leaving
a piece out is what the certificates of answers go by: it shows what the token would have been like
without it, with each piece read by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from generator.attribute import Reading, read
from generator.blocks import PassageCaches, caches_of
from generator.likelihood import log_probabilities
from generator.sampling import Sampling
from generator.writer import Writer
from transformer.inspecting import AttentionMap, Token, around, labels, mapped, name
from transformer.runtime import seeded
from transformer.watching import Watched, watch

_SHOWN = 128  # tokens of a map
_LEAST = 32  # of them the passage's


@dataclass(frozen=True, slots=True, eq=False)
class InspectedAnswer:
    """An answer of a tokens and the prompt before it, n tokens in all, in four stretches.

    The prompt's first stretch is the system's words, with what the model's chat puts around them.
    """

    tokens: tuple[Token, ...]  # n
    passage: range  # positions
    question: range  # what stands between the passage and it, and up to the answer, included
    answer: range
    text: str  # of the answer
    chances: NDArray[np.float32]  # (a,): of each token, 0..1
    # (a, n): what the position that foretold a token takes of each, mean over layers and heads
    looks: NDArray[np.float32]
    # (a, pieces): log p of each token, less what it is without a piece: over 0 where that is needed
    needs: NDArray[np.float32]
    attention: AttentionMap  # without the system's words, and of a long passage a part


@torch.inference_mode()
def inspect(
    writer: Writer,
    system: str,
    question: str,
    passage: str,
    pieces: Sequence[str],
    *,
    most: int,
) -> InspectedAnswer:
    """Let a writer answer from a passage, and look at how it did.

    Args:
        writer: whose model
        system: what it is told about its task
        question: as asked
        passage: as it stands in the prompt
        pieces: parts of the passage as they stand in a prompt by themselves, to leave out
        most: tokens of the answer; a longer one ends there

    Raises:
        PromptError: the chat template cannot take these messages.
        LengthError: passage and question are more than the model has places.
        ModelError: the model's numbers are broken.
    """
    caches = caches_of(writer, system)
    stretches = _stretches(caches, question, passage)
    prompt = list(chain.from_iterable(ids for ids, _ in stretches))
    answer = list(writer.tokens(prompt, Sampling(max_tokens=most), seeded(0)))
    said = [label for _, labelled in stretches for label in labelled]
    said += _spoken(writer, answer)
    tokens = tuple(Token(each, at) for at, each in enumerate(said))
    starts = np.cumsum([0, *(len(ids) for ids, _ in stretches), len(answer)]).tolist()
    passage_at, question_at, answer_at = (
        range(*starts[i : i + 2]) for i in range(1, len(stretches) + 1)
    )
    ids = [*prompt, *answer]
    looks, chances = _looks(writer, ids, answer_at)
    centre = int(looks[:, passage_at].sum(0).argmax()) if passage_at else 0
    places = _places(passage_at, len(ids), centre)
    return InspectedAnswer(
        tokens=tokens,
        passage=passage_at,
        question=question_at,
        answer=answer_at,
        text=writer.tokenizer.decode(answer),
        chances=chances,
        looks=looks,
        needs=_needs(caches, question, pieces, answer),
        attention=mapped(_passed(writer, ids), tokens, places),
    )


def _stretches(
    caches: PassageCaches, question: str, passage: str
) -> tuple[tuple[list[int], list[str]], ...]:
    """Ids and labels of a prompt: the system's words, the passage, the question."""
    tokenizer, frame = caches.tokenizer, caches.frame
    own, said = labels(tokenizer, passage)
    asked = caches.question(question)
    text, spoken = labels(tokenizer, f"Question: {question.strip()}")
    assert asked[: len(text)] == text, "a question is written as it is read"
    between = list(frame.between)

    def named(ids: Sequence[int]) -> list[str]:
        return [name(tokenizer, i) for i in ids]

    return (
        (list(frame.head), named(frame.head)),
        (own, said),
        ([*between, *asked], [*named(between), *spoken, *named(asked[len(text) :])]),
    )


def _spoken(writer: Writer, answer: Sequence[int]) -> list[str]:
    """The answer's tokens; each by itself where its text would be read as others."""
    ids, said = labels(writer.tokenizer, writer.tokenizer.decode(answer))
    return said if ids == list(answer) else [name(writer.tokenizer, i) for i in answer]


def _passed(writer: Writer, ids: Sequence[int]) -> Iterator[Watched]:
    model = writer.model
    x = model.embed(torch.tensor([ids]))
    return watch(model.blocks, x, causal=True, rotation=model.rotation(0, len(ids)))


def _looks(
    writer: Writer, ids: Sequence[int], answer: range
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Attention of what foretold each of the answer's tokens, (a, n), and how likely it was."""
    foretelling = slice(answer.start - 1, answer.stop - 1)
    found, layers, x = torch.zeros(len(answer), len(ids)), 0, torch.empty(0)
    for seen in _passed(writer, ids):
        found += seen.weights[0, :, foretelling].mean(0)
        layers, x = layers + 1, seen.x
    if not answer:
        return found.numpy(), np.empty(0, np.float32)
    vectors: Tensor = writer.model.norm(x)[0, foretelling]
    scores = log_probabilities(writer.model, vectors, torch.tensor(ids[answer.start :]))
    return (found / layers).numpy(), scores.exp().numpy()


def _places(passage: range, n: int, centre: int) -> list[int]:
    """The last tokens, and of the passage as many as there is room for, around its centre."""
    rest = range(max(passage.stop, n - (_SHOWN - _LEAST)), n)
    window = around(len(passage), centre, _SHOWN - len(rest))
    return [*(passage[at] for at in window), *rest]


def _needs(
    caches: PassageCaches, question: str, pieces: Sequence[str], answer: Sequence[int]
) -> NDArray[np.float32]:
    """How far each token's log p falls when one piece is left out: (a, pieces)."""
    if not answer or not pieces:
        return np.zeros((len(answer), len(pieces)), np.float32)
    kept = [tuple(pieces[:i]) + tuple(pieces[i + 1 :]) for i in range(len(pieces))]
    readings = [Reading(some, tuple(answer)) for some in (tuple(pieces), *kept)]
    whole, *fewer = (each.scores for each in read(caches, question, readings))
    return np.stack([whole - each for each in fewer], axis=1)
