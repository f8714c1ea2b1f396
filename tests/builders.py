"""Tiny real objects: tokenizers with vocabularies that fit on a line, encoders of two layers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import torch
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from torch import Tensor, nn

from encoder import EmbeddingConfig, Encoder, EncoderConfig
from encoder.checkpoint import EncoderCheckpoint, save
from transformer import Tokenizer
from transformer.runtime import seeded

BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
XLMR_SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")

M = TypeVar("M", bound=nn.Module)


def wordpiece(
    tokens: Sequence[str],
    *,
    specials: Sequence[str] = BERT_SPECIALS,
    around: tuple[str, str] = ("[CLS]", "[SEP]"),
    unknown: str = "[UNK]",
    lowercase: bool = True,
) -> Backend:
    """A WordPiece tokenizer as BERT's: ids are places in specials, then tokens."""
    vocabulary = {token: i for i, token in enumerate([*specials, *tokens])}
    backend = Backend(models.WordPiece(vocab=vocabulary, unk_token=unknown))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.add_special_tokens([AddedToken(token, special=True) for token in specials])
    first, last = around
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        special_tokens=[(token, vocabulary[token]) for token in around],
    )
    return backend


def numbered_words(n: int) -> list[str]:
    """n words that a WordPiece tokenizer keeps whole: w0, w1, …"""
    return [f"w{i}" for i in range(n)]


def sentence(rng: torch.Generator, words: int, *, of: int = 92) -> str:
    """So many random ones of the numbered words."""
    return " ".join(f"w{i}" for i in torch.randint(of, (words,), generator=rng).tolist())


def bert_tokenizer(vocabulary: int = 97) -> Tokenizer:
    """Specials, then numbered words; a text of n words takes n + 2 tokens."""
    return Tokenizer(wordpiece(numbered_words(vocabulary - len(BERT_SPECIALS))))


def encoder_checkpoint(
    config: EncoderConfig, embedding: EmbeddingConfig | None = None, *, seed: int = 0
) -> EncoderCheckpoint:
    """A randomly initialised encoder over numbered words, as if it had just been trained."""
    model = randomised(Encoder(config), seeded(seed)).eval()
    embedding = embedding or EmbeddingConfig(max_tokens=config.max_tokens)
    return EncoderCheckpoint(model, bert_tokenizer(config.vocab_size), embedding, "0" * 16)


def randomised(module: M, rng: torch.Generator) -> M:
    """Every parameter drawn anew, so that no zero bias or unit gain hides a mistake."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            gain = float(parameter.ndim == 1 and name.endswith("weight"))
            parameter.copy_(gain + 0.3 * torch.randn(parameter.shape, generator=rng))
    return module


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same ones for the same shape and seed."""
    return torch.randn(shape, generator=seeded(seed))


def spelling_encoder(
    folder: Path, *, seed: int = 0, d_model: int = 16, max_tokens: int = 256, prefix: str = ""
) -> Path:
    """The folder of an encoder that spells: each character is a token, so any text can be read."""
    letters = [chr(c) for c in range(33, 127)]
    tokens = [*letters, *(f"##{letter}" for letter in letters)]
    config = EncoderConfig(
        vocab_size=len(tokens) + len(BERT_SPECIALS),
        d_model=d_model,
        n_layers=1,
        n_heads=2,
        d_ff=24,
        max_tokens=max_tokens,
    )
    model = randomised(Encoder(config), seeded(seed)).eval()
    embedding = EmbeddingConfig(max_tokens=max_tokens, document_prefix=prefix)
    save(EncoderCheckpoint(model, Tokenizer(wordpiece(tokens)), embedding, ""), folder)
    return folder
