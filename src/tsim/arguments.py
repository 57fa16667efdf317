"""Checks of arguments. A value of a wrong type is refused before anything is read or written."""

import math
import operator
from collections.abc import Iterable
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO, Literal, SupportsIndex

from tsim.errors import InputError


def whole(name: str, value: object) -> int:
    """Returns a whole number.

    Raises:
        InputError: It is something else; True, "3" and 3.0 are not whole numbers here.
    """
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return operator.index(value)
    raise InputError(f"{name}={value!r:.80} is not a whole number; pass an int")


def positive(**values: object) -> None:
    """Checks that numbers, where given, are whole and at least 1."""
    for name, value in values.items():
        if value is not None and whole(name, value) < 1:
            raise InputError(f"{name}={value} is out of range; it must be at least 1")


def share(name: str, value: object) -> float:
    """Returns a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name}={value!r:.80} is not a number; it must be between 0 and 1")
    if not 0 <= _float(value) <= 1:
        raise InputError(f"{name}={value} is out of range; it must be between 0 and 1")
    return _float(value)


def path(name: str, value: object) -> Path:
    """Returns the path of a file.

    Raises:
        InputError: It is something else.
    """
    if isinstance(value, str | PathLike) and isinstance(found := fspath(value), str):
        return Path(found)
    raise InputError(f"{name}={value!r:.80} is not a path; pass text or a Path")


def place(value: str | Path | BinaryIO, method: Literal["read", "write"]) -> Path | BinaryIO:
    """Returns a path, or a stream that can be read or written."""
    if isinstance(value, str | PathLike) or not hasattr(value, method):
        return path("path", value)
    return value


def known(given: Iterable[str], names: Iterable[str]) -> None:
    """Checks the names of keyword arguments.

    Raises:
        InputError: One of them is unknown.
    """
    if unknown := sorted({*given} - {*names}):
        raise InputError(f"there is no argument {unknown[0]!r}; use {', '.join(sorted(names))}")


def listed(name: str, values: object) -> list[str]:
    """Returns several names, without repetitions.

    Raises:
        InputError: There is none, or a single text was given in place of several.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}={values!r:.80} is not a list of names; pass {name}=['…']")
    found = list(values)
    if not all(isinstance(value, str) for value in found):
        raise InputError(
            f"{name}={found!r:.80} is not a list of names; expected text, found other values"
        )
    found = list(dict.fromkeys(found))
    if not found:
        raise InputError(f"{name} is empty; name at least one")
    return found


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf
