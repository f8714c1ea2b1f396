"""`python -m benchmarks.plan`: the tables of docs/scale.md, from rates that were measured.

Nothing is measured here. What is known stands at the top with where it was taken from; the rest are
formulas. A test holds the page to these tables, and the first part to docs/reference/benchmarks.md.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

SIZES = (10**6, 10**7, 10**8, 10**9)  # chunks
WIDTH = 384  # numbers of a vector: e5-small's and minilm's


@dataclass(frozen=True, slots=True)
class Known:
    """A figure, and the words that it stands in on the page of benchmarks, or who published it."""

    value: float
    told: str


# Measured here, on two cores.
E5 = Known(53, "| e5-small, passages of 120 tokens a second | 53 |")
MINILM = Known(113, "| passages of 120 tokens a second | 113 |")
ENCODING = Known(0.76, "minilm: share of the encoder's own work | 0.76 (0.74–0.78) |")
DATABASE = Known(2179, "| database: texts, and vectors in float16 | 2,179 bytes |")
LEXICAL = Known(147, "| lexical index | 147 bytes |")
WORDS = Known(47, "| distinct words that are searched for | 47 |")
_ROW_5 = "| 10⁵ | 0.22 s | 0.22 GB | 0.15, 0.09, 0.01 GB | 0.99 | 4.6 ms | 12.2 ms |"
_ROW_6 = "| 10⁶ | 0.80 s | 1.08 GB | 1.50, 0.85, 0.07 GB | 0.99 | 9.8 ms | 19.0 ms |"
DENSE = Known(850, _ROW_6)  # bytes a chunk: 0.85 GB by 10⁶
AT_100_000, AT_1_000_000 = Known(12.2, _ROW_5), Known(19.0, _ROW_6)
ANSWER = Known(2.5, "warm, three questions | 1.6–1.8 and 1.6–2.5 s;")

# Published by others.
HNSW_LINKS = Known(32, "FAISS wiki, Guidelines to choose an index: 4 d + 8 M bytes, M from 4 to 64")
RABITQ_MEMORY = Known(0.28, "Milvus 2.6 announcement: IVF_RABITQ with SQ8 beside float32")
RABITQ_QPS = Known(946, "the same: 10⁶ vectors of 768, recall 94.9 %, AWS m6id.2xlarge")
RABITQ_CORES, RABITQ_WIDTH = 8, 768
DISKANN_MEMORY = Known(
    0.225, "Milvus configuration: PQCodeBudgetGBRatio + SearchCacheBudgetGBRatio"
)

MEASURED = (E5, MINILM, ENCODING, DATABASE, LEXICAL, WORDS, DENSE, AT_100_000, AT_1_000_000, ANSWER)

# Assumed.
CORES, MEMORY, FILLED = 16, 64e9, 0.7  # of a node, and the share of its memory that is planned with
SEARCHES = 10  # a second, at the same time
SAVED = 8192  # chunks changed before the embedded dense index is written again (index/vectors.py)


def core_hours(chunks: int, encoder: Known) -> float:
    """To take chunks in: encoding, and what reading and storing add to it."""
    beside = 2 / MINILM.value * (1 / ENCODING.value - 1)  # core-seconds a chunk
    return chunks * (2 / encoder.value + beside) / 3600


def weeks_of_nodes(chunks: int) -> int:
    return math.ceil(core_hours(chunks, E5) / (CORES * 24 * 7))


def codes(chunks: int) -> float:
    """Bytes of the embedded dense index that must be in memory: all but the vectors."""
    return chunks * (DENSE.value - 2 * WIDTH)


def hybrid_ms(chunks: int) -> float:
    """A search beside the encoding of its query: a line through 10⁵ and 10⁶ chunks."""
    slope = (AT_1_000_000.value - AT_100_000.value) / (10**6 - 10**5)
    return AT_1_000_000.value + slope * (chunks - 10**6)


def written(chunks: int) -> float:
    """Bytes that the embedded dense index writes for each chunk that changes."""
    return DENSE.value * chunks / SAVED


def hnsw(chunks: int) -> float:
    return chunks * (4 * WIDTH + 8 * HNSW_LINKS.value)


def rabitq(chunks: int) -> float:
    return chunks * 4 * WIDTH * RABITQ_MEMORY.value


def diskann(chunks: int) -> float:
    return chunks * 4 * WIDTH * DISKANN_MEMORY.value


def sparse(chunks: int) -> float:
    """BM25 in Milvus: an id and a weight for each distinct word."""
    return chunks * WORDS.value * 8


def rabitq_seconds(chunks: int) -> float:
    """Core-seconds of a dense search, in proportion to rows and width."""
    once = RABITQ_CORES / RABITQ_QPS.value
    return once * (WIDTH / RABITQ_WIDTH) * chunks / 10**6


def query_nodes(chunks: int) -> tuple[int, int]:
    """For memory (IVF_RABITQ and BM25), and for the searches of a second."""
    memory = (rabitq(chunks) + sparse(chunks)) / (MEMORY * FILLED)
    return math.ceil(memory), math.ceil(SEARCHES * rabitq_seconds(chunks) / CORES)


def tables() -> Iterator[tuple[str, str]]:
    """Name and Markdown of each table."""
    yield (
        "taking in",
        _table(
            ("core-hours, minilm", lambda n: _figure(core_hours(n, MINILM))),
            ("core-hours, e5-small", lambda n: _figure(core_hours(n, E5))),
            ("nodes that do it in a week, e5-small", lambda n: f"{weeks_of_nodes(n)}"),
        ),
    )
    yield (
        "storage",
        _table(
            ("database", lambda n: _bytes(n * DATABASE.value)),
            ("of that, all but vectors", lambda n: _bytes(n * (DATABASE.value - 2 * WIDTH))),
            ("embedded dense index", lambda n: _bytes(n * DENSE.value)),
            ("embedded lexical index", lambda n: _bytes(n * LEXICAL.value)),
            (
                "Milvus: float32 vectors and BM25, one copy",
                lambda n: _bytes(n * 4 * WIDTH + sparse(n)),
            ),
        ),
    )
    yield (
        "one machine",
        _table(
            ("memory for codes and lists", lambda n: _bytes(codes(n))),
            ("memory for all vectors too", lambda n: _bytes(n * DENSE.value)),
            ("hybrid search", lambda n: _seconds(hybrid_ms(n) / 1000)),
            ("written for a chunk that changes", lambda n: _bytes(written(n))),
        ),
    )
    yield (
        "milvus",
        _table(
            ("memory, HNSW", lambda n: _bytes(hnsw(n))),
            ("memory, IVF_RABITQ with SQ8", lambda n: _bytes(rabitq(n))),
            ("memory, DISKANN", lambda n: _bytes(diskann(n))),
            ("memory, BM25", lambda n: _bytes(sparse(n))),
            ("core-seconds of a dense search, IVF_RABITQ", lambda n: _figure(rabitq_seconds(n))),
            ("query nodes for memory, IVF_RABITQ and BM25", lambda n: f"{query_nodes(n)[0]}"),
            (f"query nodes for {SEARCHES} searches a second", lambda n: f"{query_nodes(n)[1]}"),
        ),
    )


Line = tuple[str, Callable[[int], str]]


def _table(*lines: Line) -> str:
    head = ["chunks", *(f"10{_raised(n)}" for n in SIZES)]
    rows: Sequence[Sequence[str]] = [head, ["---"] * len(head)]
    rows = [*rows, *([name, *map(cell, SIZES)] for name, cell in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _raised(n: int) -> str:
    return "⁰¹²³⁴⁵⁶⁷⁸⁹"[round(math.log10(n))]


def _figure(value: float) -> str:
    """Two digits that count: no more is known."""
    digits = 1 - math.floor(math.log10(value))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def _bytes(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= size:
            return f"{_figure(value / size)} {unit}"
    return f"{_figure(value / 1e3)} kB"


def _seconds(value: float) -> str:
    return f"{_figure(value)} s" if value >= 1 else f"{_figure(1000 * value)} ms"


if __name__ == "__main__":
    for name, table in tables():
        print(f"{name}\n\n{table}\n")
