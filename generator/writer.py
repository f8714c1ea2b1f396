"""A generator with all that belongs to it: messages in, pieces of text out."""

from collections import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from generator import checkpoint, constrained
from generator.checkpoint import GeneratorCheckpoint
from generator.constrained import Quoting
from generator.decoding import FinishReason, Tokens, decode_from
from generator.kept import PASSAGE_BYTES, Kept, KeptPrompts
from generator.precision import Precision
from generator.prompts import Message, Prompts, fit, grounded
from generator.sampling import Sampling
from generator.speculate import Drafts
from generator.stepping import Stepper
from generator.text import Detokenizer, StopFilter
from generator.turns import Turns
from transformer.cache import Cache
from transformer.errors import LengthError
from transformer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from generator.blocks import Block

_CONTEXT = 2048  # tokens; on a processor a longer prompt takes longer than people wait


@dataclass(frozen=True, slots=True)
class Written:
    """A whole answer."""

    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that leaves room for its answer."""

    messages: tuple[Message, ...]
    passages: tuple[str, ...]  # those kept, best first
    left_out: int  # passages that were dropped, from the lowest-ranked up
    prompt_tokens: int


class Generation(Iterator[str]):
    """An answer in the making: iterate for its pieces; `close` stops it within a step.

    Attributes:
        prompt_tokens: length of the prompt
        completion_tokens: tokens written so far
        finish_reason: None until the answer is complete
    """

    def __init__(
        self, tokens: Tokens, tokenizer: Tokenizer, *, prompt_tokens: int, sampling: Sampling
    ) -> None:
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = 0
        self.finish_reason: FinishReason | None = None
        self._ended: FinishReason = "stop"  # as the tokens themselves ended
        self._pieces = self._write(tokens, Detokenizer(tokenizer), StopFilter(sampling.stop))

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        """Stop; nothing more is computed."""
        self._pieces.close()

    def _write(
        self, tokens: Tokens, detokenizer: Detokenizer, stops: StopFilter
    ) -> abc.Generator[str, None, None]:
        for token in self._heard(tokens):
            self.completion_tokens += 1
            if piece := stops.push(detokenizer.push(token)):
                yield piece
            if stops.stopped:
                break
        tail = stops.push(detokenizer.flush()) + stops.flush()
        self.finish_reason = "stop" if stops.stopped else self._ended
        if tail:
            yield tail

    def _heard(self, tokens: Tokens) -> Iterator[int]:
        self._ended = yield from tokens


class Writer:
    """Writes answers with one model.

    Any thread may ask. Answers that are written at once take turns, a step each, in the order in
    which they came. The beginnings of prompts are kept, so that what a prompt shares with an
    earlier one is not read again, and greedy answers are drafted from their prompts: both change
    the time, and nothing in the answer.

    Args:
        loaded: the model and what belongs to it
        context: tokens of prompt and answer together; None takes 2048 or the model's limit

    Attributes:
        grounded: it was taught to quote its evidence, or to decline
        prompts: how it is spoken to
        passages: what it has read of passages by themselves; see `generator.blocks`

    Raises:
        ValueError: the model has no room for `context`.
    """

    def __init__(self, loaded: GeneratorCheckpoint, *, context: int | None = None) -> None:
        limit = loaded.model.config.max_tokens
        self.context = min(limit, _CONTEXT) if context is None else context
        if not 1 <= self.context <= limit:
            raise ValueError(f"context ({self.context}) must lie within 1 and {limit}")
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.fingerprint = loaded.fingerprint
        self.parameters = loaded.parameters
        self.grounded = loaded.grounded
        self._ends = frozenset(loaded.chat.ends)
        self.prompts = Prompts(loaded.chat, loaded.tokenizer)
        self.passages: Kept[Block] = Kept(PASSAGE_BYTES)
        self._kept = KeptPrompts(loaded.model)
        self._turns = Turns()

    @classmethod
    def load(
        cls, path: Path, precision: Precision | None = None, *, context: int | None = None
    ) -> "Writer":
        """Read a generator.

        Args:
            path: a model's folder or a .gguf file
            precision: None takes 4 bits, and 8 where a matrix does not fit them
            context: as of the class

        Raises:
            CheckpointError: something is missing, damaged, or of a kind that is not read.
        """
        return cls(checkpoint.load(Path(path), precision or "int4"), context=context)

    @property
    def notice(self) -> str | None:
        """What a user should know about this model's prompts; mostly None."""
        return self.prompts.notice

    def count(self, text: str) -> int:
        """Tokens of a text, special ones not read."""
        return len(self.tokenizer.encode(text))

    def stream(
        self, messages: Sequence[Message], sampling: Sampling, rng: torch.Generator
    ) -> Generation:
        """The answer in pieces, as they are written. An answer is cut where the context ends.

        Raises:
            PromptError: the chat template cannot take these messages.
            LengthError: the messages leave no room for an answer.
            ModelError: while iterating: the model's numbers are broken.
        """
        prompt = self.prompts.encode(messages)
        room = self._room(prompt, 1)
        sampling = replace(
            sampling,
            max_tokens=min(sampling.max_tokens, room),
            stop=(*sampling.stop, *self.prompts.stops),
        )
        tokens = self.tokens(prompt, sampling, rng)
        return Generation(tokens, self.tokenizer, prompt_tokens=len(prompt), sampling=sampling)

    def tokens(self, prompt: Sequence[int], sampling: Sampling, rng: torch.Generator) -> Tokens:
        """The answer's ids as they come; errors are those of `decode`."""
        stepper = Stepper(self.model)
        cache, logits = self._read(stepper, prompt, sampling.max_tokens)
        # Without a kernel that takes several tokens like one after the other, drafts gain nothing.
        drafted = sampling.temperature == 0 and stepper.rows > 1
        return (
            yield from decode_from(
                stepper,
                cache,
                logits,
                sampling,
                ends=self._ends,
                rng=rng,
                drafts=Drafts(prompt) if drafted else None,
                turn=self._turns,
            )
        )

    def quote(
        self,
        messages: Sequence[Message],
        lines: Sequence[str],
        *,
        decline: int | None = None,
        most: int = 1,
    ) -> Quoting:
        """An answer that is one of these lines, or `most` of them in a row; nothing else can come.

        Iterating gives "" between the passes through the model, and closing stops it there; the
        iterator's own return value is what was chosen. Arguments as of `constrained.follow`.

        Raises:
            PromptError: the chat template cannot take these messages.
            LengthError: the messages leave no room for the lines.
            ValueError: while iterating: there is no line, or one is there twice.
            ModelError: while iterating: the model's numbers are broken.
        """
        prompt = self.prompts.encode(messages)
        needed = self.reserve(lines, most)
        self._room(prompt, needed)
        return self._quoting(prompt, lines, needed, decline, most)

    def reserve(self, lines: Sequence[str], most: int = 1) -> int:
        """Tokens that a prompt has to leave for `quote` to choose among these lines."""
        return constrained.room([self.tokenizer.encode(line) for line in lines], most)

    def _quoting(
        self, prompt: Sequence[int], lines: Sequence[str], room: int, decline: int | None, most: int
    ) -> Quoting:
        cache, logits = self._read(Stepper(self.model), prompt, room)
        yield ""
        return (
            yield from constrained.follow(
                self.model,
                cache,
                logits,
                lines,
                encode=self.tokenizer.encode,
                ends=self._ends,
                decline=decline,
                most=most,
                turn=self._turns,
            )
        )

    def _read(self, stepper: Stepper, prompt: Sequence[int], room: int) -> tuple[Cache, Tensor]:
        """A cache that has read a prompt, with room behind, and the logits of what follows."""
        with self._turns:
            cache = self._kept.begin(prompt, room)
            logits = stepper.prefill(cache, prompt[cache.length :])
            self._kept.keep(prompt, cache)
        return cache, logits

    def _room(self, prompt: Sequence[int], least: int) -> int:
        room = self.context - len(prompt)
        if room < least:
            raise LengthError(
                f"the prompt takes {len(prompt)} tokens of a context of {self.context} and leaves "
                f"no room for an answer{f' of {least}' if least > 1 else ''}; shorten it",
                tokens=len(prompt),
                limit=self.context,
            )
        return room

    def write(
        self, messages: Sequence[Message], sampling: Sampling, rng: torch.Generator
    ) -> Written:
        """The whole answer; arguments and errors are those of `stream`."""
        generation = self.stream(messages, sampling, rng)
        text = "".join(generation)
        reason = generation.finish_reason
        assert reason is not None, "an answer that was read to its end has a reason"
        return Written(text, reason, generation.prompt_tokens, generation.completion_tokens)

    def fit(self, system: str, question: str, passages: Sequence[str], reserve: int) -> Fitted:
        """A prompt with as many of the passages, best first, as the context has room for.

        Args:
            system: what the model is told about its task
            question: kept whole, after the passages
            passages: as they shall stand in the prompt, best first
            reserve: tokens to leave for the answer

        Raises:
            LengthError: the question does not fit without any passage.
        """

        def count(n: int) -> int:
            return len(self.prompts.encode(grounded(system, question, passages[:n])))

        kept = fit(len(passages), count, self.context - reserve)
        messages = grounded(system, question, passages[:kept])
        return Fitted(messages, tuple(passages[:kept]), len(passages) - kept, count(kept))
