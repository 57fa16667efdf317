"""Connections that cannot be held for nothing: uvicorn's, with bounds it does not have."""

import asyncio
import socket
import struct
from contextlib import suppress
from typing import ClassVar

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tsim.errors import LimitError
from tsim.server import problems
from tsim.server.settings import Limits

# Bytes of a request that are not of its body: its line, headers and trailers.
HEADER_BYTES = 64 << 10
# What may come around each byte of a body that is sent in chunks.
FRAMING = 8


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose headers do not arrive, or whose answers are not taken."""

    limits: ClassVar[Limits] = Limits()
    # Each has a clock of its own: a request that comes must not stop the one of an answer.
    _arriving: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _overhead = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for headers, unless there are too many connections."""
        super().connection_made(transport)
        self._arriving = self._abort_after(self.limits.header_seconds)
        if len(self.connections) > 2 * self.limits.connections:
            self._abort()
        elif len(self.connections) > self.limits.connections:
            self.app = crowded

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing any more."""
        self._stop_clocks()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes a piece of a request."""
        if self._arriving is None and (self.cycle is None or self.cycle.response_complete):
            self._arriving = self._abort_after(self.limits.header_seconds)
        self._overhead += len(data)
        super().data_received(data)
        if self._overhead > HEADER_BYTES:
            self._abort()

    def on_message_begin(self) -> None:
        """Has the first byte of a request."""
        self._overhead = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Has the headers."""
        self._overhead = 0
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Has a piece of the body."""
        self._overhead = max(0, self._overhead - FRAMING * len(body))
        super().on_body(body)

    def pause_writing(self) -> None:
        """Waits for what was written to be taken."""
        super().pause_writing()
        if self._taking is None:
            self._taking = self._abort_after(self.limits.send_seconds)

    def resume_writing(self) -> None:
        """Goes on writing."""
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        super().resume_writing()

    def _abort_after(self, seconds: float) -> asyncio.TimerHandle:
        return self.loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        """Closes the connection, and lets the kernel drop what the client does not take."""
        own = self.transport.get_extra_info("socket")
        with suppress(OSError):  # the client may have closed it
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop_clocks(self) -> None:
        for clock in (self._arriving, self._taking):
            if clock is not None:
                clock.cancel()


def bounded(limits: Limits) -> type[BoundedProtocol]:
    """Returns the protocol of connections with these bounds."""
    return type("Bounded", (BoundedProtocol,), {"limits": limits})


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers instead of the application while too many connections are open."""
    response = problems.answer(LimitError("too many connections are open; try again in a second"))
    response.headers["Connection"] = "close"
    await response(scope, receive, send)
