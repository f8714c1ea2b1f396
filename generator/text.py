"""Token ids to text that may be shown at once: whole characters, and nothing of a stop text."""

from collections.abc import Sequence

from transformer.tokenizer import Tokenizer

_BROKEN = "\ufffd"  # what a tokenizer writes for bytes that form no character (yet)
_PATIENCE = 16  # tokens after which bytes that still form none are taken as broken for good


class Detokenizer:
    """Text of a growing list of tokens, at a cost that grows with it alone.

    A character of UTF-8 may be spread over up to four tokens, and a token may hold the end of
    one and the start of the next. So a short window of tokens is decoded again at each push, and
    what is whole in it is given out. The window begins with the tokens before the open ones,
    since some tokenizers drop a space in front of the first.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._window: list[int] = []
        self._open = 0  # where in the window the tokens begin that are not given out whole
        self._shown = 0  # characters of the window's text that were given out

    def push(self, token: int) -> str:
        """What can be shown now that this token came; often a word, sometimes nothing."""
        self._window.append(token)
        text = self._tokenizer.decode(self._window)
        whole = len(text.rstrip(_BROKEN))
        late = len(self._window) - self._open > _PATIENCE
        if late:  # three bytes may still be the start of a character, older ones are not
            whole = max(whole, len(text) - 3)
        piece = text[self._shown : whole]
        self._shown = max(self._shown, whole)
        if late:
            self._window, self._open = self._window[-3:], 0
            self._shown = len(self._tokenizer.decode(self._window).rstrip(_BROKEN))
        elif whole == len(text):
            self._window = self._window[self._open :]
            self._open = len(self._window)
            self._shown = len(self._tokenizer.decode(self._window))
        return piece

    def flush(self) -> str:
        """The rest: bytes of a character that was cut off show as one U+FFFD."""
        rest = self._tokenizer.decode(self._window)[self._shown :]
        self._window, self._open, self._shown = [], 0, 0
        return rest.rstrip(_BROKEN) + _BROKEN if rest.endswith(_BROKEN) else rest


class StopFilter:
    """Holds back what may be the start of a stop text until it is clear.

    Args:
        stops: the texts; none of them is ever shown, not even in part
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.stopped = False

    def push(self, piece: str) -> str:
        """What of the text so far can be shown; nothing more once a stop text came."""
        if self.stopped:
            return ""
        text = self._held + piece
        places = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if places:
            self.stopped, self._held = True, ""
            return text[: min(places)]
        held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def flush(self) -> str:
        """What was held back and turned out to be ordinary."""
        rest, self._held = self._held, ""
        return rest


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of text that is a beginning of stop, but not all of it."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
