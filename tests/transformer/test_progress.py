"""What a person sees while a model is trained."""

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console

from tests.transformer.sorting import Sorting, config
from transformer import runtime
from transformer.progress import Pace, bar
from transformer.training import Moment, train


def _moment(
    step: int, *, seconds: float, loss: float = 1.0, accuracy: float | None = None
) -> Moment:
    metrics = {} if accuracy is None else {"accuracy": accuracy}
    return Moment(step, loss, 1e-3, 1.0, 600, seconds / 60, 0.1, metrics, flops=6e6)


def test_speed_is_that_of_the_last_steps() -> None:
    pace = Pace()
    for step in range(1, 60):
        pace.add(_moment(step, seconds=step if step <= 30 else 30 + 2 * (step - 30)))
    assert pace.tokens_per_s == pytest.approx(300)  # a step every two seconds by now
    assert pace.flops == pytest.approx(3e6)


def test_it_says_loss_speed_share_and_what_was_held_out() -> None:
    pace = Pace()
    assert pace.text == ""
    pace.add(_moment(1, seconds=1, loss=2.0, accuracy=0.75))
    pace.add(_moment(2, seconds=2, loss=1.0))
    share = 6e6 / runtime.matrix_peak(runtime.training_dtype())
    assert pace.text == f"loss 1.500, 600 tokens/s, {share:.0%} of peak, accuracy 0.750"


def test_a_bar_runs_beside_a_run(tmp_path: Path) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120)
    with bar("sorting", console) as watch:
        train(Sorting(), config(), tmp_path, watch=watch)
    assert "sorting" in written.getvalue()
    assert "tokens/s" in written.getvalue()


def test_the_peak_of_the_machine_is_a_rate_of_its_format() -> None:
    peak = runtime.matrix_peak(torch.float32)
    assert 1e8 < peak < 1e16
    assert runtime.matrix_peak(torch.float32) == peak  # measured once
