"""Plugins: entry points of installed packages, and attributes of Python files.

The built-in systems, backends and data sets are registered in the same way as third-party ones.
"""

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from scaleqa.errors import DataError


@cache
def points(group: str) -> dict[str, EntryPoint]:
    """Returns the entry points of a group, sorted by name."""
    found = {point.name: point for point in entry_points(group=group)}
    return dict(sorted(found.items()))


def load(group: str, name: str, what: str, *, also: Sequence[str] = ()) -> object:
    """Loads a plugin by name.

    Args:
        group: The entry-point group.
        name: A name in the group, or `FILE.py:ATTRIBUTE`.
        what: The kind of plugin, for messages, such as `system`.
        also: Further names that a user may have meant.

    Raises:
        DataError: There is no such name, file or attribute, or its module fails to import.
    """
    if ".py:" in name:
        return _from_file(name, what)
    known = points(group)
    if name not in known:
        names = [*known, *also]
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise DataError(f"no {what} {name!r}{hint} (there are {', '.join(names)})")
    try:
        return known[name].load()
    except Exception as error:
        raise DataError(
            f"{what} {name!r} cannot be loaded from {known[name].value}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _from_file(name: str, what: str) -> object:
    path, _, attribute = name.rpartition(":")
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"no file {path} for {what} {name!r}; expected FILE.py:ATTRIBUTE")
    module = _module(file.resolve())
    if not hasattr(module, attribute):
        public = ", ".join(key for key in vars(module) if not key.startswith("_"))
        raise DataError(f"{path} has no {attribute!r} for a {what}; it has {public or 'nothing'}")
    found: object = getattr(module, attribute)
    return found


@cache
def _module(file: Path) -> ModuleType:
    """Imports a file once per process; dataclasses need their module in `sys.modules`."""
    name = f"{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise DataError(f"{file} cannot be imported; expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise DataError(f"{file} fails to import: {type(error).__name__}: {error}") from error
    return module
