"""What all parts of a server share: who calls, the memories, and workers for what blocks."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

from starlette.requests import HTTPConnection

from tsim.errors import AccessError, InputError
from tsim.memory import Memory
from tsim.server.access import Principal, Scope
from tsim.server.namespaces import Namespaces
from tsim.server.processes import Shared
from tsim.server.settings import Settings
from tsim.server.working import Workers

T = TypeVar("T")

# The cookie in which a browser keeps its key.
COOKIE = "tsim_key"
# Whose request is answered, before anybody has asked whether the key is valid.
SENDER: ContextVar[Hashable] = ContextVar("tsim_sender", default=None)


class Gate(Protocol):
    """Knows the keys, and logs what is done with them."""

    def admit(self, token: str) -> Principal:
        """Returns whose key this is; raises `AccessError` for every other reason alike."""
        ...

    def locked(self) -> bool:
        """Returns whether there are keys, so that nobody may do anything without one."""
        ...

    def note(self, principal: Principal, action: str, namespace: str, **about: object) -> None:
        """Adds a line to the audit log."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever sends a request, and the namespace that it is about."""

    principal: Principal
    namespace: str


class Service:
    """Answers for one server; made when it starts."""

    def __init__(
        self, settings: Settings, namespaces: Namespaces, gate: Gate, shared: Shared
    ) -> None:
        """Combines the parts.

        Args:
            settings: What the server was started with.
            namespaces: The memories.
            gate: The keys and the audit log.
            shared: What it has in common with other processes of the server.
        """
        self.settings = settings
        self.shared = shared
        self.namespaces = namespaces
        self.gate = gate
        self._workers = Workers(settings.limits)

    async def work(self, function: Callable[[], T]) -> T:
        """Runs what blocks in one of a few threads, of which no sender gets all.

        Raises:
            LimitError: Too many others wait already.
        """
        return await self._workers.run(function, SENDER.get())

    def caller(
        self, connection: HTTPConnection, scope: Scope | None, named: str | None = None
    ) -> Caller:
        """Returns who sends a request, and about which namespace. Blocks; call it in `work`.

        Args:
            connection: The request.
            scope: What its sender must be allowed to do; None if that is checked later.
            named: The namespace in its address, if there is one there.

        Raises:
            AccessError: It has no valid key, or one for something else.
        """
        principal = self.principal(connection)
        if scope is not None:
            principal.require(scope)
        own = principal.namespace
        if own is not None and named not in (None, own):
            raise AccessError("this key is for another namespace")
        return Caller(principal=principal, namespace=named or own or self.settings.default)

    @contextmanager
    def memory(self, caller: Caller, *, create: bool = False) -> Iterator[Memory]:
        """Yields the memory of the caller's namespace.

        Args:
            caller: Who asks.
            create: Whether to create the memory if there is none yet.

        Raises:
            ThreadMissingError: There is none, and it should not be created.
        """
        with self.namespaces.using(caller.namespace, create=create) as memory:
            yield memory

    @contextmanager
    def reading(self, caller: Caller) -> Iterator[Memory]:
        """Yields the memory of the caller's namespace; an empty one, if there is none."""
        with self.namespaces.reading(caller.namespace) as memory:
            yield memory

    def note(self, caller: Caller, action: str, **about: object) -> None:
        """Adds a line to the audit log."""
        self.gate.note(caller.principal, action, caller.namespace, **about)

    def principal(self, connection: HTTPConnection) -> Principal:
        """Returns whose key a request has.

        A server that was started without keys needs them from the moment there is one.

        Raises:
            KeyMissingError: It has none that is valid.
        """
        if not self.settings.keys and not self.gate.locked():
            return Principal()
        header = connection.headers.get("authorization", "")
        scheme, _, token = header.partition(" ")
        if not header:
            token = connection.cookies.get(COOKIE, "")
        elif scheme.lower() != "bearer":
            token = ""
        return self.gate.admit(token.strip())


def require_named(caller: Caller, named: str | None) -> Caller:
    """Returns the caller, unless its key is for all namespaces and the address names none.

    Raises:
        InputError: It would be about the default namespace, which is hardly what was meant.
    """
    principal = caller.principal
    if principal.key and principal.namespace is None and named is None:
        raise InputError(
            "this key is for all namespaces; name one in the address: /v1/namespaces/NAME/…, or "
            "/mcp/NAME"
        )
    return caller
