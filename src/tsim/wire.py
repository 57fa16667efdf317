"""The data types of the API as JSON, the same for servers and clients."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Returns what validates and writes values of a type; made when it is first needed."""
    return TypeAdapter(kind)


def dump(kind: Any, value: object) -> bytes:
    """Returns a value as JSON.

    Raises:
        ValueError: It has something that JSON cannot have.
    """
    return adapter(kind).dump_json(value)


def load(kind: Any, data: bytes | str) -> Any:
    """Returns the value that JSON stands for; text is not taken for a number, nor 1 for True.

    Raises:
        pydantic.ValidationError: It is no value of this type; a `ValueError`.
    """
    return adapter(kind).validate_json(data, strict=True)
