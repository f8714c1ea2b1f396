"""Adapters that come with the product, each for one model, told by that model's fingerprint."""

from functools import lru_cache
from pathlib import Path

from transformer import lora
from transformer.lora import Adapter

FILE = "adapter.safetensors"


@lru_cache(maxsize=8)
def find(base: str, folder: Path) -> Adapter | None:
    """The adapter for the model of this fingerprint, None where there is none.

    Args:
        base: fingerprint
        folder: of folders with an adapter and its model card

    Raises:
        CheckpointError: an adapter in the folder is damaged.
    """
    for file in sorted(folder.glob(f"*/{FILE}")):
        adapter = lora.read(file)
        if adapter.base == base:
            return adapter
    return None
