"""Passages that were read by themselves, ready to stand in any prompt behind one beginning.

A passage sees the prefix and itself, whatever stands beside it, and the question sees all of them
(Ma et al. 2024, "Block-Attention for Efficient RAG"; Lu et al. 2024, "TurboRAG"). So its keys and
values are computed once and serve every question: one that is ranked behind each of the passages,
and one that is answered from several.

Keys are kept as they stand right behind the prefix, where ranking needs them. To stand elsewhere
they are turned once more: turns about the same axes add up. A model of learned positions adds
where a token stands to what it is; its passages can be ranked, but not moved.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from generator.decoding import Tokens, decode_from
from generator.kept import Kept
from generator.model import Generator
from generator.prompts import Message
from generator.sampling import Sampling
from generator.stepping import Stepper
from generator.writer import Writer
from transformer.cache import Cache
from transformer.position import rotate
from transformer.tokenizer import Tokenizer

_BATCH = 1024  # tokens that go through the model at once: what comes out stays near the processor
_WITHIN = "\ue002"  # a character that neither templates nor people write


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around passages: token ids before the first, behind each, and at the very end.

    `asking` is what a question is ranked behind; it is read with each passage, and kept.
    """

    head: tuple[int, ...]
    between: tuple[int, ...]
    asking: tuple[int, ...]
    tail: tuple[int, ...] = ()

    @classmethod
    def of_chat(cls, writer: Writer, system: str) -> "Frame":
        """Passages and then the question in the user's turn, under a system's words.

        Raises:
            PromptError: the chat template cannot take these messages.
        """
        messages = [Message("system", system), Message("user", _WITHIN)]
        before, _, after = writer.prompts.text(messages).partition(_WITHIN)
        encode = writer.tokenizer.encode
        asking = encode("Question:")
        behind = encode("\n\nQuestion:")
        # White space before a word may go another way into tokens than by itself.
        between = behind[: -len(asking)] if behind[-len(asking) :] == asking else encode("\n\n")
        return cls(
            tuple(encode(before, specials=True)),
            tuple(between),
            tuple(asking),
            tuple(encode(after, specials=True)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A passage right behind the prefix: what a cache holds of it and of what asks behind it."""

    tokens: tuple[int, ...]  # of the passage, what stands between two of them included
    whole: bool  # nothing was cut off
    keys: Tensor  # (n_layers, g, n, e): of the tokens and of the asking ones
    values: Tensor
    last: Tensor  # (d,), what the head reads behind all of them

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes + self.last.nbytes


class PassageCaches:
    """Blocks of one model behind one prefix, computed where they are missing.

    Args:
        model: whose they are
        tokenizer: of the model
        fingerprint: of the model, so that a shared store mixes nothing
        frame: what stands around the passages
        kept: the store
    """

    def __init__(
        self,
        model: Generator,
        tokenizer: Tokenizer,
        fingerprint: str,
        frame: Frame,
        kept: Kept[Block],
    ) -> None:
        self.model, self.tokenizer, self.frame, self.kept = model, tokenizer, frame, kept
        behind = (frame.head, frame.between, frame.asking)
        self._owner = (fingerprint, _digest(repr(behind)))

    @property
    def movable(self) -> bool:
        """Whether passages can stand in one prompt side by side without being read again."""
        return self.model.rotary is not None

    def head(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the prefix, (n_layers, 1, g, p, e) each."""
        key = (self._owner, None, None)
        block = self.kept.get(key)
        if block is None:
            block = self._read_head()
            self.kept.put(key, block)
        return block.keys[:, None], block.values[:, None]

    def blocks(self, passages: Sequence[str], limit: int | None = None) -> list[Block]:
        """Of each passage, in their order; those that are not kept are computed together.

        Args:
            passages: texts; special tokens in them are plain
            limit: tokens that a longer one is cut to

        Raises:
            ValueError: a limit below 1.
            LengthError: a passage is longer than the model has places behind the prefix.
        """
        if limit is not None and limit < 1:
            raise ValueError(f"limit ({limit}) must be at least 1 token")
        found = {text: self._find(text, limit) for text in passages}
        missing = [text for text, block in found.items() if block is None]
        for text, made in self._computed(missing, limit):
            self.kept.put((self._owner, _digest(text), None if made.whole else limit), made)
            found[text] = made
        return [block for text in passages if (block := found[text]) is not None]

    @torch.inference_mode()
    def assemble(self, passages: Sequence[str], room: int) -> Cache:
        """A cache that has read the prefix and these passages one behind the other.

        Where passages cannot be moved they are read as one text, each seeing those before it.

        Args:
            passages: texts, as they shall stand in the prompt
            room: positions for what follows: `question`'s tokens and the answer

        Raises:
            LengthError: all of it is more than the model has places.
        """
        if not self.movable:
            return self._read(passages, room)
        blocks = self.blocks(passages)
        start = len(self.frame.head)
        cache = self.model.new_cache(start + sum(len(b.tokens) for b in blocks) + room)
        if start:
            cache.extend(*self.head())
        for block in blocks:
            keys, values = self._moved(block, cache.length - start)
            cache.extend(keys[:, None], values[:, None])
        return cache

    def decode(
        self,
        passages: Sequence[str],
        question: str,
        sampling: Sampling,
        *,
        ends: Collection[int],
        rng: torch.Generator,
    ) -> Tokens:
        """An answer behind kept passages; sampling, ends and rng as of `generator.decoding.decode`.

        Raises:
            LengthError, ModelError: as `decode`.
        """
        stepper, asked = Stepper(self.model), self.question(question)
        cache = self.assemble(passages, len(asked) + sampling.max_tokens)
        logits = stepper.prefill(cache, asked)
        return (yield from decode_from(stepper, cache, logits, sampling, ends=ends, rng=rng))

    def question(self, text: str) -> list[int]:
        """What follows the passages where they are answered from: a question, and the tail."""
        return [*self.tokenizer.encode(f"Question: {text.strip()}"), *self.frame.tail]

    def passage(self, text: str, limit: int | None = None) -> tuple[tuple[int, ...], bool]:
        """Tokens of a block, and whether they are the whole passage."""
        ids = self.tokenizer.encode(text)
        return (*ids[:limit], *self.frame.between), limit is None or len(ids) <= limit

    def _find(self, text: str, limit: int | None) -> Block | None:
        digest = _digest(text)
        whole = self.kept.get((self._owner, digest, None))
        if whole is not None:
            longest = len(whole.tokens) - len(self.frame.between)
            if limit is None or longest <= limit:
                return whole
        return None if limit is None else self.kept.get((self._owner, digest, limit))

    @torch.inference_mode()
    def _read_head(self) -> Block:
        cache = self.model.new_cache(max(len(self.frame.head), 1))
        if self.frame.head:
            self.model.hidden(torch.tensor([self.frame.head]), cache)
        n = cache.length
        keys, values = cache.keys[:, 0, :, :n], cache.values[:, 0, :, :n]
        return Block(self.frame.head, True, keys, values, torch.empty(0))

    def _computed(self, passages: Sequence[str], limit: int | None) -> Iterator[tuple[str, Block]]:
        """Rows of like length together, padded behind: what comes later is seen by nobody."""
        cut = {text: self.passage(text, limit) for text in passages}
        batch: list[str] = []
        for text in sorted(passages, key=lambda text: len(cut[text][0]), reverse=True):
            longest = len(cut[batch[0]][0]) if batch else 0
            if batch and longest * (len(batch) + 1) > _BATCH:
                yield from zip(batch, self._batch([cut[t] for t in batch]), strict=True)
                batch = []
            batch.append(text)
        if batch:
            yield from zip(batch, self._batch([cut[t] for t in batch]), strict=True)

    @torch.inference_mode()
    def _batch(self, rows: Sequence[tuple[tuple[int, ...], bool]]) -> list[Block]:
        tokens = [torch.tensor([*ids, *self.frame.asking]) for ids, _ in rows]
        padded = pad_sequence(tokens, batch_first=True)
        start = len(self.frame.head)
        cache = self.model.new_cache(start + padded.shape[1], batch=len(rows))
        if start:
            cache.extend(*self.head())
        x = self.model.hidden(padded, cache)
        blocks = []
        for row, (ids, whole) in enumerate(rows):
            n = len(tokens[row])
            keys, values = (
                kept[:, row, :, start : start + n].clone() for kept in (cache.keys, cache.values)
            )
            blocks.append(Block(ids, whole, keys, values, x[row, n - 1].clone()))
        return blocks

    def _moved(self, block: Block, distance: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the passage alone, so many places further on."""
        n = len(block.tokens)
        keys, values = block.keys[:, :, :n], block.values[:, :, :n]
        assert self.model.rotary is not None, "only a model with rotary positions is asked"
        if distance:
            keys = rotate(keys, self.model.rotary(distance, distance + 1))
        return keys, values

    def _read(self, passages: Sequence[str], room: int) -> Cache:
        ids = [*self.frame.head, *chain(*(self.passage(text)[0] for text in passages))]
        cache = self.model.new_cache(len(ids) + room)
        if ids:
            self.model.hidden(torch.tensor([ids]), cache)
        return cache


def caches_of(writer: Writer, system: str) -> PassageCaches:
    """The caches of a writer behind a system's words; all of a writer share one budget."""
    frame = Frame.of_chat(writer, system)
    return PassageCaches(writer.model, writer.tokenizer, writer.fingerprint, frame, writer.passages)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
