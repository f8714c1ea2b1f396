"""A process that adds vectors to an index and saves it, again and again, until it is ended."""

import sys
from pathlib import Path

import numpy as np

from index.records import Vectors
from index.vectors import VectorIndex

D = 8


def rows(seq: int) -> Vectors:
    """Those of the change of this number: chunks 10 × seq to 10 × seq + 9."""
    rng = np.random.default_rng(seq)
    return Vectors(np.arange(10 * seq, 10 * seq + 10), rng.standard_normal((10, D), np.float32))


def _main(folder: str) -> None:
    index = VectorIndex(Path(folder), "m", D)
    while True:
        with index.updating():
            seq = index.applied + 1
            index.apply(seq, [], rows(seq))
        index.save()
        print(seq, flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
