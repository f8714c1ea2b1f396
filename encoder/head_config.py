"""What learning any head is told; each kind of head adds its own, and has defaults of its own."""

from dataclasses import dataclass, field

from transformer.lora import LoraConfig
from transformer.training import TrainingConfig


def budget(minutes: float, *, evaluate_every: int) -> TrainingConfig:
    """So many minutes at most, and an end before them where nothing gets better."""
    return TrainingConfig(
        minutes=minutes, learning_rate=5e-4, evaluate_every=evaluate_every, patience=5
    )


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """How much is read at once, what of the encoder learns, and for how long."""

    max_tokens: int  # of a row
    batch: int  # rows, or units of more than one
    held_out: float  # share of what was given that metrics are taken on
    full: bool = False  # every weight learns, and a whole model is saved; else an adapter
    lora: LoraConfig = field(default_factory=LoraConfig)  # of the adapter
    training: TrainingConfig = field(default_factory=lambda: budget(10, evaluate_every=100))

    def __post_init__(self) -> None:
        if self.max_tokens < 8:
            raise ValueError(f"max_tokens ({self.max_tokens}) must be at least 8")
        if self.batch < 1:
            raise ValueError(f"batch ({self.batch}) must be at least 1")
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out ({self.held_out}) must lie between 0 and 1")
