"""The loop that every model here is trained by.

A stage of training is a `Task`: it knows its data and its loss. The loop knows the rest: budget and
learning rate, accumulation and clipping, number formats, checkpoints, metrics, the best weights.

Randomness is a function of the seed and of the place in the run, never of what happened before: so
a run that was killed goes on to the same numbers, and several processes that share a run's batches
reach those of one that has them all, also where a run goes on with more of them, or with fewer.
"""

from pathlib import Path

from transformer.journal import Moment
from transformer.run import Run, Trained, Watch
from transformer.schedule import schedule
from transformer.task import Pass, Precision, Task, TrainingConfig

__all__ = [
    "Moment",
    "Pass",
    "Precision",
    "Task",
    "Trained",
    "TrainingConfig",
    "Watch",
    "schedule",
    "train",
]


def train(
    task: Task, config: TrainingConfig, folder: Path, *, watch: Watch = lambda _: None
) -> Trained:
    """Train, or go on with what a killed run left in `folder`; of a finished one, give the result.

    Started by `torchrun`, each process takes its own batches, and the first one alone writes.

    Args:
        task: what is learned
        config: of a resumed run it must be the same, budgets aside
        folder: for the state of the run, metrics.jsonl, and the curve drawn of it
        watch: told of every step; what it raises ends the run, which is saved before

    Raises:
        TrainingError: the loss or the gradient is no number (the last checkpoint stays), `folder`
            holds a run of another kind or model, it cannot be written, or another process ended.
        CheckpointError: the state in `folder` is damaged.
    """
    run = Run(task, config, folder)
    try:
        run.begin()
        while not run.ended:
            moment = run.advance()
            run.tell(moment, watch)
        return run.finish()
    finally:
        run.close()
