"""Systems by name: ours and others' come through the same door."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

from scaleqa.errors import DataError
from scaleqa.systems.protocol import System, Tools

GROUP = "scaleqa.systems"
Factory = Callable[[Mapping[str, str], Tools], System]
# Controls are told the truth, or nothing at all; they bound what a memory can do.
CONTROLS = frozenset({"oracle"})


def system_names() -> list[str]:
    """Names all registered systems."""
    return sorted(_points())


def split_specs(text: str) -> list[str]:
    """Reads what users write: systems by commas, the options of each by semicolons."""
    return [spec.replace(";", ",") for spec in text.split(",") if spec]


def open_system(spec: str, tools: Tools) -> System:
    """Opens a system from `name` or `name:key=value,key=value`.

    Raises:
        DataError: There is no such system, or an option is malformed.
    """
    name, _, rest = spec.partition(":")
    points = _points()
    if name not in points:
        near = difflib.get_close_matches(name, points, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise DataError(f"no system {name!r}{hint} (there are {', '.join(sorted(points))})")
    factory: Factory = points[name].load()
    shown = tools if name in CONTROLS else replace(tools, truth={})
    return factory(_options(spec, rest), shown)


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _options(spec: str, rest: str) -> dict[str, str]:
    options = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise DataError(f"option {part!r} of {spec!r} is not key=value")
        options[key.strip()] = value.strip()
    return options


def take(options: Mapping[str, str], **defaults: int | float | str) -> dict[str, int | float | str]:
    """Reads options into the types of their defaults.

    Raises:
        DataError: An option is unknown or has the wrong type.
    """
    unknown = sorted({*options} - {*defaults})
    if unknown:
        raise DataError(f"unknown option {unknown[0]!r}; there are {', '.join(sorted(defaults))}")
    out: dict[str, int | float | str] = dict(defaults)
    for key, text in options.items():
        kind = type(defaults[key])
        try:
            out[key] = kind(text)
        except ValueError:
            raise DataError(f"option {key}={text!r} should be {kind.__name__}") from None
    return out
