"""What a system says of itself, so that no other module needs to know systems by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from scaleqa.options import Option, list_options, read_options
from scaleqa.specs import Spec
from scaleqa.systems.protocol import System, Tools

OptionsT = TypeVar("OptionsT")
# The place of a system that declares none.
UNPLACED = 100


class Kind(StrEnum):
    """What a system is compared as; reports list kinds in this order."""

    OURS = "ours"
    """A method of this project."""
    METHOD = "method"
    """A memory that could be used in practice."""
    CONTROL = "control"
    """No memory that could be used: it shows everything, or is told the boundaries."""
    BOUND = "bound"
    """The least or the most that can be reached: nothing at all, or the evidence itself."""


class Sees(StrEnum):
    """What part of the truth a system is given."""

    NONE = "none"
    BOUNDARIES = "boundaries"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How a system is held to a number of context tokens.

    Attributes:
        option: The option that limits the context.
        unit: Mean tokens of a unit, with default options, where the option counts units; None where
            it counts tokens.
    """

    option: str = "budget"
    unit: int | None = None

    def of(self, spec: Spec, tokens: int) -> Spec:
        """Returns a specification that is held to so many tokens, unless it sets a limit itself.

        Where units are counted, any other option may change their length: such a specification
        stays as it is.
        """
        if self.option in spec.options or (self.unit and spec.options):
            return spec
        units = max(1, round(tokens / self.unit)) if self.unit else tokens
        return spec.with_option(self.option, units)

    def __str__(self) -> str:
        return f"{self.option}=TOKENS/{self.unit}" if self.unit else f"{self.option}=TOKENS"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDeclaration(Generic[OptionsT]):
    """One system: what users write, what it may see, how it is made and shown.

    Attributes:
        name: What users write; the name of its entry point.
        summary: What it does, in a line.
        options: The class of its options.
        make: Makes an empty system from options and tools.
        kind: What it is compared as.
        sees: What part of the truth it is given.
        budget: How it is held to a number of context tokens; None if it cannot be.
        order: Its place among systems of its kind.
        colour: Its colour in figures, as #rrggbb; None for one that is still free.
        slow_to_ingest: Whether long threads take it so long that tables may leave it out there.
        without_model: What takes the place of a language model where none is given, as a clause;
            empty for systems that use none.
    """

    name: str
    summary: str
    options: type[OptionsT]
    make: Callable[[OptionsT, Tools], System]
    kind: Kind = Kind.METHOD
    sees: Sees = Sees.NONE
    budget: Budget | None = None
    order: int = UNPLACED
    colour: str | None = None
    slow_to_ingest: bool = False
    without_model: str = ""

    def open(self, options: Mapping[str, str], tools: Tools) -> System:
        """Makes an empty system, and hands it no more of the truth than it declares.

        Raises:
            DataError: An option is unknown or has a value that is not allowed.
        """
        shown = replace(
            tools,
            truth=tools.truth if self.sees is Sees.EVIDENCE else {},
            dialogues=tools.dialogues if self.sees is Sees.BOUNDARIES else (),
        )
        return self.make(read_options(self.options, options, of=self.name), shown)

    def list_options(self) -> list[Option]:
        """Lists its options."""
        return list_options(self.options)
