"""The application: pages of people, each behind a token; whatever is wrong is a page, too."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from scaleqa.desk.pages import Pages
from scaleqa.desk.people import Admission, Person
from scaleqa.desk.tongues import wanted
from scaleqa.errors import ScaleqaError
from tsim.browsers import HEADERS, host_name, is_own
from tsim.errors import AccessError, TooLargeError, TsimError
from tsim.ports import LOOPBACK

# Bytes of a form.
MOST = 1 << 20
COOKIE_SECONDS = 90 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of a person.

    Attributes:
        person: Who sends it; their token was checked.
        form: The fields of the form that was sent; of the address otherwise.
        path: What the address names, by the names in the path of the page.
        pages: The templates of the desk.
        where: The path of the address.
        languages: What the browser asks for, best first.
    """

    person: Person
    form: QueryParams
    path: Mapping[str, str]
    pages: Pages
    where: str
    languages: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        """What all addresses of this person begin with, as in `{base}/records/3`."""
        return f"/{self.person.name}"

    def text(self, name: str, default: str = "") -> str:
        """Returns a field, with the line breaks that files have."""
        return self.form.get(name, default).replace("\r\n", "\n").replace("\r", "\n")

    def page(self, template: str, *, status: int = 200, **values: object) -> Response:
        """Returns a page from a template of the room or of the desk."""
        return self.pages.page(
            template, status=status, base=self.base, person=self.person, **values
        )

    def to(self, path: str) -> Response:
        """Leads to another page of this person; a form that was sent ends there."""
        return RedirectResponse(self.base + path, HTTPStatus.SEE_OTHER, headers=HEADERS)

    def json(self, value: object) -> Response:
        """Returns a value to a script."""
        return JSONResponse(value, headers=HEADERS)


Handler: TypeAlias = Callable[[Visit], Response]
_Answer: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An address that each person has, below their name.

    Attributes:
        path: As Starlette writes it, such as `/records/{number}`; the first page is `/`.
        handler: What answers; it may block.
        method: `GET`, or `POST` for forms.
    """

    path: str
    handler: Handler
    method: str = "GET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a room gives to its desk.

    Attributes:
        title: The name of the desk, on every page.
        people: Who may use it.
        pages: Their pages.
        package: The package with `templates/` and `assets/` of the room.
        filters: Functions that its templates use as filters, by name.
        hosts: Names by which other machines reach it; this one's own are always there.
        secure: Whether browsers may send its cookies by HTTPS alone.
    """

    title: str
    people: Admission
    pages: Sequence[Page]
    package: str
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    hosts: frozenset[str] = frozenset()
    secure: bool = False


def create_app(desk: Desk) -> Starlette:
    """Makes the application of a desk."""
    pages = Pages(desk.package, title=desk.title, filters=desk.filters)

    async def asset(request: Request) -> Response:
        found = pages.asset(request.path_params["name"])
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such page.")
        return found

    hosts = desk.hosts.union(LOOPBACK)
    routes = [Route("/assets/{name}", _guarded(pages, hosts, asset))]
    for one in desk.pages:
        answer = _guarded(pages, hosts, _answering(desk, pages, one))
        routes.append(Route(f"/{{person}}{one.path}", answer, methods=[one.method]))
    app = Starlette(routes=routes)

    async def failed(request: Request, error: Exception) -> Response:
        known = isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code if isinstance(error, HTTPException) else 500)
        said = "There is no such page." if known else "Something went wrong; what was kept is safe."
        return _error(pages, status, said)

    app.add_exception_handler(HTTPException, failed)
    app.add_exception_handler(Exception, failed)
    return app


def _answering(desk: Desk, pages: Pages, page: Page) -> _Answer:
    async def answer(request: Request) -> Response:
        name = request.path_params["person"]
        person = desk.people.get(name)
        given = request.query_params.get("token")
        if given is not None and page.method == "GET" and desk.people.admits(name, given):
            return _entered(request, desk, name, given)
        known = request.cookies.get(desk.people.cookie(name), "")
        if person is None or not desk.people.admits(name, known):
            raise AccessError(
                "This page needs the link with its token. Open your own link again, whole, as it "
                "was given to you; if it no longer works, ask whoever gave it to you for a new one."
            )
        form = request.query_params
        if page.method != "GET":
            if not is_own(request.headers):
                raise AccessError("Forms are sent from the pages of this desk. Open it again.")
            form = await _sent(request)
        visit = Visit(
            person=person,
            form=form,
            path={key: value for key, value in request.path_params.items() if key != "person"},
            pages=pages,
            where=request.url.path,
            languages=wanted(request.headers.get("accept-language", "")),
        )
        return await run_in_threadpool(page.handler, visit)

    return answer


def _entered(request: Request, desk: Desk, name: str, token: str) -> Response:
    """Takes the token out of the address, where it could be seen, and into a cookie."""
    answer = RedirectResponse(request.url.path, HTTPStatus.SEE_OTHER, headers=HEADERS)
    answer.set_cookie(
        desk.people.cookie(name),
        token,
        max_age=COOKIE_SECONDS,
        path=f"/{name}/",
        httponly=True,
        secure=desk.secure,
        samesite="lax",  # a link in a message is followed from elsewhere
    )
    return answer


async def _sent(request: Request) -> QueryParams:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST:
            raise TooLargeError(f"the form has more than {MOST:,} bytes; shorten it")
    return QueryParams(body.decode("utf-8", "replace"))


def _guarded(pages: Pages, hosts: frozenset[str], answer: _Answer) -> _Answer:
    """Refuses requests by other names than the desk's, and makes errors pages."""

    async def guarded(request: Request) -> Response:
        if host_name(request.headers.get("host", "")) not in hosts:
            return _error(pages, HTTPStatus.FORBIDDEN, "This desk has another address.")
        try:
            return await answer(request)
        except AccessError as error:
            return _error(pages, HTTPStatus.FORBIDDEN, str(error))
        except TooLargeError as error:
            return _error(pages, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
        except (ScaleqaError, TsimError) as error:
            return _error(pages, HTTPStatus.BAD_REQUEST, str(error))

    return guarded


def _error(pages: Pages, status: HTTPStatus, detail: str) -> Response:
    return pages.page("error.html", status=status, heading=status.phrase, detail=detail)
