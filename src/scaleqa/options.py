"""Options of systems, backends and data sets: declared as dataclasses, parsed from user input.

An options class is a frozen, keyword-only dataclass. Annotations hold bounds and descriptions:

    k: Annotated[int, Field(ge=1, description="Turns shown.")] = 5
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from scaleqa.errors import DataError

OptionsT = TypeVar("OptionsT")
TYPES = {"integer": "int", "number": "float", "string": "str", "boolean": "true or false"}
BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """The options class of something that has no options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option as shown in listings.

    Attributes:
        name: The name that users write.
        type: `int`, `float`, `str`, or the allowed choices.
        default: The value if none is given.
        bounds: The allowed range in words; empty if all values are allowed.
        meaning: What the option does.
    """

    name: str
    type: str
    default: Any
    bounds: str
    meaning: str

    @property
    def expected(self) -> str:
        """The type and bounds, for messages."""
        return f"{self.type}, {self.bounds}" if self.bounds else self.type


def read_options(kind: type[OptionsT], given: Mapping[str, str], *, of: str) -> OptionsT:
    """Parses options into an instance of their class.

    Args:
        kind: A dataclass, or `dict[str, str]` to accept any options unchanged.
        given: The options as the user wrote them.
        of: What the options belong to, for messages.

    Raises:
        DataError: An option is unknown or its value is not allowed.
    """
    known = {option.name: option for option in list_options(kind)}
    adapter = TypeAdapter(kind)
    unknown = [] if _takes_any(adapter) else sorted({*given} - {*known})
    if unknown:
        there = ", ".join(f"{option.name} ({option.expected})" for option in known.values())
        raise DataError(f"unknown option {unknown[0]!r} of {of}; there are {there or 'none'}")
    try:
        return adapter.validate_python(dict(given))
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        if name not in given:
            option = known[name]
            raise DataError(
                f"{of} needs option {name} ({option.expected}): {option.meaning}"
            ) from None
        raise DataError(
            f"option {name}={given[name]} of {of} should be {known[name].expected}; "
            f"its options are {', '.join(known)}"
        ) from None


def list_options(kind: type[Any]) -> list[Option]:
    """Lists the options of a class in declaration order."""
    properties = TypeAdapter(kind).json_schema().get("properties", {})
    return [
        Option(
            name=name,
            type=_type(_value(schema)),
            default=schema.get("default"),
            bounds=_bounds(_value(schema)),
            meaning=schema.get("description", ""),
        )
        for name, schema in properties.items()
    ]


def _takes_any(adapter: TypeAdapter[OptionsT]) -> bool:
    return "additionalProperties" in adapter.json_schema()


def _value(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a value that is given, where it may be left out."""
    given = (one for one in schema.get("anyOf", ()) if one.get("type") != "null")
    return next(given, schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    return " and ".join(
        f"{words} {schema[key]:g}" for key, words in BOUNDS.items() if key in schema
    )


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    return TYPES.get(schema.get("type", ""), "str")
