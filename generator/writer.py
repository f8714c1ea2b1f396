"""A generator with all that belongs to it: messages in, pieces of text out."""

from collections import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from generator import checkpoint
from generator.checkpoint import GeneratorCheckpoint
from generator.decoding import FinishReason, Tokens, decode_from
from generator.kept import KeptPrompts
from generator.precision import Precision
from generator.prompts import Message, Prompts, fit, grounded
from generator.sampling import Sampling
from generator.speculate import Drafts
from generator.stepping import Stepper
from generator.text import Detokenizer, StopFilter
from generator.turns import Turns
from transformer.errors import LengthError
from transformer.tokenizer import Tokenizer

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
        self._ends = frozenset(loaded.chat.ends)
        self._prompts = Prompts(loaded.chat, loaded.tokenizer)
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
        return self._prompts.notice

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
        prompt = self._prompts.encode(messages)
        room = self.context - len(prompt)
        if room < 1:
            raise LengthError(
                f"the prompt takes {len(prompt)} tokens of a context of {self.context} and leaves "
                "no room for an answer; shorten it",
                tokens=len(prompt),
                limit=self.context,
            )
        sampling = replace(
            sampling,
            max_tokens=min(sampling.max_tokens, room),
            stop=(*sampling.stop, *self._prompts.stops),
        )
        tokens = self._tokens(prompt, sampling, rng)
        return Generation(tokens, self.tokenizer, prompt_tokens=len(prompt), sampling=sampling)

    def _tokens(self, prompt: Sequence[int], sampling: Sampling, rng: torch.Generator) -> Tokens:
        stepper = Stepper(self.model)
        with self._turns:
            cache = self._kept.begin(prompt, sampling.max_tokens)
            logits = stepper.prefill(cache, prompt[cache.length :])
            self._kept.keep(prompt, cache)
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
            return len(self._prompts.encode(grounded(system, question, passages[:n])))

        kept = fit(len(passages), count, self.context - reserve)
        messages = grounded(system, question, passages[:kept])
        return Fitted(messages, tuple(passages[:kept]), len(passages) - kept, count(kept))
