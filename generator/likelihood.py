"""How well passages explain a question: what the generator thinks of it behind each of them.

The query likelihood of Ponte & Croft (1998), by a language model that was trained for nothing of
the kind (Sachan et al. 2022, "Improving Passage Retrieval with Zero-Shot Question Generation").

Many questions at once are asked in rows of a passage and its questions. One question of a search
is asked behind kept passages, so that its own tokens are all that goes through the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from generator.blocks import Block, Frame, PassageCaches
from generator.model import Generator
from generator.writer import Writer
from transformer.cache import Cache, Joined
from transformer.errors import LengthError, ModelError
from transformer.position import Rotation
from transformer.tokenizer import Tokenizer

# Half of it is twice as fast, and a vote on half a passage is worth nothing (measured on scifact's
# training questions: a claim is borne out by an abstract's end).
PASSAGE_TOKENS = 256
QUESTION_TOKENS = 128  # of a longer question its beginning counts

_BETWEEN = "\nQuestion:"
_ROW = 512  # tokens of a row at most, unless one question takes more
_BATCH = 1024  # tokens that go through the model at once: what comes out stays near the processor
_HEAD = 256  # rows of the head at once: a vocabulary of 50,000 makes them 50 MB


def likelihoods(
    writer: Writer,
    question: str,
    passages: Sequence[str],
    *,
    passage_tokens: int = PASSAGE_TOKENS,
) -> NDArray[np.float32]:
    """Mean log p of the question's tokens behind each passage, (n,), at most 0.

    Args:
        writer: its model is asked
        question: any text but blank
        passages: texts; special tokens in them are plain
        passage_tokens: a longer passage is cut to so many, or to what the model has room for
            beside the longest question

    Raises:
        ValueError: a blank question, or passage_tokens below 1.
        LengthError: the model has no room for a question and a piece of a passage.
        ModelError: the model's numbers are broken.
    """
    pairs = [(0, i) for i in range(len(passages))]
    return pair_likelihoods(writer, [question], passages, pairs, passage_tokens=passage_tokens)


@torch.inference_mode()
def pair_likelihoods(
    writer: Writer,
    questions: Sequence[str],
    passages: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    *,
    passage_tokens: int = PASSAGE_TOKENS,
    frame: Frame | None = None,
) -> NDArray[np.float32]:
    """As `likelihoods`, for (question, passage) pairs by their places: (pairs,).

    A passage is computed once for the questions that share it, so many questions at once are
    cheaper than one after another. A `frame` says what stands around them, as kept caches do.
    """
    if passage_tokens < 1:
        raise ValueError(f"passage_tokens ({passage_tokens}) must be at least 1")
    if not pairs:
        return np.empty(0, np.float32)
    frame = frame or plain(writer.tokenizer)
    limit = writer.model.config.max_tokens
    rows = _rows(writer.tokenizer, questions, passages, pairs, passage_tokens, limit, frame)
    vectors, targets, owners = [], [], []
    for batch in _batches(rows):
        x, asked = _hidden(writer.model, batch), _asked(batch)
        vectors.append(x[asked.rows, asked.columns])
        targets.append(asked.targets)
        owners.append(asked.pairs)
    scores = log_probabilities(writer.model, torch.cat(vectors), torch.cat(targets))
    owner = torch.cat(owners)
    sums = torch.zeros(len(pairs)).index_add_(0, owner, scores)
    means: NDArray[np.float32] = (sums / owner.bincount(minlength=len(pairs))).numpy()
    return means


def plain(tokenizer: Tokenizer) -> Frame:
    """A text that holds nothing but a passage and a question."""
    start = tokenizer.encode_for_model([""])[0][:1]  # the token that some models begin a text with
    return Frame(tuple(start), (), tuple(tokenizer.encode(_BETWEEN)))


@torch.inference_mode()
def likelihoods_behind(
    caches: PassageCaches,
    question: str,
    passages: Sequence[str],
    *,
    passage_tokens: int = PASSAGE_TOKENS,
) -> NDArray[np.float32]:
    """As `likelihoods`, behind what stands in the caches' frame; what is read of a passage is kept.

    Args:
        caches: of the model that is asked, behind the prefix that it is asked with
        question: any text but blank
        passages: texts; special tokens in them are plain
        passage_tokens: as for `likelihoods`

    Raises:
        ValueError, LengthError, ModelError: as `likelihoods`.
    """
    if passage_tokens < 1:
        raise ValueError(f"passage_tokens ({passage_tokens}) must be at least 1")
    model, ids = caches.model, _question(caches.tokenizer, question)
    if not passages:
        return np.empty(0, np.float32)
    room = _room(len(_around(caches.frame)) + len(ids), model.config.max_tokens)
    blocks = caches.blocks(passages, min(passage_tokens, room))
    at_once = max(1, _BATCH // len(ids))
    vectors = [
        _foretelling(model, caches.head(), blocks[start : start + at_once], ids)
        for start in range(0, len(blocks), at_once)
    ]
    rows = torch.cat(vectors).flatten(0, 1)  # (n * s, d)
    scores = log_probabilities(model, rows, torch.tensor(ids).repeat(len(blocks)))
    means: NDArray[np.float32] = scores.view(len(blocks), -1).mean(1).numpy()
    return means


def _foretelling(
    model: Generator, head: tuple[Tensor, Tensor], blocks: Sequence[Block], ids: Sequence[int]
) -> Tensor:
    """What the head reads before each of the question's s tokens, (b, s, d)."""
    first = torch.stack([block.last for block in blocks])[:, None]
    if len(ids) == 1:
        return first
    rows = [(block.keys, block.values) for block in blocks]
    cache = Joined(head, rows, room=len(ids) - 1)
    starts = torch.tensor([head[0].shape[3] + block.keys.shape[2] for block in blocks])
    tokens = torch.tensor(ids[:-1]).expand(len(blocks), -1)
    positions = starts[:, None] + torch.arange(len(ids) - 1)
    x = through(model, tokens, positions, mask=cache.mask, cache=cache)
    return torch.cat([first, x], dim=1)


