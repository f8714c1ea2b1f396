"""Reads a passage for a question: the span that answers it, or that none does.

A head tells for each token how likely the answer begins and ends there, and place 0 stands for "no
answer" (Devlin et al. 2018, §4.3). A long passage is read in overlapping windows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from encoder import headed
from encoder.checkpoint import EncoderCheckpoint
from encoder.headed import Headed, Restored
from encoder.heads import TokenHead, best_spans
from encoder.rows import by_length
from encoder.windows import Framing, Row, Text, allowed, texts
from transformer.errors import CheckpointError

KIND = "reader"
_TOKENS_A_BATCH = 3072  # padding included


@dataclass(frozen=True, slots=True)
class Span:
    """The best answer in a passage: text == passage[start:end].

    Both scores are sums of two logits of the same window, so their difference is a log-odds.
    """

    start: int
    end: int
    text: str
    score: float
    no_answer_score: float

    @property
    def margin(self) -> float:
        """How much more likely this answer is than none."""
        return self.score - self.no_answer_score

    @property
    def answered(self) -> bool:
        """Whether this answer is likelier than none."""
        return self.margin > 0


class Reader:
    """A trained span head on its encoder, laid out to answer fast.

    Attributes:
        note: all that was saved beside the weights
    """

    def __init__(self, restored: Restored, *, dtype: torch.dtype | None = None) -> None:
        note = self.note = restored.note
        try:
            self._framing = Framing(restored.base.tokenizer, **note["framing"])
            self._longest = int(note["longest"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the reader's note cannot be read: {error!r}") from error
        head = TokenHead(restored.base.model.config.d_model, 2)
        self._model = headed.for_inference(restored, head, dtype)

    @classmethod
    def load(
        cls,
        path: Path,
        base: Path | EncoderCheckpoint | None = None,
        *,
        dtype: torch.dtype | None = None,
    ) -> "Reader":
        """Read a reader; the arguments and errors are those of `Classifier.load`."""
        return cls(headed.restore(path, base, kind=KIND), dtype=dtype)

    def read(self, question: str, passage: str) -> Span:
        """The best span of a passage; see `Span.answered` for whether it is an answer."""
        return self.read_all([(question, passage)])[0]

    def read_all(self, pairs: Sequence[tuple[str, str]]) -> list[Span]:
        """`read` of many (question, passage), in the order given."""
        return spans(self._model, self._framing, pairs, longest=self._longest)


def spans(
    model: Headed, framing: Framing, pairs: Sequence[tuple[str, str]], *, longest: int
) -> list[Span]:
    """The best span of each (question, passage), over all windows of the passage.

    Args:
        model: with a head of two outputs a token
        framing: how rows are made
        pairs: questions with their passages
        longest: tokens of a span at most
    """
    passages = list(dict.fromkeys(passage for _, passage in pairs))
    read = dict(zip(passages, texts(framing.tokenizer, passages), strict=True))
    rows = list(_rows(framing, pairs, read))
    found = [_NOWHERE] * len(pairs)
    for batch in by_length([len(row.ids) for _, row in rows], tokens=_TOKENS_A_BATCH):
        chosen = [rows[i][1] for i in batch]
        with torch.inference_mode():
            logits = model.read([row.ids for row in chosen]).cpu()
        places = allowed(chosen, logits.shape[1])
        best = (t.tolist() for t in best_spans(logits, places, longest=longest))
        for i, first, last, score, nothing in zip(batch, *best, strict=True):
            pair, row = rows[i]
            passage = pairs[pair][1]
            told = _span(passage, read[passage], row, first, last, score, nothing)
            found[pair] = max(found[pair], told, key=lambda each: each.margin)
    return found


_NOWHERE = Span(0, 0, "", float("-inf"), 0.0)


def _rows(
    framing: Framing, pairs: Sequence[tuple[str, str]], read: Mapping[str, Text]
) -> Iterator[tuple[int, Row]]:
    asked = texts(framing.tokenizer, [framing.prefix + question for question, _ in pairs])
    for pair, (question, (_, passage)) in enumerate(zip(asked, pairs, strict=True)):
        text = read[passage]
        if not text.ids:
            continue  # nothing can be found in it
        for window in framing.windows(len(framing.head(question.ids)), len(text.ids)):
            yield pair, framing.row(question.ids, text, window)


def _span(
    passage: str, text: Text, row: Row, first: int, last: int, score: float, nothing: float
) -> Span:
    start, end = text.offsets[row.token(first)][0], text.offsets[row.token(last)][1]
    return Span(start, end, passage[start:end], score, nothing)
