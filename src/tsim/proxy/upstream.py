"""Asks another server, and passes on what it answers as it comes."""

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

import httpx
from starlette.types import Receive, Scope, Send

from tsim.credentials import without_credentials
from tsim.errors import InputError
from tsim.http import CONNECTING
from tsim.proxy.headers import Raw, sent
from tsim.server import problems

log = logging.getLogger("tsim.proxy")

PREFIX = b"/v1"
# Models think for minutes, so that only connecting has a bound: programs know how long they wait.
TIMEOUT = httpx.Timeout(None, connect=CONNECTING)


class Ended(StrEnum):
    """How the passing of an answer ended."""

    WHOLE = "whole"
    CUT = "cut"  # by the other server
    LEFT = "left"  # by the program
    UNREACHED = "unreached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """What is done with an answer on its way.

    Attributes:
        begun: Called when it begins; returns the headers to pass on.
        piece: Called with each piece; returns what is passed on.
    """

    begun: Callable[[httpx.Response], Raw]
    piece: Callable[[bytes], bytes]


class Upstream:
    """The server that is asked."""

    def __init__(self, url: str) -> None:
        """Opens no connection yet.

        Args:
            url: Its base URL, up to and including `/v1`.
        """
        self._base = httpx.URL(url)
        # As many connections as programs have with us, which are bounded.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        self._client = httpx.AsyncClient(timeout=TIMEOUT, limits=limits)

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    def request(self, scope: Scope, body: bytes, *, readable: bool) -> httpx.Request:
        """Returns the request that is sent for one that came.

        Args:
            scope: The request.
            body: Its body, which may be another one.
            readable: Whether the answer is to be read here.

        Raises:
            InputError: Its path leads elsewhere.
        """
        path: bytes = scope["raw_path"].removeprefix(PREFIX)
        if not path.isascii() or ".." in re.split(r"[/\\]", unquote(path.decode())):
            raise InputError("a path must be ASCII, and must not have .. in it")
        raw = self._base.raw_path.rstrip(b"/") + path
        if query := scope["query_string"]:
            raw += b"?" + query
        # Not by the client, which adds headers of its own.
        return httpx.Request(
            scope["method"],
            self._base.copy_with(raw_path=raw),
            headers=sent(scope["headers"], readable=readable),
            content=body or None,
            extensions={"timeout": TIMEOUT.as_dict()},
        )

    async def relay(
        self, request: httpx.Request, receive: Receive, send: Send, passing: Passing
    ) -> Ended:
        """Sends a request, and its answer back.

        Whichever side goes first, the connection to the other is closed at once.
        """
        passed = asyncio.create_task(self._pass(request, send, passing))
        left = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({passed, left}, return_when=asyncio.FIRST_COMPLETED)
            return passed.result() if passed.done() else Ended.LEFT
        finally:
            for task in (passed, left):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({passed, left})

    async def _pass(self, request: httpx.Request, send: Send, passing: Passing) -> Ended:
        try:
            response = await self._client.send(request, stream=True)
        except httpx.RequestError as error:
            shown = without_credentials(f"{type(error).__name__}: {error}")
            log.warning("the upstream cannot be reached: %s", shown)
            await _refuse(send, f"the upstream cannot be reached ({type(error).__name__})")
            return Ended.UNREACHED
        try:
            start = {"status": response.status_code, "headers": passing.begun(response)}
            await send({"type": "http.response.start", **start})
            async for piece in response.aiter_raw():
                body = passing.piece(piece)
                await send({"type": "http.response.body", "body": body, "more_body": True})
        except httpx.RequestError as error:
            # What began cannot be taken back; the connection is closed where it was cut.
            log.warning("the upstream cut its answer: %s", type(error).__name__)
            return Ended.CUT
        finally:
            await response.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return Ended.WHOLE


async def _left(receive: Receive) -> None:
    """Waits until the program closes its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, detail: str) -> None:
    response = problems.problem(502, "remote_failed", detail)
    start = {"status": response.status_code, "headers": response.raw_headers}
    await send({"type": "http.response.start", **start})
    await send({"type": "http.response.body", "body": response.body})
