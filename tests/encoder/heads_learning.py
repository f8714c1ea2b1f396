"""A tiny encoder over numbered words, and runs that are over in a second."""

from encoder import EncoderConfig
from encoder.checkpoint import EncoderCheckpoint
from tests.builders import encoder_checkpoint
from transformer.training import TrainingConfig

TINY = EncoderConfig(vocab_size=45, d_model=16, n_layers=2, n_heads=2, d_ff=24, max_tokens=24)


def tiny_encoder() -> EncoderCheckpoint:
    """Over the words w0 to w39."""
    return encoder_checkpoint(TINY)


def short_run(steps: int, learning_rate: float = 2e-2) -> TrainingConfig:
    """In float32, so that it goes the same everywhere."""
    return TrainingConfig(steps=steps, learning_rate=learning_rate, precision="float32")
