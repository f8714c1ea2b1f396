"""A model that is made in two stages: it learns a language, and then a use of it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from transformer.journal import Moment
from transformer.run import STATE, Trained, Watch

Watching = Callable[[str], AbstractContextManager[Watch]]  # of a stage, by its name


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a run, by the names of their folders and of their settings."""

    second: str
    of_second: tuple[str, ...]  # how settings begin that the first stage knows nothing of
    first: str = "pretrain"
    made: str = "pretrained"  # folder of what the first stage has left

    def begun(self, work: Path) -> set[str]:
        """The stages of which something is kept in a run's folder."""
        found = {name for name in (self.first, self.second) if (work / name / STATE).is_file()}
        return found | ({self.first} if (work / self.made).exists() else set())


@dataclass(frozen=True, slots=True)
class Finished:
    """A trained model, and how its stages ended."""

    folder: Path
    fingerprint: str
    parameters: int
    stages: Mapping[str, Trained]


def quiet(_stage: str) -> AbstractContextManager[Watch]:
    """Watches nothing."""

    def watch(_moment: Moment) -> None:
        pass

    return nullcontext(watch)
