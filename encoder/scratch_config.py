"""The config file of an encoder that is made from nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from encoder.config import EncoderConfig
from encoder.contrast import ContrastConfig, require_fit
from encoder.pretrain import MlmConfig
from transformer import configuring
from transformer.errors import TrainingError
from transformer.init import DEVIATION
from transformer.tokenizer_training import Kind


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Files, by their path from the config's folder, or else from the working folder."""

    texts: tuple[Path, ...]  # .txt or .jsonl, a document a line
    pairs: tuple[Path, ...] = ()  # .jsonl of texts that belong together
    graded: tuple[Path, ...] = ()  # .jsonl of pairs with how alike they are
    judged: tuple[Path, ...] = ()  # as graded, but measured on and never trained on


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    size: int  # of the vocabulary
    kind: Kind = "wordpiece"
    lowercase: bool = True

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size ({self.size}) must be at least 1")


@dataclass(frozen=True, slots=True)
class StartConfig:
    """What the weights begin with."""

    embedding_deviation: float = DEVIATION  # of the words' vectors; all other matrices have that

    def __post_init__(self) -> None:
        if not 0 < self.embedding_deviation < math.inf:
            raise ValueError(
                f"embedding_deviation ({self.embedding_deviation}) must be a number over 0"
            )


@dataclass(frozen=True, slots=True)
class ScratchConfig:
    """The whole config file."""

    data: DataConfig
    tokenizer: TokenizerConfig
    encoder: EncoderConfig  # in the file without vocab_size, which is the tokenizer's
    start: StartConfig = field(default_factory=StartConfig)
    pretrain: MlmConfig | None = None
    contrast: ContrastConfig | None = None

    def __post_init__(self) -> None:
        if self.pretrain is None and self.contrast is None:
            raise ValueError("there is no stage: add [pretrain] or [contrast], or both")
        # Here, for the second stage would find it out when the first has taken its hour.
        sizes = {
            "pretrain.length": self.pretrain.length if self.pretrain else 0,
            "contrast.max_tokens": self.contrast.max_tokens if self.contrast else 0,
        }
        for name, size in sizes.items():
            if size > self.encoder.max_tokens:
                raise ValueError(
                    f"{name} ({size}) is over encoder.max_tokens ({self.encoder.max_tokens})"
                )
        if self.contrast is not None:
            try:
                require_fit(self.encoder, self.contrast)
            except TrainingError as error:
                raise ValueError(f"contrast: {error}") from error


def read(file: Path, overrides: Sequence[str] = ()) -> ScratchConfig:
    """A config file, checked as a whole before anything is trained.

    Raises:
        ConfigError: it cannot be read, or a setting is unknown, missing or wrong.
    """
    table = configuring.sized(configuring.read(file, overrides), "encoder")
    config: ScratchConfig = configuring.build(ScratchConfig, table, "")
    return config
