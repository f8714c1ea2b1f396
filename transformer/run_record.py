"""What is known of a run that makes a model in stages: its settings, and how its stages ended.

A setting is held to as soon as something has learned by it, and no sooner: a path that was wrong or
a learning rate that was too high is corrected, and the run started again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer.checkpoint import write_whole
from transformer.errors import TrainingError
from transformer.journal import unwritable
from transformer.run import Trained
from transformer.staged import Stages

FILE = "run.json"

_BUDGETS = {"steps", "minutes", "checkpoint_minutes"}  # what may change when a run goes on


def take_up(work: Path, config: Mapping[str, Any], stages: Stages) -> dict[str, Any]:
    """The record of a run that goes on with these settings; a new one where nothing is known.

    Args:
        work: the run's folder
        config: every setting, as JSON has it
        stages: of the run

    Raises:
        TrainingError: what is kept there was learned with other settings, or is no record.
    """
    now = json.loads(json.dumps(config, default=str))
    before = _read(work / FILE)
    if before is not None:
        _require_same(work, sorted(_changed(before["config"], now)), stages)
    return keep(work, {"config": now, "stages": before["stages"] if before else {}})


def note(work: Path, record: dict[str, Any], stage: str, done: Trained, *, first: bool) -> None:
    """Add how a stage ended; of several processes the first writes it."""
    record["stages"][stage] = asdict(done)
    if first:
        keep(work, record)


def keep(work: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write the record, and give it back."""
    text = json.dumps(record, indent=2, ensure_ascii=False)
    try:
        work.mkdir(parents=True, exist_ok=True)
        write_whole(work / FILE, f"{text}\n".encode())
    except OSError as error:
        raise unwritable(work / FILE, error) from error
    return record


def _read(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(record["config"], dict) and isinstance(record["stages"], dict):
            return dict(record)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _damaged(file) from error
    raise _damaged(file)


def _damaged(file: Path) -> TrainingError:
    return TrainingError(f"{file} is damaged: delete {file.parent} to begin anew")


def _require_same(work: Path, changed: list[str], stages: Stages) -> None:
    learned = stages.begun(work)
    late = [name for name in changed if name.startswith(stages.of_second)]
    early = [name for name in changed if name not in late]
    held = sorted((early if learned else []) + (late if stages.second in learned else []))
    if not held:
        return
    anew = "" if early else f", delete {work / stages.second} to begin that stage anew"
    raise TrainingError(
        f"{work} holds a run with other settings of {', '.join(held)}: set them back to go on "
        f"with it{anew}, or give another folder"
    )


def _changed(before: Mapping[str, Any], now: Mapping[str, Any], where: str = "") -> set[str]:
    """Names of settings that differ, budgets aside; one that came later had its default before."""
    found = set()
    for name in before.keys() & now.keys():
        old, new, path = before[name], now[name], f"{where}{name}"
        if isinstance(old, dict) and isinstance(new, dict):
            found |= _changed(old, new, f"{path}.")
        elif old != new and name not in _BUDGETS:
            found.add(path)
    return found
