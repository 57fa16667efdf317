"""Pages as HTML: one file that needs nothing but itself.

Everything that comes from data is escaped by the templates; drawings and JSON for scripts are the
only values that pass unescaped, through the filters below.
"""

import itertools
import json
import re
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scaleqa.pages.inline import runs
from scaleqa.pages.page import Block, Page


def to_html(page: Page, template: str = "page.html", **values: Any) -> str:
    """Writes a page.

    Args:
        page: The page.
        template: A template of this package.
        **values: What the template needs besides the page.
    """
    return _environment().get_template(template).render(page=page, **values)


def script_json(value: Any) -> Markup:
    """Writes JSON that is safe inside a script element: nothing in it can end or open one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - no sign is left that could leave the element


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("scaleqa.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        by_kind=_by_kind, pieces=_pieces, runs=runs, script_json=script_json, svg=_svg
    )
    return environment


def _svg(drawing: str) -> Markup:
    """Lets a drawing through; `scaleqa.pages.drawings` has escaped what came from data."""
    return Markup(drawing)  # noqa: S704


def _by_kind(blocks: Iterable[Block]) -> list[tuple[str, list[Block]]]:
    """Puts neighbours of one kind together: drawings in a row share a line."""
    kinds = itertools.groupby(blocks, lambda block: type(block).__name__)
    return [(kind, list(some)) for kind, some in kinds]


def _pieces(name: str) -> list[str]:
    """Splits a name where a line may be broken: before the options of a system."""
    return re.split(r"(?<=[:,])(?=[a-z])", name)
