"""The loop: it learns, stops when it should, and a killed run goes on as if nothing had been."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.sorting import Sorting, config
from transformer import journal, lora
from transformer.checkpoint import read_tensors, write_tensors
from transformer.errors import CheckpointError, TrainingError
from transformer.runtime import seeded
from transformer.training import Moment, Pass, TrainingConfig, train

ROOT = Path(__file__).parents[2]
TIMED = ("minutes",)  # what no two runs have in common


def _weights(task: Sorting) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in task.model.named_parameters()}


def _lines(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in TIMED} for line in lines]


def _assert_equal(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def _alone(folder: Path, *settings: str, prepare: Any = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.transformer.sorting", str(folder), *settings],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        preexec_fn=prepare,
    )


class Stop(Exception):
    """What a test's watcher ends a run with."""


def _until(step: int) -> Any:
    def watch(moment: Moment) -> None:
        if moment.step == step:
            raise Stop

    return watch


def test_it_learns_and_keeps_the_best(tmp_path: Path) -> None:
    task = Sorting()
    seen: list[Moment] = []
    done = train(task, config(steps=40, precision="float32"), tmp_path, watch=seen.append)
    assert done.steps == 40
    assert not done.early
    assert done.metrics["accuracy"] > 0.9
    with torch.no_grad():
        assert done.metrics == task.evaluate()
    assert seen[-1].loss < 0.7 * seen[0].loss
    assert [moment.step for moment in seen] == list(range(1, 41))
    assert seen[0].tokens == 2 * 6 * 8
    assert [moment.step for moment in seen if moment.metrics] == [*range(5, 41, 5)]
    assert [line["step"] for line in _lines(tmp_path)] == list(range(1, 41))


def test_the_same_seed_gives_the_same_run_and_another_does_not(tmp_path: Path) -> None:
    runs = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        task = Sorting()
        train(task, config(seed=seed), tmp_path / name)
        runs.append(_weights(task))
    _assert_equal(runs[0], runs[1])
    assert not torch.equal(runs[0]["0.weight"], runs[2]["0.weight"])


