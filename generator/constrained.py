"""Decoding that can only follow given lines: what comes out is one of them, byte for byte.

The lines form a trie over their tokens, and a model has a say only where they part. So one pass
reads the trie up to its last parting, each branch seeing the prompt and itself (tree attention:
Miao et al. 2024, "SpecInfer", §4.2), in place of a step for each token. It gives the probability
of every line among the lines. The rest of the likeliest is then read in a second pass.
"""

from collections import abc
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import exp

import torch
from torch import Tensor

from generator.decoding import checked
from generator.model import Generator
from transformer.cache import Cache

END = -1  # in place of a token: here a line is over

_BREAK = "\n"  # between two lines
_LEAST = -1e30  # in place of an infinite logit: where all ways are barred, all are alike
_ANYTIME = nullcontext()


@dataclass(frozen=True, slots=True)
class Quoted:
    """Which lines were chosen, and how surely."""

    chosen: tuple[int, ...]  # places among the lines given, as they were written
    # Of each chosen line, summed over what it adds, under the model's whole softmax.
    log_probabilities: tuple[float, ...]
    # Of every line given: the probability that it comes first, where only lines may come. At each
    # parting the model's softmax is taken over the ways that lead on; they sum to 1.
    shares: tuple[float, ...]
    # The declining line's share, which is the mass of where it leaves the others against theirs;
    # None where no line declines.
    decline_probability: float | None


Quoting = abc.Generator[str, None, Quoted]  # "" between steps: nothing is to be shown before


class Trie:
    """Lines of tokens, joined where they begin alike; node 0 stands before the first token.

    A node's children have higher numbers than itself.

    Raises:
        ValueError: there is no line, or one is there twice.
    """

    def __init__(self, lines: Sequence[Sequence[int]]) -> None:
        self.tokens = [END]  # of each node: what leads to it
        self.parents = [0]
        self.depths = [0]
        self.children: list[dict[int, int]] = [{}]
        self.leaves: list[int] = []  # of each line
        if not lines:
            raise ValueError("there are no lines to choose from: give at least one")
        for place, line in enumerate(lines):
            leaf = self._grown(line)
            if leaf in self.leaves:
                other = self.leaves.index(leaf)
                raise ValueError(f"lines {other + 1} and {place + 1} are the same: give one")
            self.leaves.append(leaf)

    @property
    def trunk(self) -> list[int]:
        """The nodes where more than one way leads on, and all on the way to them, but the root."""
        needed = [len(ways) > 1 for ways in self.children]
        for node in range(len(needed) - 1, 0, -1):
            needed[self.parents[node]] |= needed[node]
        return [node for node in range(1, len(needed)) if needed[node]]

    def seen(self, nodes: Sequence[int]) -> Tensor:
        """Which of these nodes each of them has behind it, itself included, (n, n)."""
        place = {node: i for i, node in enumerate(nodes)}
        seen = torch.eye(len(nodes), dtype=torch.bool)
        for i, node in enumerate(nodes):
            if (parent := self.parents[node]) in place:
                seen[i] |= seen[place[parent]]
        return seen

    def shares(self, ways: Mapping[int, Mapping[int, float]]) -> list[float]:
        """The probability of each line; they sum to 1.

        Args:
            ways: by node where more than one way leads on, the log-probability of each token
        """
        sums = [0.0] * len(self.tokens)
        for node in range(1, len(sums)):
            parent = self.parents[node]
            only = len(self.children[parent]) == 1
            sums[node] = sums[parent] + (0.0 if only else ways[parent][self.tokens[node]])
        return [exp(sums[leaf]) for leaf in self.leaves]

    def _grown(self, line: Sequence[int]) -> int:
        node = 0
        for token in (*line, END):
            ways = self.children[node]
            if token not in ways:
                ways[token] = len(self.tokens)
                self.tokens.append(token)
                self.parents.append(node)
                self.depths.append(self.depths[node] + 1)
                self.children.append({})
            node = ways[token]
        return node


def room(lines: Sequence[Sequence[int]], most: int = 1) -> int:
    """Positions behind the prompt that `follow` needs for lines of these tokens, at most."""
    longest = sorted(map(len, lines), reverse=True)[:most]
    # The trie stands where the next line will: behind all but the last of them, and the breaks.
    return sum(longest) + most + sum(map(len, lines))


