"""Connections that cannot be held for nothing: uvicorn's, with bounds it does not have."""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tsim.server.settings import Limits

# Bytes of a request's line and headers.
HEADER_BYTES = 64 << 10


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose headers do not arrive, or whose answers are not taken."""

    limits: ClassVar[Limits] = Limits()
    _patience: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_headers = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for headers."""
        super().connection_made(transport)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing any more."""
        self._be_patient()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes a piece of a request."""
        if self._idle() and not self._in_headers:
            self._expect_headers()
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > HEADER_BYTES:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Has the headers."""
        self._in_headers = False
        self._be_patient()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """Waits for what was written to be taken."""
        super().pause_writing()
        self._abort_after(self.limits.send_seconds)

    def resume_writing(self) -> None:
        """Goes on writing."""
        self._be_patient()
        super().resume_writing()

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect_headers(self) -> None:
        self._in_headers = True
        self._header_bytes = 0
        self._abort_after(self.limits.header_seconds)

    def _abort_after(self, seconds: float) -> None:
        self._be_patient()
        self._patience = self.loop.call_later(seconds, self.transport.abort)

    def _be_patient(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def bounded(limits: Limits) -> type[BoundedProtocol]:
    """Returns the protocol of connections with these bounds."""
    return type("Bounded", (BoundedProtocol,), {"limits": limits})
