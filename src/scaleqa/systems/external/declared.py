"""The declarations of programs: any command, and the products that ship with an adapter."""

import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from scaleqa import products
from scaleqa.errors import DataError
from scaleqa.options import read_options
from scaleqa.products import Product, find_product
from scaleqa.specs import Spec
from scaleqa.systems.declaration import Budget, Kind, SystemDeclaration
from scaleqa.systems.external.system import External, Limits, Program
from scaleqa.systems.protocol import Tools
from tsim import environment

EXAMPLE = "example"
OURS = "tsim"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductOptions:
    """What is asked of a product, and what is shown of it."""

    budget: Annotated[int, Field(ge=0, description="Tokens of the context.")] = 500
    k: Annotated[int, Field(ge=1, description="Results asked for.")] = 100
    mode: Annotated[str, Field(description="One of the product's ways to search.")] = ""
    window: Annotated[
        int, Field(ge=1, description="Consecutive turns that are given to it as one.")
    ] = 1
    timeout: Annotated[float, Field(gt=0, description="Seconds that it may take for a line.")] = (
        600.0
    )

    @property
    def limits(self) -> Limits:
        """The limits that they set."""
        return Limits(budget=self.budget, k=self.k, window=self.window, timeout=self.timeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalOptions(ProductOptions):
    """The same for any program."""

    command: Annotated[
        str, Field(description="Program and arguments; empty: the example that ships.")
    ] = ""


def declare(name: str) -> SystemDeclaration[ProductOptions]:
    """Returns a product as a system.

    Raises:
        DataError: There is no such product.
    """
    product = find_product(name)

    def make(options: ProductOptions, tools: Tools) -> External:
        return External(_installed(product, options.mode, tools), tools, options.limits)

    return SystemDeclaration(
        name=name,
        summary=product.summary,
        options=ProductOptions,
        make=make,
        kind=Kind.PRODUCT,
        budget=Budget(),
        slow_to_ingest=product.slow,
        rewrites=lambda options: product.mode(options.mode) in product.rewrites,
    )


def open_hosted(spec: str, tools: Tools) -> External:
    """Opens a product, or our own memory as if it were one, so that their costs compare.

    Raises:
        DataError: It is neither, or cannot be opened.
    """
    parsed = Spec.parse(spec)
    options = read_options(ProductOptions, parsed.options, of=parsed.name)
    if parsed.name == OURS:
        product = Product(name=OURS, title="TSIM", package="tsim-memory", summary="")
        return External(_program(product, sys.executable), tools, options.limits)
    product = find_product(parsed.name)
    return External(_installed(product, options.mode, tools), tools, options.limits)


def _installed(product: Product, mode: str, tools: Tools) -> Program:
    if mode and mode not in product.modes:
        known = ", ".join(product.modes) or "none"
        raise DataError(f"{product.name} has no mode {mode!r}; there are {known}")
    if product.mode(mode) in product.needs_model and tools.model is None:
        raise DataError(
            f"{product.name} asks a language model in mode {product.mode(mode)}; name one, such as "
            "--assist openai:MODEL@URL"
        )
    found = products.installed(product, environment.cache_dir())
    if found is None or not found.current:
        what = "is not installed" if found is None else "is installed with other versions"
        raise DataError(
            f"{product.name} {what}; install it with: scaleqa products install {product.name}"
        )

    return _program(product, found.python, mode)


def _program(product: Product, python: Path | str, mode: str = "") -> Program:
    inherited = environment.inherited()
    return Program(
        name=product.name,
        command=products.command(product, python),
        environment=lambda directory: products.variables(product, directory, inherited),
        mode=product.mode(mode),
        rewrites=product.mode(mode) in product.rewrites,
    )


def _external(options: ExternalOptions, tools: Tools) -> External:
    if not options.command:
        program = _program(find_product(EXAMPLE), sys.executable, options.mode)
        return External(program, tools, options.limits)
    try:
        words = shlex.split(options.command)
    except ValueError as error:
        raise DataError(f"the command {options.command!r} cannot be read: {error}") from None
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise DataError(
            f"the command {options.command!r} names no program; expected a program on the PATH or "
            "a path, with its arguments"
        )
    # It runs elsewhere, so what lies here is named in full.
    given = [str(Path(word).absolute()) if Path(word).is_file() else word for word in words[1:]]
    program = Program(
        name=Path(found).name,
        command=(str(Path(found).absolute()), *given),
        mode=options.mode,
    )
    return External(program, tools, options.limits)


SYSTEM = SystemDeclaration(
    name="external",
    summary="A program of any language that speaks our protocol.",
    options=ExternalOptions,
    make=_external,
    budget=Budget(),
)
