"""Passages a second: our embedder beside sentence-transformers and ONNX Runtime, same weights."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import speed
from benchmarks.passages import passages, source_texts
from benchmarks.rounds import Missing, Timed, timed
from benchmarks.table import Table
from encoder import Embedder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FP32, BF16, INT8 = "sentence-transformers fp32", "sentence-transformers bf16", "onnxruntime int8"
_TOKENS = 120
_TARGETS = {FP32: 1.7, BF16: 1.15}
_PEERS_BATCH = 32  # sentence-transformers' default; longer batches are not faster on two cores


def measure(
    *,
    encoder: Path,
    data: Path | None,
    onnx: Path | None,
    texts: int,
    rounds: int,
    threads: int,
) -> Table:
    """Rates on the same passages, and how near our vectors are to the reference in float32.

    Args:
        encoder: a checkpoint folder that sentence-transformers reads too
        data: folder of public corpora
        onnx: an int8 export of the same model
        texts: how many passages
        rounds: that count
        threads: of each contender
    """
    torch.set_num_threads(threads)
    embedder = Embedder.load(encoder)
    source, found = source_texts(data)
    chosen = passages(found, texts, tokens=_TOKENS, count=embedder.count)
    peers = _peers(encoder, onnx, chosen, threads)
    ours = timed(lambda: embedder.embed_documents(chosen))
    rows = speed.run(speed.Race("texts_per_s", texts, ours, peers, _TARGETS), rounds)
    tokens = sum(map(embedder.count, chosen)) / texts
    return Table(
        "embedding",
        f"Embedding: {texts} passages of {tokens:.0f} tokens from {source}, {threads} threads",
        tuple(rows),
        (_likeness(encoder, embedder, chosen),),
    )


def _peers(
    encoder: Path, onnx: Path | None, texts: Sequence[str], threads: int
) -> Mapping[str, Callable[[], Timed]]:
    return {
        FP32: lambda: _sentence_transformers(encoder, torch.float32, texts),
        BF16: lambda: _sentence_transformers(encoder, torch.bfloat16, texts),
        INT8: lambda: _onnxruntime(encoder, onnx, texts, threads),
    }


def _reference(encoder: Path, dtype: torch.dtype) -> "SentenceTransformer":
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(str(encoder), device="cpu", model_kwargs={"dtype": dtype})
    except ValueError as error:  # a checkpoint of our own format
        raise Missing(f"it does not read {encoder.name}") from error


def _sentence_transformers(encoder: Path, dtype: torch.dtype, texts: Sequence[str]) -> Timed:
    model = _reference(encoder, dtype)
    return timed(
        lambda: model.encode(list(texts), batch_size=_PEERS_BATCH, normalize_embeddings=True)
    )


def _likeness(encoder: Path, embedder: Embedder, texts: Sequence[str]) -> str:
    dtype = str(next(embedder.model.parameters()).dtype).removeprefix("torch.")
    try:
        model = _reference(encoder, torch.float32)
    except (ImportError, Missing):
        return f"attest computes in {dtype}; nothing is here to compare its vectors with"
    theirs = model.encode(list(texts), batch_size=_PEERS_BATCH, normalize_embeddings=True)
    cosines = (np.asarray(theirs) * embedder.embed_documents(texts)).sum(axis=1)
    return (
        f"attest computes in {dtype}; cosine to {FP32}: "
        f"min {cosines.min():.5f}, mean {cosines.mean():.5f}"
    )


def _onnxruntime(encoder: Path, onnx: Path | None, texts: Sequence[str], threads: int) -> Timed:
    if onnx is None:
        raise Missing("no model: name one with --onnx FILE")
    import onnxruntime  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(onnx), options, ["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.enable_padding()
    # In batches of similar length, as sentence-transformers does for itself.
    ordered = sorted(texts, key=len, reverse=True)
    batches = [
        ordered[start : start + _PEERS_BATCH] for start in range(0, len(ordered), _PEERS_BATCH)
    ]
    return timed(lambda: [_encoded(session, tokenizer, batch) for batch in batches])


def _encoded(session: Any, tokenizer: Any, batch: Sequence[str]) -> NDArray[np.float32]:
    rows = tokenizer.encode_batch_fast(list(batch))
    mask = np.array([row.attention_mask for row in rows])  # (b, s)
    fed = {
        "input_ids": np.array([row.ids for row in rows]),
        "attention_mask": mask,
        "token_type_ids": np.zeros_like(mask),
    }
    (hidden,) = session.run(None, fed)  # (b, s, d)
    summed = (hidden * mask[..., None]).sum(axis=1)
    unit: NDArray[np.float32] = summed / np.linalg.norm(summed, axis=1, keepdims=True)
    return unit
