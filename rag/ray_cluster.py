"""A Ray cluster to take files in with: found or started, checked, given work, and let go of.

Ray is imported here only. It sends nothing out: no usage statistics, no dashboard, and a Ray that
is started here listens on this machine alone.
"""

import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from rag.errors import EngineError, UsageError
from rag.ingest import Intake, Outcome
from rag.ray_run import Parts, RayRun
from rag.ray_worker import Listed, Needed, Worker, ship
from rag.sources import Source

if TYPE_CHECKING:
    from ray.data import Dataset

_REACHABLE_S = 10.0  # that a cluster may take to take up a connection
_CHECKED_S = 300.0  # that its nodes may take to load the model
_SHIPPING = 2  # packs that are read from the disk at the same time
_STORE_BYTES = 256 << 20  # of shared memory for what is on its way, where Ray is started here
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # as it will be, and without a warning
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
_HERE_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # else it takes the network's address


class Cluster:
    """A cluster that this process is connected to."""

    def run(
        self,
        intake: Intake,
        needed: Needed,
        sources: Iterable[Source],
        *,
        stop: Callable[[], bool],
    ) -> Iterator[Outcome]:
        """Take files in; see `RayRun`.

        Raises:
            EngineError: a node lacks something, and nothing was written; or the cluster broke off.
        """
        check(needed)
        run = RayRun(intake, lambda packs: _prepared(packs, needed), stop=stop)
        yield from run.run(sources)


@contextmanager
def connected(address: str | None, *, threads: int | None) -> Iterator[Cluster]:
    """A cluster, until the end of the block.

    Args:
        address: `auto` or HOST:PORT of a cluster of which this machine is a node; None starts a
            Ray on this machine, which ends with the block
        threads: cores that the latter takes; None: all of this process

    Raises:
        UsageError: the address cannot be one.
        EngineError: Ray is not installed, or there is no cluster at the address.
    """
    if address is not None:
        _check_address(address)
    os.environ.update(_QUIET if address is not None else _QUIET | _HERE_ALONE)
    ray = _imported()
    from transformer import runtime

    with ExitStack() as ends:
        try:
            with _muted():
                if address is None:
                    _start(ends, runtime.set_threads(threads))
                else:
                    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise EngineError(
                f"no Ray cluster could be used at {address or 'this machine'}: {_line(error)}"
            ) from error
        ends.callback(ray.shutdown)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        yield Cluster()


def check(needed: Needed) -> None:
    """See that every node can do its part.

    Raises:
        EngineError: which cannot, why, and the remedy.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def lacking(needed: dict[str, Any]) -> str | None:  # goes by value: the node may not know us
        try:
            from rag import ray_worker
        except ImportError as error:
            return f"has no attest ({error}): pip install 'attest-rag[ray]' there"
        return ray_worker.lacking(ray_worker.Needed(**needed))

    looks = ray.remote(num_cpus=0, max_retries=0)(lacking)
    given = {name: getattr(needed, name) for name in Needed.__slots__}
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    if not nodes:
        raise EngineError("the Ray cluster has no node with a CPU: start one with `ray start`")
    asked = [
        looks.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(given)
        for node in nodes
    ]
    with _broken_off():
        found = ray.get(asked, timeout=_CHECKED_S)
    names = [f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})" for node in nodes]
    if lacks := [f"node {name} {why}" for name, why in zip(names, found, strict=True) if why]:
        raise EngineError(f"the Ray cluster cannot do this: {'; '.join(lacks)}")


def _prepared(packs: Sequence[Sequence[Listed]], needed: Needed) -> Parts:
    """The parts of packs of files, in order. Ray Data sees to it that little is on its way."""
    if not packs:
        return
    with _broken_off():
        for row in _dataset(packs, needed).iter_rows():
            yield row["part"]


def _dataset(packs: Sequence[Sequence[Listed]], needed: Needed) -> "Dataset":
    import ray
    from ray.data import ActorPoolStrategy

    here = ray.get_runtime_context().get_node_id()
    workers = max(1, min(len(packs), int(ray.cluster_resources().get("CPU", 1))))
    listed = ray.data.from_items(
        [{"files": tuple(pack)} for pack in packs], override_num_blocks=len(packs)
    )
    shipped = listed.map(
        lambda row: {"files": ship(row["files"])},
        num_cpus=0,
        concurrency=min(_SHIPPING, len(packs)),
        label_selector={"ray.io/node-id": here},  # where the files are
    )
    return shipped.map_batches(
        Worker,
        fn_constructor_args=(needed,),
        batch_size=1,
        num_cpus=1,
        compute=ActorPoolStrategy(min_size=1, max_size=workers, initial_size=workers),
    )


def _start(ends: ExitStack, cpus: int) -> None:
    """Documents lie about in Ray's folder: it goes when Ray has gone."""
    import ray

    where = "/tmp" if os.name == "posix" else None  # noqa: S108  (sockets' paths must be short)
    kept = ends.enter_context(
        tempfile.TemporaryDirectory(prefix="attest-", dir=where, ignore_cleanup_errors=True)
    )
    ray.init(
        address="local",
        num_cpus=cpus,
        num_gpus=0,
        include_dashboard=False,
        object_store_memory=_STORE_BYTES,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _temp_dir=kept,
    )


def _check_address(address: str) -> None:
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise UsageError(
            f"--address {address!r}: give HOST:PORT or auto, and run attest on a node of the "
            "cluster (ray:// clients cannot ship files)"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACHABLE_S).close()
    except (OSError, OverflowError) as error:
        raise EngineError(
            f"nothing answers at {address} ({error}): start a cluster with "
            f"`ray start --head --port={port}`, or leave --address out to use this machine"
        ) from error


def _imported() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise EngineError(
            f"Ray is not installed ({error}): pip install 'attest-rag[ray]'"
        ) from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # What it says of nodes that died would land in stdout, between the data.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


@contextmanager
def _muted() -> Iterator[None]:
    """Without what Ray's own code writes to the terminal; what is wrong, it also raises."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _broken_off() -> Iterator[None]:
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        raise EngineError(
            f"the Ray cluster broke off ({_line(error)}): run the command again, it goes on "
            "behind what was reported"
        ) from error


def _line(error: BaseException) -> str:
    """The cause in one line: Ray gives a traceback of the node, the cause last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
