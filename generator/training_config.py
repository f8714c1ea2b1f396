"""The config file of a generator that is trained: from nothing, or on from one that there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from generator.config import GeneratorConfig
from generator.finetune import FinetuneConfig
from generator.pretrain import CausalConfig
from transformer import configuring


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Files, by their path from the config's folder, or else from the working folder."""

    texts: tuple[Path, ...] = ()  # .txt or .jsonl, a document a line
    examples: tuple[Path, ...] = ()  # .jsonl of conversations
    judged: tuple[Path, ...] = ()  # as examples, but measured on and never trained on


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    size: int  # of the vocabulary, of byte pairs

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size ({self.size}) must be at least 1")


@dataclass(frozen=True, slots=True)
class MakingConfig:
    """The whole config file. Either `base`, or a vocabulary and a shape."""

    data: DataConfig
    base: str | None = None  # name or path of the generator to go on from
    tokenizer: TokenizerConfig | None = None
    generator: GeneratorConfig | None = None  # in the file without vocab_size: tokenizer.size
    pretrain: CausalConfig | None = None
    finetune: FinetuneConfig | None = None

    def __post_init__(self) -> None:
        made = self.tokenizer is not None and self.generator is not None
        if made == (self.base is not None):
            raise ValueError("give base, or [tokenizer] and [generator], and not both")
        if self.pretrain is None and self.finetune is None:
            raise ValueError("there is no stage: add [pretrain] or [finetune], or both")
        if self.base is None and self.pretrain is None and self.finetune and self.finetune.lora:
            raise ValueError(
                "finetune.lora learns beside what a model knows, and this one knows nothing: add "
                "[pretrain], or give base"
            )
        needed = {
            "data.texts": (self.data.texts, self.pretrain is not None or self.base is None),
            "data.examples": (self.data.examples, self.finetune is not None),
        }
        for name, (files, is_needed) in needed.items():
            if is_needed and not files:
                raise ValueError(f"{name} is empty, and this config learns from it: name files")
        # Here, for the second stage would find it out when the first has taken its hour.
        lengths = {
            "pretrain.length": self.pretrain.length if self.pretrain else 0,
            "finetune.length": self.finetune.length if self.finetune else 0,
        }
        for name, length in lengths.items():
            if self.generator is not None and length > self.generator.max_tokens:
                raise ValueError(
                    f"{name} ({length}) is over generator.max_tokens ({self.generator.max_tokens})"
                )


def read(file: Path, overrides: Sequence[str] = ()) -> MakingConfig:
    """A config file, checked as a whole before anything is trained.

    Raises:
        ConfigError: it cannot be read, or a setting is unknown, missing or wrong.
    """
    table = configuring.sized(configuring.read(file, overrides), "generator")
    config: MakingConfig = configuring.build(MakingConfig, table, "")
    return config
