"""Colours of systems in drawings and tables."""

from collections.abc import Iterable

from scaleqa.pages.drawings import colours
from scaleqa.specs import Spec
from scaleqa.systems import colour_of


def system_colours(systems: Iterable[str]) -> dict[str, str]:
    """Gives each system the colour that it declares, or else one that is still free."""
    return colours({name: colour_of(name) for name in systems})


def base_colour(system: str) -> str:
    """Returns the colour of a system whatever its options are."""
    name = Spec.parse(system).name
    return system_colours([name])[name]
