"""Pages from templates: everything that comes from data is escaped, and nothing else is loaded."""

from functools import cache
from importlib.resources import files

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from tsim.browsers import HEADERS
from tsim.server.inspector import texts

ROOT = "/inspector"
ASSETS = {
    "style.css": "text/css; charset=utf-8",
    "script.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """Returns a page.

    Args:
        request: What it answers.
        template: The name of a template.
        status: The HTTP status.
        **values: What the template shows.
    """
    text = _environment().get_template(template).render(root=ROOT, base=base(request), **values)
    # A lone surrogate cannot be sent.
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers=HEADERS)


def asset(name: str) -> Response | None:
    """Returns a file that pages load, if there is one of this name."""
    if name not in ASSETS:
        return None
    kept = {**HEADERS, "Cache-Control": "no-cache"}
    return Response(_asset(name), headers=kept, media_type=ASSETS[name])


def base(request: Request) -> str:
    """Returns the address that the pages of a namespace begin with."""
    namespace = request.path_params.get("namespace")
    return ROOT if namespace is None else f"{ROOT}/ns/{namespace}"


@cache
def _asset(name: str) -> bytes:
    return files(__package__).joinpath("assets", name).read_bytes()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tsim.server.inspector"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    used_by_name = (texts.cut, texts.line, texts.marked, texts.passages, texts.left_out)
    for used in (*used_by_name, texts.moment, texts.number, texts.plural):
        environment.filters[used.__name__] = used
    environment.filters["percent"] = texts.percent
    environment.globals["period"] = texts.period
    environment.globals["terms_of"] = lambda hit: {
        word for word, _ in getattr(hit.why, "words", ())
    }
    return environment
