"""Figures for Prometheus. They name routes, never namespaces, threads or keys."""

import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts what the server does."""

    def __init__(self) -> None:
        """Begins at zero."""
        self.registry = CollectorRegistry()
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
        self.running = Gauge("tsim_requests_running", "Requests now.", registry=self.registry)

    def watch(self, name: str, about: str, value: object) -> None:
        """Adds a figure that a function returns when it is asked for."""
        Gauge(f"tsim_{name}", about, registry=self.registry).set_function(value)  # type: ignore[arg-type]

    def text(self) -> bytes:
        """Returns all figures as Prometheus reads them."""
        return generate_latest(self.registry)


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
