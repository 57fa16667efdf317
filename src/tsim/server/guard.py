"""What is checked of every request before anything else: its host, origin, rate and size."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Hashable
from urllib.parse import quote, unquote_to_bytes

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tsim.browsers import host_name, same_host
from tsim.errors import (
    AccessError,
    InputError,
    LimitError,
    TooLargeError,
    TooManyError,
    TsimError,
)
from tsim.ports import LOOPBACK
from tsim.server import problems
from tsim.server.processes import Shared
from tsim.server.service import SENDER
from tsim.server.settings import Settings

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# Where a browser says that a request comes from: the server's own pages, or its user.
OWN = frozenset({"same-origin", "none"})
# Requests without which nobody could tell whether the server lives.
UNLIMITED = "/health/"
UPLOAD = "/import"
# Bytes per second of a body that takes longer than it may take to begin.
LEAST_RATE = 4096
BUSY = "too many large requests come at the same time; try again in a second"
# Addresses that stand for all of a machine's.
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  # compared with, not listened on
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Refuses what no part of the server should have to deal with."""

    def __init__(self, app: ASGIApp, settings: Settings, shared: Shared) -> None:
        """Wraps an application.

        Args:
            app: The application.
            settings: The server's bounds, and by which names it may be addressed.
            shared: What it has in common with other processes of the server.
        """
        self._app = app
        self._limits = settings.limits
        self._rates = shared.rates("requests", settings.limits.rate, settings.limits.burst)
        self._hosts = allowed_hosts(settings)
        self._held = _Held(settings.limits.bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reply = _with_headers(send)
        try:
            most = self._admit(scope)
        except TsimError as error:
            await problems.answer(error)(scope, receive, reply)
            return
        # A name in an address may hold a slash, which is no boundary of its own.
        if raw := scope.get("raw_path"):
            scope = {**scope, "path": "/".join(map(_segment, raw.split(b"/")))}
        # Imports go to a file as they come; everything else is in RAM until it is answered.
        held = None if _is_upload(scope) else self._held
        body = _Body(receive, most, self._limits.body_seconds, held)
        try:
            await self._app(scope, body, body.unless_refused(reply))
        except Exception:
            if body.refused is None:
                raise
        finally:
            body.release()
        if body.refused is not None:
            await body.refused(scope, receive, reply)

    def _admit(self, scope: Scope) -> int:
        """Returns how many bytes the body may have."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and host_name(host) not in self._hosts:
            raise AccessError(
                f"this server is not called {host!r:.80}; address it as it was started, or start "
                "it with --allow-host"
            )
        origin = headers.get("origin")
        if scope["method"] not in SAFE and origin is not None and not same_host(origin, host):
            raise AccessError("requests of other sites are refused")
        # A page cannot read the answer, but learn from how long it takes, and make work.
        if headers.get("sec-fetch-site", "none") not in OWN and not _opened(headers):
            raise AccessError("requests of other sites are refused")
        path: str = scope["path"]
        sender = _sender(scope, headers)
        SENDER.set(sender)
        if not path.startswith(UNLIMITED) and not self._rates.take(sender):
            raise TooManyError("requests come too fast; wait a second")
        most = self._limits.upload if _is_upload(scope) else self._limits.body
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise InputError(f"Content-Length is {length!r:.40}, expected a number")
        if int(length) > most:
            raise _too_large(most)
        return most


class _Held:
    """Bytes of bodies in RAM, of all requests together."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0


class _Body:
    """Receives a request piece by piece, within bounds.

    If it cannot be received, its client seems to be gone, and what the application answers then is
    replaced by the reason.
    """

    def __init__(self, receive: Receive, most: int, seconds: float, held: _Held | None) -> None:
        self._receive = receive
        self._most = most
        self._held = held
        self._seconds = seconds
        self._begun = asyncio.get_running_loop().time()
        self._received = 0
        self._complete = False
        self._answered = False
        self.refused: Response | None = None

    async def __call__(self) -> Message:
        if self._complete:  # what follows is the end of the connection
            return await self._receive()
        try:
            # Otherwise whoever sends a byte now and then could go on for ever.
            until = self._begun + self._seconds + self._received / LEAST_RATE
            async with asyncio.timeout_at(until):
                message = await self._receive()
        except TimeoutError:
            slow = f"the request came too slowly: {self._received} bytes in all"
            return self._refuse(problems.problem(408, "too_slow", slow, {"Connection": "close"}))
        self._complete = not message.get("more_body", False)
        piece = len(message.get("body", b""))
        self._received += piece
        if self._held is not None:
            self._held.bytes += piece
            if self._held.bytes > self._held.most:
                return self._refuse(problems.answer(LimitError(BUSY)))
        if self._received > self._most:
            return self._refuse(problems.answer(_too_large(self._most)))
        return message

    def release(self) -> None:
        """Notes that the body is not needed any more."""
        if self._held is not None:
            self._held.bytes -= self._received

    def unless_refused(self, send: Send) -> Send:
        """Returns what sends the answer of the application."""

        async def sending(message: Message) -> None:
            if self.refused is None:
                self._answered = True
                await send(message)

        return sending

    def _refuse(self, response: Response) -> Message:
        if not self._answered:
            self.refused = response
        self._complete = True
        return {"type": "http.disconnect"}


def allowed_hosts(settings: Settings) -> frozenset[str] | None:
    """Returns by which names a server may be addressed; None for any.

    Names are checked because a page of another site can have its own name resolve to this machine,
    and would then be of the same origin. With keys this gains it nothing.
    """
    if settings.keys and not settings.hosts and settings.host in EVERYWHERE:
        return None
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    own = () if settings.host in EVERYWHERE else (host,)
    return frozenset(name.lower() for name in (*LOOPBACK, *own, *settings.hosts))


def _opened(headers: Headers) -> bool:
    """Returns whether a browser shows the answer as a page of its own: somebody followed a link."""
    return headers.get("sec-fetch-dest") == "document"


def _sender(scope: Scope, headers: Headers) -> Hashable:
    credential = headers.get("authorization") or headers.get("cookie")
    if credential:
        return hashlib.blake2b(credential.encode(), digest_size=16).digest()
    return (scope.get("client") or ("",))[0]


def _segment(raw: bytes) -> str:
    """Decodes a part of a path, but for what would divide it, or be decoded twice."""
    text = unquote_to_bytes(raw).decode("utf-8", "replace")
    return text.replace("%", "%25").replace("/", quote("/", safe=""))


def _is_upload(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.endswith(UPLOAD)


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(f"a request may have at most {most} bytes; send it in several")


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def adding(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in HEADERS if name not in there]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return adding
