"""The declaration of a system, so that no other module needs to know systems by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from scaleqa.errors import DataError, ScaleqaError
from scaleqa.options import Option, list_options, read_options
from scaleqa.specs import Spec
from scaleqa.systems.protocol import System, Tools
from tsim.errors import TsimError

OptionsT = TypeVar("OptionsT")
# The order of a system that declares none.
UNPLACED = 100
# What a system must be able to do.
METHODS = ("ingest", "retrieve", "observe", "account", "views", "close")


class Kind(StrEnum):
    """The role of a system in comparisons; reports list kinds in this order."""

    OURS = "ours"
    """A method of this project."""
    METHOD = "method"
    """A memory that could be used in practice."""
    PRODUCT = "product"
    """A product that people use, in an environment of its own."""
    CONTROL = "control"
    """Not a usable memory: it shows everything, or is given the true boundaries."""
    BOUND = "bound"
    """A lower or upper bound: it shows nothing, or the evidence itself."""


class Sees(StrEnum):
    """The part of the truth that a system is given."""

    NONE = "none"
    BOUNDARIES = "boundaries"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How the context of a system is limited to a number of tokens.

    Attributes:
        option: The option that limits the context.
        unit: Mean tokens of a unit with default options, if the option counts units; None if it
            counts tokens.
    """

    option: str = "budget"
    unit: int | None = None

    def of(self, spec: Spec, tokens: int) -> Spec:
        """Returns the specification limited to `tokens`, unless it sets a limit itself.

        If units are counted, a specification with any options is returned unchanged, because
        other options may change the length of a unit.
        """
        if self.option in spec.options or (self.unit and spec.options):
            return spec
        units = max(1, round(tokens / self.unit)) if self.unit else tokens
        return spec.with_option(self.option, units)

    def __str__(self) -> str:
        return f"{self.option}=TOKENS/{self.unit}" if self.unit else f"{self.option}=TOKENS"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDeclaration(Generic[OptionsT]):
    """The declaration of a system: its name and options, what it may see, how it is shown.

    Attributes:
        name: The name that users write, and the name of its entry point.
        summary: A one-line description.
        options: The options class.
        make: Makes an empty system from options and tools.
        kind: Its role in comparisons.
        sees: The part of the truth that it is given.
        budget: How its context is limited to a number of tokens; None if it cannot be.
        order: Its position among systems of its kind.
        colour: Its colour in figures, as #rrggbb; None to use any free colour.
        slow_to_ingest: Whether tables may leave it out for long threads because ingesting them
            takes too long.
        without_model: What replaces the language model if none is given, as a clause; empty for
            systems that use no model.
        rewrites: Whether it shows texts of its own in place of turns, given its options.
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
    rewrites: Callable[[OptionsT], bool] = lambda _: False

    def open(self, options: Mapping[str, str], tools: Tools) -> System:
        """Makes an empty system, which is given only the part of the truth that it declares.

        Raises:
            DataError: An option is unknown or its value is not allowed.
        """
        shown = replace(
            tools,
            truth=tools.truth if self.sees is Sees.EVIDENCE else {},
            dialogues=tools.dialogues if self.sees is Sees.BOUNDARIES else (),
        )
        given = read_options(self.options, options, of=self.name)
        try:
            system = self.make(given, shown)
        except (ScaleqaError, TsimError):
            raise
        except Exception as error:
            raise DataError(
                f"system {self.name} cannot be opened: {type(error).__name__}: {error}"
            ) from error
        missing = [name for name in METHODS if not callable(getattr(system, name, None))]
        if missing:
            raise DataError(
                f"system {self.name} makes {type(system).__name__}, which has no {missing[0]}(); "
                "see scaleqa.systems.System"
            )
        return system

    def list_options(self) -> list[Option]:
        """Lists the options."""
        return list_options(self.options)