def test_accumulated_batches_weigh_as_one(tmp_path: Path) -> None:
    """Without dropout and noise, four batches of two are one batch of eight."""

    class Still(Sorting):
        def backward(self, batch: Tensor, rng: torch.Generator) -> Pass:
            self.model.eval()
            loss = nn.functional.cross_entropy(self.model(self.points[batch]), self.kinds[batch])
            loss.backward()  # type: ignore[no-untyped-call]
            return Pass(float(loss.detach()), len(batch))

        def epoch(self, rng: torch.Generator) -> list[Tensor]:
            return list(torch.split(torch.arange(72), self.batch))

    settings = {"precision": "float32", "evaluate_every": None, "steps": 6}
    one, four = Still(batch=8), Still(batch=2)
    train(one, config(accumulate=1, **settings), tmp_path / "one")
    train(four, config(accumulate=4, **settings), tmp_path / "four")
    for name, value in _weights(one).items():
        torch.testing.assert_close(_weights(four)[name], value, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_stopped_run_goes_on_to_the_same_numbers(tmp_path: Path, precision: str) -> None:
    settings = config(precision=precision)
    whole, halves = Sorting(), Sorting()
    expected = train(whole, settings, tmp_path / "whole")
    with pytest.raises(Stop):
        train(halves, settings, tmp_path / "halves", watch=_until(11))
    halves = Sorting()
    found = train(halves, settings, tmp_path / "halves")
    _assert_equal(_weights(halves), _weights(whole))
    assert _lines(tmp_path / "halves") == _lines(tmp_path / "whole")
    assert found.metrics == expected.metrics


def test_a_killed_process_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    whole, killed = Sorting(), Sorting()
    train(whole, config(), tmp_path / "whole")
    folder = tmp_path / "killed"
    assert _alone(folder, "kill=4").returncode == -signal.SIGKILL  # before any checkpoint
    assert len(_lines(folder)) == 4
    assert not (folder / "state.safetensors").exists()
    # Checkpoints at every step: the one of step 17 would have come behind the kill.
    assert _alone(folder, "checkpoint_minutes=1e-9", "kill=17").returncode == -signal.SIGKILL
    assert read_tensors(folder / "state.safetensors")[1]["step"] == 16
    assert len(_lines(folder)) == 17
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"step": 18, "lo')  # as a kill may leave it

    train(killed, config(), folder)

    assert _lines(folder) == _lines(tmp_path / "whole")
    _assert_equal(_weights(killed), _weights(whole))
    states = [read_tensors(tmp_path / name / "state.safetensors") for name in ("killed", "whole")]
    _assert_equal(states[0][0], states[1][0])
    assert states[0][1]["best"] == states[1][1]["best"]


def test_a_finished_run_gives_its_result_at_once(tmp_path: Path) -> None:
    first, again = Sorting(), Sorting()
    expected = train(first, config(), tmp_path)
    before = (tmp_path / "state.safetensors").stat().st_mtime_ns
    found = train(again, config(), tmp_path, watch=_until(0))
    assert found == expected
    _assert_equal(_weights(again), _weights(first))
    assert again.evaluations == 0
    assert (tmp_path / "state.safetensors").stat().st_mtime_ns == before


def test_a_run_goes_on_in_the_format_that_it_began_in(tmp_path: Path) -> None:
    """What "auto" takes is measured, and a busy machine may measure otherwise."""
    with pytest.raises(Stop):
        train(Sorting(), config(precision="auto"), tmp_path, watch=_until(3))
    file = tmp_path / "state.safetensors"
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        tensors, place = read_tensors(file)
        write_tensors(file, tensors, note={**place, "precision": name})
        seen: list[torch.dtype] = []
        task = Sorting()

        def watch(_moment: Moment, task: Sorting = task, seen: list[torch.dtype] = seen) -> None:
            seen.append(task.model.get_parameter("0.weight").dtype)
            raise Stop

        with pytest.raises(Stop):
            train(task, config(precision="auto"), tmp_path, watch=watch)
        assert seen == [dtype]


def test_what_was_reached_at_last_is_measured_once_and_told(tmp_path: Path) -> None:
    task = Sorting()
    done = train(task, config(steps=7, evaluate_every=None), tmp_path)
    assert task.evaluations == 1
    assert [bool(line["metrics"]) for line in _lines(tmp_path)] == [False] * 6 + [True]
    assert _lines(tmp_path)[-1]["metrics"] == done.metrics


def test_a_budget_that_is_lowered_below_what_was_done_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train(Sorting(), config(evaluate_every=None), tmp_path, watch=_until(7))
    lowered = config(steps=5, evaluate_every=None)
    tasks = [Sorting(), Sorting()]
    first, again = (train(task, lowered, tmp_path, watch=_until(0)) for task in tasks)
    assert (first.steps, again.steps) == (7, 7)
    assert first.metrics == again.metrics != {}
    assert [task.evaluations for task in tasks] == [1, 0]


def test_a_larger_budget_lets_a_finished_run_go_on(tmp_path: Path) -> None:
    train(Sorting(), config(steps=6), tmp_path)
    assert train(Sorting(), config(steps=9), tmp_path).steps == 9
    assert [line["step"] for line in _lines(tmp_path)] == list(range(1, 10))


@pytest.mark.parametrize("points", [16, 400])
def test_data_of_another_length_goes_on_all_the_same(tmp_path: Path, points: int) -> None:
    with pytest.raises(Stop):
        train(Sorting(), config(), tmp_path, watch=_until(5))
    assert train(Sorting(points=points), config(), tmp_path).steps == 24


def test_it_ends_early_when_nothing_gets_better(tmp_path: Path) -> None:
    class Same(Sorting):
        def evaluate(self) -> Mapping[str, float]:
            return {"accuracy": [0.5, 0.7, 0.6, 0.7, float("nan")][self._next()]}

        def _next(self) -> int:
            self.evaluations += 1
            return self.evaluations - 1

    task = Same()
    done = train(task, config(steps=100, evaluate_every=2, patience=2), tmp_path)
    assert (done.early, done.steps, done.metrics) == (True, 8, {"accuracy": 0.7})
    best, _ = read_tensors(tmp_path / "state.safetensors")
    assert torch.equal(task.model.get_parameter("0.weight"), best["best/0.weight"])
    assert not torch.equal(best["best/0.weight"], best["master/0.weight"])


def test_a_budget_of_time_ends_the_run(tmp_path: Path) -> None:
    moments: list[Moment] = []
    settings = config(steps=None, minutes=0.005, evaluate_every=None)
    done = train(Sorting(), settings, tmp_path, watch=moments.append)
    assert 0.005 <= done.minutes < 0.1
    assert moments[-1].progress == 1
    assert max(m.learning_rate for m in moments) <= 0.02
    assert moments[-1].learning_rate < moments[len(moments) // 2].learning_rate


def test_a_loss_that_is_no_number_stops_the_run_at_the_last_good_state(tmp_path: Path) -> None:
    class Breaking(Sorting):
        def backward(self, batch: Tensor, rng: torch.Generator) -> Pass:
            told = super().backward(batch, rng)
            self.evaluations += 1
            if self.evaluations > 14:  # two batches a step
                self.model.get_parameter("0.weight").grad = torch.full((16, 6), float("nan"))
            return told

    settings = config(evaluate_every=None, precision="float32")
    with pytest.raises(TrainingError, match=r"step 8: .* norm nan; none is kept yet.*0\.02"):
        train(Breaking(), settings, tmp_path / "new")
    with pytest.raises(Stop):
        train(Sorting(), settings, tmp_path / "old", watch=_until(6))
    with pytest.raises(TrainingError, match=r"step 14: .* checkpoint stays in .*old"):
        train(Breaking(), settings, tmp_path / "old")
    tensors, place = read_tensors(tmp_path / "old" / "state.safetensors")
    assert place["step"] == 6
    assert all(tensor.isfinite().all() for tensor in tensors.values())


def test_a_run_of_other_settings_or_of_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train(Sorting(), config(), tmp_path, watch=_until(3))
    before = (tmp_path / "state.safetensors").read_bytes()
    with pytest.raises(TrainingError, match=r"learning_rate \(0.02 → 0.5\)"):
        train(Sorting(), config(learning_rate=0.5), tmp_path)
    with pytest.raises(TrainingError, match=r"0\.weight.* \(9, 6\), .*holds it as \(16, 6\)"):
        train(Sorting(width=9), config(), tmp_path)
    assert (tmp_path / "state.safetensors").read_bytes() == before
    assert len(_lines(tmp_path)) == 3


def test_a_run_that_trains_other_parameters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        train(Sorting(), config(), tmp_path, watch=_until(3))
    task = Sorting()
    task.model.get_parameter("3.bias").requires_grad_(False)
    with pytest.raises(TrainingError, match=r"trains 3\.bias, which this model does not"):
        train(task, config(), tmp_path)


def test_a_damaged_state_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "state.safetensors").write_bytes(b"half of it")
    with pytest.raises(CheckpointError, match="damaged"):
        train(Sorting(), config(), tmp_path)
    assert (tmp_path / "state.safetensors").read_bytes() == b"half of it"
    write_tensors(tmp_path / "state.safetensors", {}, note={"step": 3})
    with pytest.raises(CheckpointError, match="is no state of a run: it lacks best"):
        train(Sorting(), config(), tmp_path)


def test_a_full_disk_keeps_the_last_checkpoint_and_names_the_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="no limits of files on this system")
    with pytest.raises(Stop):
        train(Sorting(), config(), tmp_path, watch=_until(3))
    before = (tmp_path / "state.safetensors").read_bytes()

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

    done = _alone(tmp_path, prepare=little_room)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "TrainingError" in last
    assert "metrics.jsonl" in last or "state.safetensors" in last
    assert "make room" in last
    assert (tmp_path / "state.safetensors").read_bytes() == before
    assert not list(tmp_path.glob(".*.tmp"))
    assert train(Sorting(), config(), tmp_path).steps == 24


