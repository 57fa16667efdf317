"""The addresses of the inspector, for the namespace of a key and for one in the address."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from tsim.errors import AccessError, KeyMissingError, ThreadMissingError, TsimError
from tsim.server.access import Scope
from tsim.server.inspector import receipts, views
from tsim.server.inspector.fields import Fields
from tsim.server.inspector.guarding import Tokens, require_same_site
from tsim.server.inspector.pages import ROOT, asset, base, page
from tsim.server.inspector.rehearsals import Rehearsals
from tsim.server.inspector.views import Values, Visit, around, selection_of
from tsim.server.problems import RETRY_SECONDS, detail, status_of
from tsim.server.service import COOKIE, Service

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
# Pages that a key for reading may see: path, template, view.
PAGES: tuple[tuple[str, str, Callable[[Visit], Values]], ...] = (
    ("", "threads.html", views.threads),
    ("/thread", "thread.html", views.thread),
    ("/turns", "turns.html", views.turns),
    ("/turn", "turn.html", views.turn),
    ("/ask", "ask.html", views.ask),
    ("/compare", "compare.html", views.compare),
    ("/braid", "braid.html", views.braid),
)


def router(service: Service) -> APIRouter:
    """Returns the pages of the inspector.

    Args:
        service: The server that they show.
    """
    routes = APIRouter(include_in_schema=False)
    inspector = _Inspector(service)
    for path, template, view in PAGES:
        _add(routes, path, inspector.showing(template, view, Scope.READ), "GET")
    shown = inspector.showing("preview.html", views.preview, Scope.FORGET)
    _add(routes, "/forget", shown, "GET")
    _add(routes, "/forget", inspector.forget, "POST")
    receipt = inspector.showing("receipt.html", views.receipt, Scope.FORGET)
    _add(routes, "/receipt", receipt, "GET")
    routes.add_api_route(f"{ROOT}/login", _guarded(inspector.login), methods=["POST"])
    routes.add_api_route(f"{ROOT}/login", _guarded(inspector.ask_key), methods=["GET"])
    routes.add_api_route(f"{ROOT}/logout", _guarded(inspector.logout), methods=["POST"])
    routes.add_api_route(f"{ROOT}/assets/{{name}}", _guarded(inspector.asset), methods=["GET"])
    routes.add_api_route(f"{ROOT}/{{rest:path}}", _guarded(inspector.nowhere), methods=["GET"])
    return routes


class _Inspector:
    """Answers requests; what blocks is done in workers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tokens = Tokens(service.shared.secret_for("inspector"))
        self._rehearsals = Rehearsals()

    def showing(self, template: str, view: Callable[[Visit], Values], scope: Scope) -> Handler:
        """Returns what answers with a page."""

        async def show(request: Request) -> Response:
            return await self._service.work(lambda: self._show(request, template, view, scope))

        return show

    def _show(
        self, request: Request, template: str, view: Callable[[Visit], Values], scope: Scope
    ) -> Response:
        service = self._service
        caller = service.caller(request, scope, request.path_params.get("namespace"))
        caller.principal.require(Scope.READ)  # a preview shows turns, too
        surroundings = around(service, caller)
        try:
            with service.memory(caller) as memory:
                visit = Visit(
                    service=service,
                    caller=caller,
                    memory=memory,
                    fields=Fields.of(request),
                    tokens=self._tokens,
                    rehearsals=self._rehearsals,
                )
                values = view(visit)
        except ThreadMissingError:
            if template != "threads.html":
                raise
            values = {"rows": [], "following": None, "after": "", "preset": None}
        return page(request, template, **surroundings, **values)

    async def forget(self, request: Request) -> Response:
        """Forgets what a preview showed, and leads to the receipt."""
        require_same_site(request)
        fields = await Fields.sent(request)
        return await self._service.work(lambda: self._forget(request, fields))

    def _forget(self, request: Request, fields: Fields) -> Response:
        service = self._service
        caller = service.caller(request, Scope.FORGET, request.path_params.get("namespace"))
        name, chosen = fields.text("thread"), ",".join(fields.all("turns"))
        self._tokens.check(fields.text("token"), *selection_of(caller, name, chosen))
        with service.memory(caller) as memory:
            named = memory.thread(name)
            going = list(named.preview_forget(turns=fields.turns() or ()).turns)
            service.note(caller, "forget", thread=name, turns=going, by="inspector")
            gone = named.forget(turns=going)
        self._rehearsals.drop(caller.namespace, name)
        written = receipts.query(self._tokens, caller, name, gone)
        return RedirectResponse(f"{base(request)}/receipt?{written}", HTTPStatus.SEE_OTHER)

    async def ask_key(self, request: Request) -> Response:
        """Asks for a key, if there are keys."""
        if not self._service.settings.keys:
            return RedirectResponse(ROOT, HTTPStatus.SEE_OTHER)
        return page(request, "login.html", wrong="", following=ROOT)

    async def login(self, request: Request) -> Response:
        """Keeps a valid key in a cookie that scripts and other sites cannot use."""
        require_same_site(request)
        fields = await Fields.sent(request)
        key = fields.text("key").strip()
        following = fields.text("following", ROOT)
        if not _inside(following):
            following = ROOT
        try:
            await self._service.work(lambda: self._service.gate.admit(key))
        except AccessError:
            wrong = "This key is unknown, has expired or was revoked."
            return page(request, "login.html", status=401, wrong=wrong, following=following)
        answer = RedirectResponse(following, HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            COOKIE,
            key,
            path=ROOT,  # a program at another port of this host would be sent it, too
            httponly=True,
            samesite="strict",
            secure=request.headers.get("origin", "").startswith("https:"),  # also behind a proxy
        )
        return answer

    async def logout(self, request: Request) -> Response:
        """Removes the key from the browser."""
        require_same_site(request)
        answer = RedirectResponse(f"{ROOT}/login", HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE, path=ROOT, httponly=True, samesite="strict")
        return answer

    async def asset(self, request: Request) -> Response:
        """Returns a file that pages load."""
        return asset(request.path_params["name"]) or await self.nowhere(request)

    async def nowhere(self, request: Request) -> Response:
        """Says that there is no such page."""
        path = request.url.path
        if path == f"{ROOT}/" or path.rstrip("/") != path:
            return RedirectResponse(path.rstrip("/") or ROOT)
        return _error(request, HTTPStatus.NOT_FOUND, "There is no such page.")


