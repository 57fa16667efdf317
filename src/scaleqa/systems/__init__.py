"""The systems under test, ours and anybody's, behind one protocol."""

from scaleqa.systems.budget import with_budget
from scaleqa.systems.protocol import (
    Accounting,
    Asked,
    Exchange,
    Retrieved,
    System,
    Tools,
    Unit,
)
from scaleqa.systems.registry import open_system, split_specs, system_names

__all__ = [
    "Accounting",
    "Asked",
    "Exchange",
    "Retrieved",
    "System",
    "Tools",
    "Unit",
    "open_system",
    "split_specs",
    "system_names",
    "with_budget",
]
