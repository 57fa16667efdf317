"""Figures for Prometheus. They name routes, never namespaces, threads or keys."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts what the server does, all processes of it together."""

    def __init__(self, directory: Path | None = None) -> None:
        """Begins at zero.

        Args:
            directory: Where several processes count together; see `environment.for_workers`.
        """
        self.registry = CollectorRegistry()
        self._directory = directory
        self._watched: list[tuple[Gauge, Callable[[], float]]] = []
        self.requests = Counter(
            "tsim_requests", "Requests.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "tsim_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.running = self._gauge("requests_running", "Requests now.")

    def watch(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Adds a figure that a function returns."""
        self._watched.append((self._gauge(name, about), value))

    def settle(self) -> None:
        """Takes down the figures that functions return, where other processes show them, too."""
        if self._directory is not None:
            self._take_down()

    def text(self) -> bytes:
        """Returns all figures as Prometheus reads them."""
        self._take_down()
        if self._directory is None:
            return generate_latest(self.registry)
        of_all = CollectorRegistry()
        MultiProcessCollector(of_all, path=str(self._directory))  # type: ignore[no-untyped-call]
        return generate_latest(of_all)

    def _gauge(self, name: str, about: str) -> Gauge:
        # What a process that has died counted last is no longer so.
        mode: Literal["livesum"] = "livesum"
        return Gauge(f"tsim_{name}", about, registry=self.registry, multiprocess_mode=mode)

    def _take_down(self) -> None:
        for gauge, value in self._watched:
            gauge.set(value())


class Measured:
    """Counts and times the requests of an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Wraps an application."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        begun = time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.running.inc()
        try:
            await self._app(scope, receive, noting)
        finally:
            self._metrics.running.dec()
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if route != "other" else "other"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(method, route).observe(time.perf_counter() - begun)
            self._metrics.settle()
