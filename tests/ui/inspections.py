"""An inspection as a tiny library's models would give it, with texts that no page may obey."""

import numpy as np

from encoder.inspecting import InspectedText
from generator.inspecting import InspectedAnswer
from rag.inspecting import Answering, Facts, Inspection, Meeting
from transformer.inspecting import AttentionMap, Token

HOSTILE = '<img src=x onerror="window.__pwn=1">'


def tokens(*texts: str, start: int = 0) -> tuple[Token, ...]:
    return tuple(Token(text, start + at) for at, text in enumerate(texts))


def attention(shown: tuple[Token, ...], *, layers: int, heads: int, causal: bool) -> AttentionMap:
    """Random weights whose rows sum to one; of a causal map some goes to what is not shown."""
    m = len(shown)
    weights = np.random.default_rng(m).random((layers, heads, m, 1 + m))
    if causal:
        weights[..., 1:] = np.tril(weights[..., 1:])
    else:
        weights[..., 0] = 0
    weights /= weights.sum(-1, keepdims=True)
    return AttentionMap(shown, weights.astype(np.float16))


def read(*texts: str) -> InspectedText:
    parts = np.random.default_rng(len(texts)).normal(size=(len(texts), 8)).astype(np.float32)
    return InspectedText(tuple(range(len(texts))), tokens(*texts), parts)


def facts(name: str, positions: str, *, speaks: bool = True, groups: int = 2) -> Facts:
    return Facts(name, 3, 2, groups, 8, positions, 2, speaks)


def meeting() -> Meeting:
    asked, found = read("<s>", "How", "much", "?"), read("<s>", HOSTILE, "42", "litres", "</s>")
    return Meeting(
        facts("e5-small", "learned"),
        "mean",
        asked,
        found,
        attention(asked.tokens, layers=3, heads=2, causal=False),
        attention(found.tokens, layers=3, heads=2, causal=False),
        cosine=float(asked.vector @ found.vector),
        question_shares=asked.shares(found.vector),
        passage_shares=found.shares(asked.vector),
        taught=True,
        left=1234,
    )


def answering(*, speaks: bool = True) -> Answering:
    everything = tokens("<|im_start|>", "system", HOSTILE, "42", "How", "?", "It", "is", "42")
    looks = np.full((3, 9), 0.1, np.float32)
    looks[2, 3] = 0.2
    needs = np.array([[0.0, 0.01], [0.0, 0.0], [8.0, -0.5]], np.float32)
    answer = InspectedAnswer(
        tokens=everything,
        passage=range(2, 4),
        question=range(4, 6),
        answer=range(6, 9),
        text="It is 42",
        chances=np.array([0.5, 0.6, 0.97], np.float32),
        looks=looks,
        needs=needs,
        attention=attention(everything[2:], layers=4, heads=3, causal=True),
    )
    return Answering(
        facts("smollm2", "rotary", speaks=speaks, groups=1), answer, (HOSTILE, "Second."), 0
    )


def inspection(*, speaks: bool = True) -> Inspection:
    return Inspection("How much?", f"{HOSTILE} 42 litres", meeting(), answering(speaks=speaks))
