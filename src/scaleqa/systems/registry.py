"""Finding systems by name, built-in and third-party alike.

The entry-point group `scaleqa.systems` has a `SystemDeclaration` for each name. A plain function
`(options, tools) -> System` is accepted too: it gets its options as the user wrote them, a mapping
of strings, and sees no part of the truth. The names of products are those of systems, too.
"""

from collections.abc import Callable, Iterable
from inspect import getdoc
from typing import Any

from scaleqa import plugins
from scaleqa.errors import DataError
from scaleqa.options import read_options
from scaleqa.products import product_names
from scaleqa.specs import Spec
from scaleqa.systems.declaration import UNPLACED, Kind, SystemDeclaration
from scaleqa.systems.external import declare
from scaleqa.systems.protocol import System, Tools

GROUP = "scaleqa.systems"
# Systems that had another name.
FORMER = {"tsim_late": "tsim"}
KINDS = tuple(Kind)


def system_names() -> list[str]:
    """Returns the names of all registered systems."""
    return [*plugins.points(GROUP)]


def systems() -> list[SystemDeclaration[Any]]:
    """Returns all registered systems, in display order.

    Raises:
        DataError: One of them cannot be loaded.
    """
    return sorted((find_system(name) for name in system_names()), key=_place)


def find_system(name: str) -> SystemDeclaration[Any]:
    """Returns the system or product with the given name, or from `FILE.py:ATTRIBUTE`.

    Raises:
        DataError: There is no such system, or it cannot be loaded.
    """
    if name in FORMER:
        raise DataError(f"system {name!r} is called {FORMER[name]!r} now")
    if name in product_names() and name not in plugins.points(GROUP):
        return declare(name)
    found = plugins.load(GROUP, name, "system", also=product_names())
    if isinstance(found, SystemDeclaration):
        if name in plugins.points(GROUP) and found.name != name:
            raise DataError(f"the system registered as {name!r} declares the name {found.name!r}")
        return found
    if not callable(found):
        raise DataError(
            f"system {name!r} is {found!r}; expected a SystemDeclaration, or a function of options "
            "and tools that returns a system"
        )
    return _plain(name, found)


def open_system(spec: str, tools: Tools) -> System:
    """Opens a system from `name` or `name:key=value,key=value`.

    Raises:
        DataError: There is no such system, or an option is invalid.
    """
    parsed = Spec.parse(spec)
    return find_system(parsed.name).open(parsed.options, tools)


def check_systems(specs: Iterable[str], tools: Tools) -> None:
    """Checks that systems can be opened: that their options, extras and weights are there.

    Raises:
        DataError: One of them cannot be opened.
    """
    for spec in specs:
        open_system(spec, tools).close()


def check_turns(specs: Iterable[str]) -> None:
    """Checks that systems show turns: of other texts it cannot be said which evidence they hold.

    Raises:
        DataError: One of them shows texts of its own, or an option is invalid.
    """
    for spec in specs:
        parsed = Spec.parse(spec)
        found = find_system(parsed.name)
        if found.rewrites(read_options(found.options, parsed.options, of=found.name)):
            raise DataError(
                f"{spec} shows texts of its own, and a turn in other words is no evidence turn: "
                "only answers tell what it is worth; use scaleqa run, or a mode that shows turns"
            )


def with_budget(spec: str, budget: int) -> str:
    """Limits a system to a budget of context tokens, if it can be and sets no limit itself."""
    parsed = Spec.parse(spec)
    declared = find_system(parsed.name).budget
    return str(declared.of(parsed, budget)) if declared else spec


def ordered(specs: Iterable[str]) -> list[str]:
    """Orders systems: ours, other methods, controls, bounds; unknown systems are methods."""
    return sorted(specs, key=lambda spec: (*_rank(_registered(spec)), spec))


def rivals(specs: Iterable[str]) -> list[str]:
    """Returns the systems that are not bounds."""
    return [spec for spec in specs if _kind(spec) is not Kind.BOUND]


def memories(specs: Iterable[str]) -> list[str]:
    """Returns the systems that are neither bounds nor controls."""
    return [spec for spec in specs if _kind(spec) not in (Kind.CONTROL, Kind.BOUND)]


def colour_of(spec: str) -> str | None:
    """Returns the colour that a system declares.

    Returns None for a system with options, because it may be shown next to the same system with
    other options.
    """
    found = _registered(spec)
    return found.colour if found and not Spec.parse(spec).options else None


def _plain(name: str, make: Callable[..., System]) -> SystemDeclaration[dict[str, str]]:
    summary = (getdoc(make) or "").partition("\n")[0]
    return SystemDeclaration(name=name, summary=summary, options=dict[str, str], make=make)


def _registered(spec: str) -> SystemDeclaration[Any] | None:
    """Returns the declaration of a system, or None; rows may name systems not installed here."""
    try:
        name = Spec.parse(spec).name
    except DataError:
        return None
    known = name in plugins.points(GROUP) or name in product_names()
    return find_system(name) if known else None


def _kind(spec: str) -> Kind:
    found = _registered(spec)
    return found.kind if found else Kind.METHOD


def _rank(declared: SystemDeclaration[Any] | None) -> tuple[int, int]:
    if declared is None:
        return KINDS.index(Kind.METHOD), UNPLACED
    return KINDS.index(declared.kind), declared.order


def _place(declared: SystemDeclaration[Any]) -> tuple[int, int, str]:
    return (*_rank(declared), declared.name)