def test_data_without_a_batch_is_an_error(tmp_path: Path) -> None:
    class Empty(Sorting):
        def epoch(self, rng: torch.Generator) -> list[Tensor]:
            return []

    with pytest.raises(TrainingError, match="nothing to train on"):
        train(Empty(), config(), tmp_path)


def test_what_is_frozen_comes_back_to_the_bit(tmp_path: Path) -> None:
    task = Sorting()
    before = _weights(task)
    lora.attach(task.model, lora.LoraConfig(rank=2, targets=("0",)), rng=seeded(0))
    task.model.register_buffer("table", torch.tensor([1 / 3]))
    train(task, config(precision="bfloat16"), tmp_path)
    after = dict(task.model.named_parameters())
    assert {p.dtype for p in after.values()} == {torch.float32}
    assert torch.equal(after["0.base.weight"], before["0.weight"])
    assert torch.equal(task.model.get_buffer("table"), torch.tensor([1 / 3]))
    assert not torch.equal(after["0.b"], torch.zeros(16, 2))
    assert not task.model.training


def test_small_steps_are_not_lost_in_a_narrow_format(tmp_path: Path) -> None:
    """One step of 1e-4 is less than bfloat16 can tell from nothing; thirty of them are not."""
    task = Sorting()
    before = _weights(task)["0.weight"]
    settings = config(precision="bfloat16", learning_rate=1e-4, steps=30, evaluate_every=None)
    train(task, settings, tmp_path)
    moved = (_weights(task)["0.weight"] - before).abs()
    assert 2e-4 < moved.median() < 4e-3


