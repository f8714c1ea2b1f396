"""Supervised fine-tuning: a generator learns to answer from conversations (Ouyang et al. 2022).

The whole model learns, or an adapter beside it (Hu et al. 2021); either way from the tokens of the
answers alone, each behind the answer's own beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from generator import data
from generator.checkpoint import GeneratorCheckpoint
from generator.data import Encoded, Example, Opening, Rows, Writing
from generator.learning import NextToken, split_held_out
from generator.prompts import Prompts
from transformer import lora, runtime
from transformer.errors import TrainingError
from transformer.lora import LoraConfig
from transformer.low_rank import LowRankLinear
from transformer.quantize import QuantizedLinear
from transformer.training import Trained, TrainingConfig, Watch, train

_MOST_HELD_OUT = 200  # examples


@dataclass(frozen=True, slots=True)
class FinetuneConfig:
    """How conversations are learned."""

    training: TrainingConfig
    lora: LoraConfig | None = None  # None: the whole model learns
    length: int = 512  # tokens of a row, which short examples share; no example may be longer
    rows: int = 1  # of a batch; more of a step by training.accumulate
    blocks: float = 0.0  # share of batches in which a passage sees the prefix and itself alone
    opening: Opening = field(default_factory=Opening)
    held_out: float = 0.05  # share of the examples that is measured on, where none are given for it

    def __post_init__(self) -> None:
        for name in ("length", "rows"):
            if (size := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({size}) must be at least 1")
        if not 0 <= self.blocks <= 1:
            raise ValueError(f"blocks ({self.blocks}) must lie within 0 and 1")
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out ({self.held_out}) must lie between 0 and 1")


def finetune(
    checkpoint: GeneratorCheckpoint,
    examples: Sequence[Example],
    config: FinetuneConfig,
    folder: Path,
    *,
    judged: Sequence[Example] = (),
    watch: Watch = lambda _: None,
) -> Trained:
    """Train a generator of precision fp32 in place; or go on with what `folder` holds.

    With `config.lora` the model carries an adapter afterwards: `lora.to_bytes` or `lora.merge` it.

    Args:
        checkpoint: its model is trained
        examples: to learn from
        config: of a resumed run it must be the same, budgets aside
        folder: for the state of the run
        judged: to measure on; without, a share of the examples is held out
        watch: told of every step

    Returns:
        metrics `log_likelihood`, of a token of the held-out answers as they are weighed,
        `accuracy`, the share of those tokens that came first, `begun_right`, the share of answers
        of which the first token did, and `perplexity`

    Raises:
        TrainingError: the examples or the sizes do not fit the model, or the numbers went wrong.
        PromptError: the model's chat template cannot take an example.
    """
    require_whole(checkpoint)
    learned, held = _rows(checkpoint, examples, judged, config)
    if config.lora is not None:
        rng = runtime.seeded(config.training.seed)
        try:
            lora.attach(checkpoint.model, config.lora, rng=rng)
        except ValueError as error:
            raise TrainingError(str(error)) from error
    else:
        checkpoint.model.requires_grad_(True)
    task = NextToken(checkpoint.model, learned, held, rows=config.rows, blocks=config.blocks)
    return train(task, config.training, folder, watch=watch)


def require_whole(checkpoint: GeneratorCheckpoint) -> None:
    """Refuse a model that cannot learn.

    Raises:
        TrainingError: it was quantised as it was loaded, or has an adapter beside it.
    """
    if any(isinstance(module, LowRankLinear) for module in checkpoint.model.modules()):
        raise TrainingError(
            "a generator with an adapter beside it cannot be trained: load it without"
        )
    if any(isinstance(module, QuantizedLinear) for module in checkpoint.model.modules()):
        raise TrainingError("a quantised generator cannot be trained: load it with precision fp32")


def _rows(
    checkpoint: GeneratorCheckpoint,
    examples: Sequence[Example],
    judged: Sequence[Example],
    config: FinetuneConfig,
) -> tuple[Rows, Rows]:
    prompts = Prompts(checkpoint.chat, checkpoint.tokenizer)
    writing = Writing(prompts, checkpoint.tokenizer, checkpoint.chat.ends)
    encoded = [writing.encode(each) for each in examples]
    if judged:
        return _packed(checkpoint, encoded, config), _packed(
            checkpoint, [writing.encode(each) for each in judged], config
        )
    if len(encoded) < 2:
        raise TrainingError(
            f"{len(encoded)} examples cannot be trained on and measured on; give more"
        )
    kept, held = split_held_out(len(encoded), config.held_out, config.training.seed, _MOST_HELD_OUT)
    return (
        _packed(checkpoint, [encoded[i] for i in kept], config),
        _packed(checkpoint, [encoded[i] for i in held], config),
    )


def _packed(
    checkpoint: GeneratorCheckpoint, encoded: Sequence[Encoded], config: FinetuneConfig
) -> Rows:
    limit = checkpoint.model.config.max_tokens
    if config.length > limit:
        raise TrainingError(
            f"length ({config.length}) is over the generator's {limit} positions; lower it"
        )
    over = [len(each.ids) for each in encoded if len(each.ids) > config.length]
    if over:
        raise TrainingError(
            f"{len(over)} of {len(encoded)} examples are longer than length ({config.length}), the "
            f"longest has {max(over)} tokens: raise length (up to {limit}), or shorten them"
        )
    return data.pack(encoded, config.length, config.opening)


def narrow(model: nn.Module) -> None:
    """Round an adapter to bfloat16, as its file keeps it: half the size, and no worse than a base
    of four bits needs."""
    for name, parameter in model.named_parameters():
        if name.endswith((".a", ".b")):
            parameter.data = parameter.data.bfloat16()
