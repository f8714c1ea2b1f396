"""A bar on stderr while a model is trained: loss, speed, share of the machine's peak, time left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from transformer import runtime
from transformer.journal import Moment
from transformer.run import Watch

_WINDOW_S = 20.0  # over which speed is averaged


@contextmanager
def bar(what: str, console: Console | None = None) -> Iterator[Watch]:
    """A watcher to hand to `train`.

    Args:
        what: is trained, in a few words
        console: stderr, unless another is given
    """
    columns = (
        TextColumn(what),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    pace = Pace()
    with Progress(*columns, console=console or Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=1.0, told="")

        def watch(moment: Moment) -> None:
            pace.add(moment)
            shown.update(task, completed=moment.progress, told=pace.text)

        yield watch


class Pace:
    """How fast a run goes, over its last steps."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []
        self._held_out = ""

    def add(self, moment: Moment) -> None:
        """Take in a step; those that are long past are forgotten."""
        self._moments.append(moment)
        while len(self._moments) > 2 and self._seconds(self._moments[1]) > _WINDOW_S:
            del self._moments[0]
        for name, value in list(moment.metrics.items())[:1]:
            self._held_out = f", {name} {value:.3f}"

    def _seconds(self, since: Moment) -> float:
        return 60 * (self._moments[-1].minutes - since.minutes)

    @property
    def tokens_per_s(self) -> float:
        """0 until two steps are there."""
        return self._rate(sum(moment.tokens for moment in self._moments[1:]))

    @property
    def flops(self) -> float:
        """Operations a second in the linear layers; 0 until two steps are there."""
        return self._rate(sum(moment.flops for moment in self._moments[1:]))

    def _rate(self, amount: float) -> float:
        seconds = self._seconds(self._moments[0]) if self._moments else 0.0
        return amount / seconds if seconds > 0 else 0.0

    @property
    def text(self) -> str:
        """What the bar says beside itself."""
        if not self._moments:
            return ""
        steps = self._moments
        loss = sum(moment.loss for moment in steps) / len(steps)
        share = self.flops / runtime.matrix_peak(runtime.training_dtype())
        return (
            f"loss {loss:.3f}, {self.tokens_per_s:,.0f} tokens/s, {share:.0%} of peak"
            f"{self._held_out}"
        )