def test_a_curve_is_drawn_at_the_end(tmp_path: Path) -> None:
    train(Sorting(), config(), tmp_path)
    svg = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert svg.count("<polyline") == 2
    assert ">accuracy<" in svg
    assert len(svg) < 20_000
    page = (tmp_path / "curve.html").read_text(encoding="utf-8")
    assert '"name": "accuracy"' in page
    assert "https://cdn" not in page[-3000:]


def test_tensorboard_reads_what_the_run_told(tmp_path: Path) -> None:
    loading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="no tensorboard here"
    )
    with pytest.raises(Stop):
        train(Sorting(), config(), tmp_path, watch=_until(7))
    train(Sorting(), config(), tmp_path)
    board = loading.EventAccumulator(str(tmp_path / journal.BOARD))
    board.Reload()
    told = {event.step: event.value for event in board.Scalars("loss")}
    assert sorted(told) == list(range(1, 25))
    assert told[24] == pytest.approx(_lines(tmp_path)[-1]["loss"])
    assert [event.step for event in board.Scalars("held_out/accuracy")] == [5, 10, 15, 20, 24]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs a budget"),
        ({"steps": 0}, r"steps \(0\)"),
        ({"steps": 5, "warmup": 1.0}, r"warmup \(1.0\)"),
        ({"steps": 5, "patience": 0}, r"patience \(0\)"),
        ({"minutes": float("inf")}, r"minutes \(inf\) must be a number over 0"),
        ({"steps": 5, "learning_rate": float("nan")}, r"learning_rate \(nan\)"),
        ({"steps": 5, "betas": (0.9, 1.5)}, r"betas \(1.5\) must be at least 0 and below 1"),
        ({"steps": 5, "weight_decay": -1.0}, r"weight_decay \(-1.0\) must be at least 0"),
        ({"steps": 5, "checkpoint_minutes": float("nan")}, r"checkpoint_minutes \(nan\)"),
        ({"steps": 5, "seed": 2**64}, r"seed \(18446744073709551616\)"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**settings)
