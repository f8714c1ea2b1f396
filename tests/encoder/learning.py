"""A small language to learn within seconds: its words go by topic, and topics by document."""

import random
from pathlib import Path

_TOPICS = (
    "garden river meadow willow heron otter",
    "engine piston gasket clutch torque valve",
    "violin cello quartet sonata bow rosin",
    "flour oven yeast crust butter kneading",
)
_LINKS = (
    "near the {} a {} waits",
    "every {} needs its {}",
    "no {} without a {}",
    "the {} and the {} are old",
)


def documents(n: int, *, seed: int = 0) -> list[str]:
    """n documents of four sentences each."""
    drawn = random.Random(seed)
    found = []
    for _ in range(n):
        words = drawn.choice(_TOPICS).split()
        sentences = (drawn.choice(_LINKS).format(*drawn.sample(words, 2)) for _ in range(4))
        found.append(" ".join(f"{sentence}." for sentence in sentences))
    return found


def texts_file(folder: Path, n: int = 120) -> Path:
    """Such documents, one a line."""
    file = folder / "texts.txt"
    file.write_text("\n".join(documents(n)), encoding="utf-8")
    return file
