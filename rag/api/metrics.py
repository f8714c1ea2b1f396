"""What Prometheus reads at /metrics: requests, work in hand, documents and jobs."""

from collections.abc import Iterator

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rag.api.desk import Desk
from rag.assistant import Assistant
from rag.jobs import Worker

router = APIRouter(tags=["service"])

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """Counts of one application."""

    def __init__(self, assistant: Assistant, desk: Desk, worker: Worker) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "attest_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "attest_request_seconds",
            "From a request to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        for name, about, read in (
            ("attest_desk_working", "Answers being written.", lambda: desk.working),
            ("attest_desk_waiting", "Requests in line for that.", lambda: desk.waiting),
        ):
            Gauge(name, about, registry=self.registry).set_function(read)
        self.registry.register(_Library(assistant, worker))
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


class _Library(Collector):
    """Counts the home anew at each reading."""

    def __init__(self, assistant: Assistant, worker: Worker) -> None:
        self._assistant = assistant
        self._worker = worker

    def describe(self) -> list[GaugeMetricFamily]:
        return []  # so that registering it reads nothing

    def collect(self) -> Iterator[GaugeMetricFamily]:
        catalog = self._assistant.catalog
        documents = GaugeMetricFamily(
            "attest_documents", "Documents.", labels=("collection", "status")
        )
        waiting = GaugeMetricFamily(
            "attest_chunks_without_vector", "Chunks found by words only.", labels=("collection",)
        )
        for one in catalog.collections():
            counts = catalog.counts(one.name)
            for status, n in counts.documents.items():
                documents.add_metric((one.name, status), n)
            waiting.add_metric((one.name,), counts.chunks - counts.vectors)
        jobs = GaugeMetricFamily("attest_jobs", "Jobs in the background.", labels=("status",))
        for state, n in self._worker.jobs.counts().items():
            jobs.add_metric((state,), n)
        yield from (documents, waiting, jobs)


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request) -> Response:
    registry = request.app.state.metrics.registry
    return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})
