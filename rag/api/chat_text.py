"""The text of a chat's answer as its client wants it: up to a stop text, or so many tokens long."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from generator.text import StopFilter
from rag import shapes
from rag.records import Answer

# The end of each token of a text, in code points of it.
Ends = Callable[[str], list[int]]


class Told:
    """What is told of an answer. Quotations are cut like what was written.

    Args:
        stops: texts at which it ends, without them
        most: tokens; None for as many as come
        ends: cuts a text into tokens

    Attributes:
        text: what was told so far
    """

    def __init__(self, stops: Sequence[str], most: int | None, ends: Ends) -> None:
        self.text = ""
        self._filter = StopFilter(stops)
        self._most = most
        self._ends = ends
        self._full = False

    def push(self, piece: str) -> str:
        """What of the answer can be told now that this came."""
        return self._within(self._filter.push(piece))

    def end(self) -> str:
        """What was held back for it might have become a stop text."""
        return self._within(self._filter.flush())

    def finish_reason(self, answer: Answer) -> Literal["stop", "length"]:
        if self._full:
            return "length"
        return "stop" if self._filter.stopped else answer.finish_reason

    def evidence(self, answer: Answer) -> dict[str, Any]:
        """What rides beside the choices, of what was told: spans count in its code points."""
        whole = shapes.answer(answer)
        told = len(self.text)
        kept = [one for one in whole["citations"] if one["answer_start"] < told]
        citations = [one | {"answer_end": min(one["answer_end"], told)} for one in kept]
        unsupported = [[a, min(b, told)] for a, b in whole["unsupported"] if a < told]
        keys = ("abstained", "confidence", "mode", "kind", "query", "notes")
        rest = {key: whole[key] for key in keys}
        return {"citations": citations, "unsupported": unsupported, **rest}

    def _within(self, piece: str) -> str:
        if self._full or not piece:
            return ""
        if self._most is not None:
            ends = self._ends(self.text + piece)
            if len(ends) > self._most:
                self._full = True
                piece = piece[: max(0, ends[self._most - 1] - len(self.text))]
        self.text += piece
        return piece