def follow(
    model: Generator,
    cache: Cache,
    logits: Tensor,
    lines: Sequence[str],
    *,
    encode: Callable[[str], list[int]],
    ends: Collection[int],
    decline: int | None = None,
    most: int = 1,
    turn: AbstractContextManager[None] = _ANYTIME,
) -> Quoting:
    """The likeliest of the lines behind a prompt, and what the model thinks of all of them.

    Where one line declines, it is chosen if it outweighs all the others together, else the
    likeliest of those. A further line comes where all that may come outweigh an end.

    Args:
        model: is asked
        cache: of one row that has read the prompt, with `room` behind it
        logits: of what follows the prompt, (v,)
        lines: texts, no two alike; none is ever cut
        encode: a text's tokens; a line's are those that it has behind what stands before it
        ends: ids that end an answer
        decline: place of the line that says that none of the others is right
        most: lines one behind the other at most, a line break between
        turn: held during each pass, so that other answers can take theirs between

    Raises:
        ValueError: there is no line, or one is empty or there twice.
        LengthError: there is no room.
        ModelError: the model's numbers are broken.
    """
    tokens = [encode(line) for line in lines]
    answer = _Answer(model, cache, logits, ends)
    with turn:
        shares = answer.weigh(tokens)
    chosen = [_likeliest(shares, decline)]
    yield ""
    with turn:
        scores = [answer.write(tokens[chosen[0]])]
    while len(chosen) < most and chosen[0] != decline:
        left = [place for place in range(len(lines)) if place not in (*chosen, decline)]
        text = _BREAK.join(lines[place] for place in chosen)
        ways = [answer.written, *(encode(text + _BREAK + lines[place]) for place in left)]
        yield ""
        with turn:
            way = _likeliest(answer.weigh(ways), 0)
        if way == 0:
            break
        chosen.append(left[way - 1])
        yield ""
        with turn:
            scores.append(answer.write(ways[way]))
    declined = None if decline is None else shares[decline]
    return Quoted(tuple(chosen), tuple(scores), tuple(shares), declined)


class _Answer:
    """What is written so far, with the logits before each of its tokens and behind the last."""

    def __init__(
        self, model: Generator, cache: Cache, logits: Tensor, ends: Collection[int]
    ) -> None:
        self.written: list[int] = []
        self._model, self._cache, self._begun = model, cache, cache.length
        self._rows = checked(logits)[None]  # (1 + written, v)
        self._ends = list(ends)

    @torch.inference_mode()
    def weigh(self, ways: Sequence[Sequence[int]]) -> list[float]:
        """The share of each way to go on; ways are whole, from the beginning of the answer."""
        kept = self._keep(ways)
        trie = Trie([way[kept:] for way in ways])
        trunk = trie.trunk
        rows = {0: self._rows[kept]}
        if trunk:
            partings = [i for i, node in enumerate(trunk) if len(trie.children[node]) > 1]
            logits = checked(self._model.logits(self._through(trie, trunk)[partings]))
            rows |= {trunk[i]: row for i, row in zip(partings, logits, strict=True)}
        return trie.shares(
            {node: self._ways(row, trie.children[node]) for node, row in rows.items()}
        )

    @torch.inference_mode()
    def write(self, way: Sequence[int]) -> float:
        """Take a way; the log-probability of what it adds, under the whole softmax."""
        kept = self._keep([way])
        added = torch.tensor(way[kept:])
        logits = checked(self._model(added[None], self._cache)[0])
        self._rows = torch.cat([self._rows[: kept + 1], logits])
        self.written = list(way)
        before = self._rows[kept:-1]
        chosen = before.gather(1, added[:, None])[:, 0]
        return float((chosen - before.logsumexp(-1)).sum())

    def _keep(self, ways: Sequence[Sequence[int]]) -> int:
        """Forget what was written behind the beginning that all ways share; its length.

        Some tokenizers put a line break into one token with what stands before it.
        """
        kept = len(self.written)
        for way in ways:
            shared = zip(self.written[:kept], way, strict=False)
            kept = next((i for i, (a, b) in enumerate(shared) if a != b), min(kept, len(way)))
        self._cache.truncate(self._begun + kept)
        return kept

    def _ways(self, logits: Tensor, tokens: Iterable[int]) -> dict[int, float]:
        """Log-probabilities of tokens among themselves."""
        ids = list(tokens)
        over = logits[self._ends].logsumexp(0)
        allowed = torch.stack([over if token == END else logits[token] for token in ids])
        return dict(zip(ids, allowed.clamp(min=_LEAST).log_softmax(0).tolist(), strict=True))

    def _through(self, trie: Trie, trunk: Sequence[int]) -> Tensor:
        """What the head reads at each node, (nodes, d); the cache stays as it was."""
        model, before = self._model, self._cache.length
        places = torch.tensor([before + trie.depths[node] - 1 for node in trunk])
        x = model.embedding(torch.tensor([[trie.tokens[node] for node in trunk]]))
        if model.positions is not None:
            x = x + model.positions.weight[places + model.positions.offset]
        rotary = model.rotary
        rotation = None if rotary is None else (rotary.cosines[places], rotary.sines[places])
        mask = torch.cat([torch.ones(len(trunk), before, dtype=torch.bool), trie.seen(trunk)], 1)
        for layer, block in enumerate(model.blocks):
            x = block(x, mask=mask, rotation=rotation, cache=self._cache, layer=layer)
        return model.norm(x)[0]  # type: ignore[no-any-return]


def _likeliest(shares: Sequence[float], against: int | None) -> int:
    """The place of the largest share; `against` only where it outweighs all others together."""
    if against is not None and (shares[against] > 0.5 or len(shares) == 1):
        return against
    return max((i for i in range(len(shares)) if i != against), key=shares.__getitem__)