@dataclass(slots=True)
class _Row:
    """A passage and the questions behind it, none of which sees another."""

    passage: list[int]
    questions: list[list[int]] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)  # the place of each question's pair

    def __len__(self) -> int:
        return len(self.passage) + sum(map(len, self.questions))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where the questions' tokens are foretold, one entry a token."""

    rows: Tensor
    columns: Tensor
    targets: Tensor  # the token that follows there
    pairs: Tensor


def _rows(
    tokenizer: Tokenizer,
    questions: Sequence[str],
    passages: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    passage_tokens: int,
    limit: int,
    frame: Frame,
) -> list[_Row]:
    """Each passage with its questions, in more than one row where they are many."""
    encoded = {i: _question(tokenizer, questions[i]) for i in {question for question, _ in pairs}}
    room = _room(len(_around(frame)) + max(map(len, encoded.values())), limit)
    rows: list[_Row] = []
    latest: dict[int, _Row] = {}
    for place, (question, passage) in enumerate(pairs):
        ids, row = encoded[question], latest.get(passage)
        if row is None or len(row) + len(ids) > _ROW:
            cut = tokenizer.encode(passages[passage])[: min(passage_tokens, room)]
            row = latest[passage] = _Row([*frame.head, *cut, *frame.between, *frame.asking])
            rows.append(row)
        row.questions.append(ids)
        row.pairs.append(place)
    return rows


def _around(frame: Frame) -> tuple[int, ...]:
    return (*frame.head, *frame.between, *frame.asking)


def _question(tokenizer: Tokenizer, text: str) -> list[int]:
    if not text.strip():
        raise ValueError("the question is blank: its likelihood is that of no token")
    return tokenizer.encode(f" {text.strip()}")[:QUESTION_TOKENS]


def _room(taken: int, limit: int) -> int:
    """Tokens of a passage that fit beside what else stands in a row."""
    if taken >= limit:
        raise LengthError(
            f"a question takes {taken} tokens, the generator's limit is {limit} and a passage has "
            "to stand before it: ask in fewer words, or use another generator",
            tokens=taken,
            limit=limit,
        )
    return limit - taken


