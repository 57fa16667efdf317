"""The systems under test, built-in and third-party, behind one protocol."""

from scaleqa.systems.declaration import Budget, Kind, Sees, SystemDeclaration
from scaleqa.systems.flat import FlatSystem
from scaleqa.systems.protocol import (
    Accounting,
    Asked,
    Exchange,
    Retrieved,
    System,
    Tools,
    Unit,
)
from scaleqa.systems.registry import (
    check_systems,
    check_turns,
    colour_of,
    find_system,
    memories,
    open_system,
    ordered,
    rivals,
    system_names,
    systems,
    with_budget,
)

__all__ = [
    "Accounting",
    "Asked",
    "Budget",
    "Exchange",
    "FlatSystem",
    "Kind",
    "Retrieved",
    "Sees",
    "System",
    "SystemDeclaration",
    "Tools",
    "Unit",
    "check_systems",
    "check_turns",
    "colour_of",
    "find_system",
    "memories",
    "open_system",
    "ordered",
    "rivals",
    "system_names",
    "systems",
    "with_budget",
]