def _add(routes: APIRouter, path: str, handler: Handler, method: str) -> None:
    for prefix in (ROOT, f"{ROOT}/ns/{{namespace}}"):
        routes.add_api_route(prefix + path, _guarded(handler), methods=[method])


def _guarded(handler: Handler) -> Handler:
    """Makes errors friendly pages."""

    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except KeyMissingError:
            url = request.url
            asked = f"{url.path}?{url.query}" if url.query else url.path
            following = asked if request.method == "GET" else ROOT
            return page(request, "login.html", status=401, wrong="", following=following)
        except TsimError as error:
            status = status_of(error)
            answer = _error(request, status, detail(error))
            if status in (429, 503):
                answer.headers["Retry-After"] = str(RETRY_SECONDS)
            return answer

    return guarded


def _error(request: Request, status: HTTPStatus, detail: str) -> Response:
    home, login = base(request), status == HTTPStatus.FORBIDDEN
    return page(
        request,
        "error.html",
        status=status,
        title=status.phrase,
        detail=detail,
        home=ROOT if login else home,
        login=login,
    )


def _inside(path: str) -> bool:
    """Returns whether a path leads to a page of the inspector, and nowhere else."""
    return path == ROOT or path.startswith((f"{ROOT}/", f"{ROOT}?"))
