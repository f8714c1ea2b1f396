"""Drafts of what comes next, looked up in the prompt and in the answer so far.

An answer from passages repeats them: where its last tokens stand in the text already, what
followed there is likely to follow here ("prompt lookup decoding", Saxena 2023; as a way of
speculative decoding, Leviathan et al. 2023). A draft that one pass over several tokens bears out
saves the passes that it foretold. What is written is the same with drafts and without.
"""

from collections.abc import Sequence

_LONGEST = 7  # tokens of a draft: what a pass costs grows with them
_ROW = 0.45  # of a step's time, for each further token in it (two cores, 500 tokens before)
_MATCHES = {5: 0.85, 3: 0.7, 2: 0.5}  # tokens that must agree, and how often a draft then holds
_SLOWER = 0.04  # of the time without drafts, that wrong ones may cost
_CREDIT = 0.25  # steps lent at the start
_PRIOR = 4.0  # drafted tokens that the first guess of a rate counts for
_FORGET = 0.95  # of what was seen, at each draft: texts change


class Drafts:
    """Proposes what follows, as much as pays, and learns from what came of it.

    Args:
        prompt: ids before the answer
    """

    def __init__(self, prompt: Sequence[int]) -> None:
        self._text: list[int] = []
        self._followed: dict[tuple[int, ...], int] = {}  # by last tokens: where the text went on
        self._rates = {n: _Rate(guess) for n, guess in _MATCHES.items()}
        self._matched = 0
        self._gained = 0.0  # steps, against decoding without drafts
        self._written = 0
        for token in prompt:
            self._add(token)

    def push(self, token: int) -> None:
        """This was written."""
        self._written += 1
        self._add(token)

    def propose(self, room: int) -> list[int]:
        """At most `room` tokens that may follow what was written; often none."""
        for n, rate in self._rates.items():
            start = self._followed.get(tuple(self._text[-n:]))
            if start is None:
                continue
            self._matched = n
            k = min(_paying(rate.share), self._affordable(), room)
            return self._text[start : start + k]
        return []

    def learn(self, drafted: int, accepted: int) -> None:
        """So many of the tokens proposed last were what came."""
        if not drafted:
            return
        self._rates[self._matched].see(accepted, min(accepted + 1, drafted))
        self._gained += accepted - _ROW * drafted

    def _add(self, token: int) -> None:
        here = len(self._text)
        for n in _MATCHES:
            if here >= n:
                self._followed[tuple(self._text[-n:])] = here
        self._text.append(token)

    def _affordable(self) -> int:
        """The longest draft that, all wrong, still leaves the answer about as fast as without."""
        left = self._gained + _CREDIT + _SLOWER * self._written
        return max(0, int(left / _ROW))


class _Rate:
    """How many of the tokens that were tried came true."""

    def __init__(self, guess: float) -> None:
        self._true, self._tried = _PRIOR * guess, _PRIOR

    @property
    def share(self) -> float:
        return self._true / self._tried

    def see(self, true: int, tried: int) -> None:
        self._true = _FORGET * self._true + true
        self._tried = _FORGET * self._tried + tried


def _paying(share: float) -> int:
    """The length of draft that gives the most tokens for the time, each true at this rate."""

    def tokens_a_step(k: int) -> float:
        return sum(share**i for i in range(k + 1)) / (1 + _ROW * k)

    return max(range(_LONGEST + 1), key=tokens_a_step)
