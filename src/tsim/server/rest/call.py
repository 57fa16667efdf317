"""One request to the API: who sends it, and what is made of their memory."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator
from starlette.types import Receive
from starlette.types import Scope as Connection

from tsim import wire
from tsim.checking import check_name
from tsim.errors import ThreadMissingError
from tsim.memory import Memory
from tsim.server import bodies
from tsim.server.access import Scope
from tsim.server.service import Caller, Service, require_named
from tsim.server.settings import Limits

T = TypeVar("T")

# Bytes of a body that is read before it is known who sends it: that takes longer to find out.
SMALL = 16 << 10

Limit = Annotated[int, Query(ge=1, description="Most entries of the answer.")]


class Answer(Response):
    """JSON that was written already, so that nothing validates it again."""

    media_type = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What is noted in the audit log before anything is done."""

    action: str
    about: Mapping[str, object] = field(default_factory=dict)


class Admitted(APIRoute):
    """Makes requests calls; looks at a large body only after its sender was found to have a key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns what answers requests."""
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            # One without a length may have any.
            call = Call(request.scope, request.receive)
            chunked = "transfer-encoding" in call.headers
            if chunked or int(call.headers.get("content-length", 0)) > SMALL:
                await call.service.work(lambda: call.caller(None))
            return await handle(call)

        return admitted


class Call(Request):
    """A request to the API."""

    def __init__(self, scope: Connection, receive: Receive) -> None:
        """Takes the request as it comes; nothing is checked yet."""
        super().__init__(scope, receive)
        self.service: Service = self.app.state.service
        self.limits: Limits = self.service.settings.limits

    async def __call__(
        self,
        kind: Any,
        function: Callable[[Memory], T],
        *,
        scope: Scope = Scope.READ,
        create: bool = False,
        blank: bool = False,
        empty: T | None = None,
        audited: Audited | None = None,
    ) -> Answer:
        """Answers with what a function makes of the caller's memory.

        Args:
            kind: The type of the answer.
            function: Called in a worker with the memory.
            scope: What the caller must be allowed to do.
            create: Whether to create the memory if there is none yet.
            blank: Whether an empty memory, which is not kept, will do if there is none yet.
            empty: The answer if there is no memory; None if that is an error.
            audited: What to note in the audit log.
        """

        def work() -> bytes:
            caller = self.caller(scope)
            if audited is not None:
                self.service.note(caller, audited.action, **audited.about)
            service = self.service
            opened = service.reading(caller) if blank else service.memory(caller, create=create)
            try:
                with opened as memory:
                    value = function(memory)
            except ThreadMissingError:
                if empty is None:
                    raise
                value = empty
            return wire.dump(kind, value)

        return Answer(await self.service.work(work))

    def caller(self, scope: Scope | None) -> Caller:
        """Returns who sends the request; None for the scope checks the key alone."""
        named = self.path_params.get("namespace")
        return require_named(self.service.caller(self, scope, named), named)

    def page(self, limit: int) -> int:
        """Returns how many entries an answer may have."""
        return min(limit, self.limits.page)


def _name(thread: str) -> str:
    return check_name(unquote(thread))


Name = Annotated[
    str,
    Path(alias="thread", description="The name of the thread; `/` is written %2F."),
    AfterValidator(_name),
]


def given(body: bodies.Body) -> dict[str, Any]:
    """Returns the fields of a body that were given, as arguments."""
    found = {name: getattr(body, name) for name in body.model_fields_set}
    return {name: value for name, value in found.items() if value is not None}