def _batches(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Rows of like length together, so that little is padding."""
    batch: list[_Row] = []
    for row in sorted(rows, key=len, reverse=True):
        if batch and len(batch[0]) * (len(batch) + 1) > _BATCH:
            yield batch
            batch = []
        batch.append(row)
    yield batch


def _hidden(model: Generator, batch: Sequence[_Row]) -> Tensor:
    """What the head reads, (b, s, d); every question stands right behind its passage."""
    branches = _padded([_branches(row) for row in batch])
    positions = _padded([_positions(row) for row in batch])
    tokens = _padded([torch.tensor([*row.passage, *chain(*row.questions)]) for row in batch])
    # One question a row sees all that stands before it: then the kernel needs no mask.
    mask = None if branches.max() == 1 else branching(branches)
    return through(model, tokens, positions, mask=mask)


def through(
    model: Generator,
    tokens: Tensor,
    positions: Tensor,
    *,
    mask: Tensor | None,
    cache: Cache | None = None,
) -> Tensor:
    """Tokens (b, s) that stand at positions (b, s) to what the head reads of them, (b, s, d)."""
    x = model.embedding(tokens)
    if model.positions is not None:
        x = x + model.positions.weight[positions + model.positions.offset]
    rotation = None if model.rotary is None else _rotation(model, positions)
    for i, block in enumerate(model.blocks):
        x = block(x, mask=mask, causal=mask is None, rotation=rotation, cache=cache, layer=i)
    return model.norm(x)  # type: ignore[no-any-return]


def branching(branches: Tensor) -> Tensor:
    """Each place sees what is before it on its own branch and on the trunk, branch 0.

    Args:
        branches: of each place, (b, s)

    Returns:
        (b, 1, s, s)
    """
    keys, queries = branches[:, None, None, :], branches[:, None, :, None]
    return ((keys == 0) | (keys == queries)).tril()


def _branches(row: _Row) -> Tensor:
    counts = torch.tensor([len(row.passage), *map(len, row.questions)])
    return torch.arange(len(counts)).repeat_interleave(counts)


def _positions(row: _Row) -> Tensor:
    start = len(row.passage)
    spans = [(0, start), *((start, start + len(ids)) for ids in row.questions)]
    return torch.cat([torch.arange(*span) for span in spans])


def _rotation(model: Generator, positions: Tensor) -> Rotation:
    assert model.rotary is not None, "only a model with rotary positions is asked"
    return model.rotary.cosines[positions][:, None], model.rotary.sines[positions][:, None]


def _asked(batch: Sequence[_Row]) -> _Asked:
    rows, columns, targets, pairs = [], [], [], []
    for i, row in enumerate(batch):
        start = last = len(row.passage)
        for ids, pair in zip(row.questions, row.pairs, strict=True):
            # The passage's last token foretells the question's first.
            columns += [last - 1, *range(start, start + len(ids) - 1)]
            targets += ids
            rows += [i] * len(ids)
            pairs += [pair] * len(ids)
            start += len(ids)
    return _Asked(*(torch.tensor(column) for column in (rows, columns, targets, pairs)))


def log_probabilities(model: Generator, vectors: Tensor, targets: Tensor) -> Tensor:
    """Of each target behind its vector, (n,), float32.

    In parts of like size: a part of few rows would go through another kernel than the rest.
    """
    parts = -(-len(targets) // _HEAD)
    scores = []
    for x, target in zip(vectors.tensor_split(parts), targets.tensor_split(parts), strict=True):
        logits = model.logits(x[None])[0]  # (n, v)
        scores.append(logits.gather(1, target[:, None])[:, 0] - logits.logsumexp(-1))
    joined = torch.cat(scores)
    if not joined.isfinite().all():
        raise ModelError(
            "the generator's logits are not numbers: its weights are damaged, or overflow in this "
            "precision; try fp32"
        )
    return joined


def _padded(rows: Sequence[Tensor]) -> Tensor:
    return pad_sequence(list(rows), batch_first=True)
