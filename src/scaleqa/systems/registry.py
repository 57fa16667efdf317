"""Systems by name: ours and others' come through the same door."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

from scaleqa.errors import DataError
from scaleqa.options import read_options
from scaleqa.options import take as take
from scaleqa.systems.protocol import System, Tools

GROUP = "scaleqa.systems"
Factory = Callable[[Mapping[str, str], Tools], System]
# Controls are told a part of the truth, and bound what a memory can do: which part is which's.
CONTROLS = {"oracle": "truth", "perfect_episodes": "dialogues"}


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
    return factory(read_options(spec, rest), _shown(name, tools))


def _shown(name: str, tools: Tools) -> Tools:
    told = CONTROLS.get(name)
    return replace(
        tools,
        truth=tools.truth if told == "truth" else {},
        dialogues=tools.dialogues if told == "dialogues" else (),
    )


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
