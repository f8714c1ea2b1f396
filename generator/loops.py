"""A model that has begun to repeat itself and will not stop."""

_PERIODS = 32  # tokens of what is repeated, at most
_LENGTH = 96  # tokens of nothing but repetition
_TIMES = 4


class Loop:
    """Tells when an answer ends in one stretch of up to 32 tokens, over and over.

    96 tokens of it and four times at least: a table's rules, a row of zeros and a refrain pass.
    """

    def __init__(self) -> None:
        self._last: list[int] = []  # newest first
        self._repeated = [0] * _PERIODS  # by period - 1: tokens that equal those a period before

    def push(self, token: int) -> bool:
        """Whether the answer with this token is in a loop."""
        looped = False
        for at, earlier in enumerate(self._last):
            repeated = self._repeated[at] = self._repeated[at] + 1 if earlier == token else 0
            looped = looped or repeated >= max(_LENGTH, _TIMES * (at + 1))
        self._last.insert(0, token)
        del self._last[_PERIODS:]
        return looped
