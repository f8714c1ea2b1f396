"""What can go wrong with a model.

ModelError
├── CheckpointError    a checkpoint is missing, damaged, or of a kind that is not read
├── LengthError        more tokens than the model or its cache has places for
├── ConfigError        a config file, or a setting given beside it, cannot be
└── TrainingError      a run cannot begin or go on: its data, its settings, or its numbers
"""


class ModelError(Exception):
    """Root of every error that a model raises for its caller's sake."""


class CheckpointError(ModelError):
    """A checkpoint cannot be read: the message names the file and what is wrong with it."""


class LengthError(ModelError):
    """More tokens than there are places: carries both numbers."""

    def __init__(self, message: str, *, tokens: int, limit: int) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.limit = limit


class ConfigError(ModelError):
    """A setting that cannot be: the message names it as it is written, and what could stand."""


class TrainingError(ModelError):
    """A run cannot begin or go on: the message names the step, the numbers and the remedy."""
