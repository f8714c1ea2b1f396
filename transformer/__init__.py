"""The blocks that the encoder and the generator share. Knows torch, nothing of retrieval.

Axis legend, used in every shape comment of the models:

    b  batch              h  query heads          d  model width
    s  query positions    g  key/value heads      e  width of one head
    t  key positions      v  vocabulary           f  feed-forward width

A mask is bool and True means "may attend".
"""

from transformer.attention import Attention
from transformer.block import Block
from transformer.cache import Cache
from transformer.errors import CheckpointError, LengthError, ModelError
from transformer.tokenizer import Tokenizer

__all__ = [
    "Attention",
    "Block",
    "Cache",
    "CheckpointError",
    "LengthError",
    "ModelError",
    "Tokenizer",
]
