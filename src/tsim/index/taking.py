"""Some values of growing arrays, for what remains of a thread."""

from array import array
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", int, float)
Places = npt.NDArray[np.int64]


def taken(values: "array[Number]", places: Places) -> "array[Number]":
    """Returns the values at some places."""
    out = array(values.typecode, values[:0])
    out.frombytes(np.frombuffer(values, dtype=values.typecode)[places].tobytes())
    return out


def moved(places: Places, length: int) -> Places:
    """Returns for each of `length` places its number among some of them; -1 for the others."""
    out = np.full(length, -1, dtype=np.int64)
    out[places] = np.arange(len(places))
    return out


def renumbered(numbers: npt.NDArray[np.unsignedinteger]) -> tuple[list[int], "array[int]"]:
    """Numbers things in the order in which they first appear.

    Args:
        numbers: Things by other numbers, as they appear.

    Returns:
        The former number of each thing, and the new numbers as they appear.
    """
    found, first, each = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    ranks = np.empty(len(order), dtype=np.uint32)
    ranks[order] = np.arange(len(order))
    return found[order].tolist(), array("I", ranks[each].tobytes())


def consecutive(begins: Places, sizes: Places) -> Places:
    """Returns the numbers in some ranges, one range after the other."""
    ends = np.cumsum(sizes)
    return np.repeat(begins - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)
