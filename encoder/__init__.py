"""The encoder: a BERT-style model that turns texts into vectors."""

from encoder.config import EmbeddingConfig, EncoderConfig
from encoder.embedder import Embedder
from encoder.model import Encoder

__all__ = ["Embedder", "EmbeddingConfig", "Encoder", "EncoderConfig"]
