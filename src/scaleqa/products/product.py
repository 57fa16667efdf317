"""What is known of a product: a file `adapters/NAME.toml` beside its adapter `adapters/NAME.py`."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scaleqa.errors import DataError

ADAPTERS = Path(__file__).parent / "adapters"
NOT_RUN = Path(__file__).parent / "not_run.toml"


class Declared(BaseModel):
    """A part of a declaration: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Product(Declared):
    """A product."""

    name: str
    """What users write."""
    title: str
    """What its makers call it."""
    package: str = ""
    """The distribution whose version is the product's."""
    summary: str
    """How it is used, in a line."""
    settings: str = ""
    """How it is set up, for the page of results."""
    modes: tuple[str, ...] = ()
    """Its ways to search, if there are several; the first is the default."""
    needs_model: tuple[str, ...] = ()
    """Those of its modes that ask a language model."""
    rewrites: tuple[str, ...] = ()
    """Those of its modes that find texts of the product's own instead of turns."""
    slow: bool = False
    """Whether tables may leave it out where that would take too long."""
    telemetry: str = ""
    """What it would report to its makers, and how that is prevented."""
    variables: Mapping[str, str] = {}
    """Environment variables that it runs with."""
    requirements: tuple[str, ...] = ()
    """All distributions of its environment, pinned."""

    @property
    def version(self) -> str:
        """The version that is pinned; empty for a product without a distribution."""
        found = [line for line in self.requirements if _named(line) == _named(self.package)]
        return found[0].partition("==")[2].partition(";")[0].strip() if found else ""

    def mode(self, given: str) -> str:
        """The mode that is meant; the first one if none is given."""
        return given or next(iter(self.modes), "")


class NotRun(Declared):
    """A product that cannot be measured."""

    title: str
    version: str
    why: str
    """What was tried, and what it needs."""


def product_names() -> list[str]:
    """Returns the names of all products."""
    return sorted(path.stem for path in ADAPTERS.glob("*.toml"))


@cache
def find_product(name: str) -> Product:
    """Returns the product with a name.

    Raises:
        DataError: There is none.
    """
    names = product_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise DataError(f"no product {name!r}{hint} (there are {', '.join(names)})")
    return read_product(ADAPTERS / f"{name}.toml")


def read_product(path: Path) -> Product:
    """Reads a declaration.

    Raises:
        DataError: It is malformed, or a requirement is not pinned.
    """
    try:
        found = tomllib.loads(path.read_text("utf-8"))
        product = Product.model_validate({"name": path.stem, **found})
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise DataError(f"{path} is no declaration of a product: {error}") from error
    loose = [
        line for line in product.requirements if not re.match(r"[\w.-]+(\[[\w,-]+\])?==", line)
    ]
    unknown = {*product.needs_model, *product.rewrites} - {*product.modes}
    if unknown:
        raise DataError(f"{path}: {min(unknown)!r} is no mode; there are {product.modes}")
    if loose:
        raise DataError(f"{path}: {loose[0]!r} is not pinned; expected NAME==VERSION")
    return product


def products() -> list[Product]:
    """Returns all products by name."""
    return [find_product(name) for name in product_names()]


def not_run() -> list[NotRun]:
    """Returns the products that cannot be measured, with the reasons."""
    found = tomllib.loads(NOT_RUN.read_text("utf-8"))
    return [NotRun.model_validate(one) for one in found["product"]]


def _named(requirement: str) -> str:
    """The name of a distribution, in the form in which names are compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=<>;\[ ]", requirement)[0]).lower()
