"""Pages from templates: everything that comes from data is escaped, and nothing else is loaded."""

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from tsim.browsers import HEADERS
from tsim.characters import visible

DESK = "scaleqa.desk"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Pages:
    """The templates and assets of a room, with those of the desk behind them."""

    def __init__(
        self, package: str, *, title: str, filters: Mapping[str, Callable[..., Any]]
    ) -> None:
        """Finds templates and assets.

        Args:
            package: The package of the room.
            title: The name of the desk.
            filters: Functions for the templates of the room.
        """
        self._environment = Environment(
            loader=ChoiceLoader([PackageLoader(package), PackageLoader(DESK)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(shown=visible, number=number, **filters)
        self._assets = {**_assets(DESK), **_assets(package)}
        # A browser that has the files of an earlier version loads them again.
        self._environment.globals.update(
            title=title, scripts=_named(self._assets, ".js"), styles=_named(self._assets, ".css")
        )

    def page(self, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
        """Returns a page.

        Args:
            template: The name of a template; those of the room come first.
            status: The HTTP status.
            **values: What the template shows.
        """
        given = {"base": None, "person": None, **values}
        text = self._environment.get_template(template).render(given)
        # A lone surrogate cannot be sent.
        return HTMLResponse(text.encode("utf-8", "replace"), status, headers=HEADERS)

    def asset(self, name: str) -> Response | None:
        """Returns a file that pages load, if there is one of this name."""
        if name not in self._assets:
            return None
        kind = KINDS[name[name.rindex(".") :]]
        kept = {**HEADERS, "Cache-Control": "no-cache"}
        return Response(self._assets[name], headers=kept, media_type=kind)


def number(value: int) -> str:
    """Returns a whole number with separators."""
    return f"{value:,}"


def _assets(package: str) -> dict[str, bytes]:
    place = files(package) / "assets"
    if not place.is_dir():
        return {}
    found = sorted(place.iterdir(), key=lambda one: one.name)
    return {
        one.name: one.read_bytes()
        for one in found
        if one.is_file() and "." in one.name and one.name[one.name.rindex(".") :] in KINDS
    }


def _named(assets: Mapping[str, bytes], ending: str) -> list[str]:
    return [name for name in assets if name.endswith(ending)]
