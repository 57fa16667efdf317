"""Shapes: the types of our models as columns, for parquet files and for the card.

Mappings become lists of keys and values, because tables have the same fields in every row, and
options or views do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

SCALARS = {str: "string", int: "int64", float: "float64", bool: "bool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One value; every value may be missing."""

    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """A list of values of one shape."""

    item: "Shape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """A mapping from texts to values of one shape, as a list."""

    value: "Shape"

    @property
    def item(self) -> "Fields":
        """What a key and its value look like."""
        return Fields(fields={"key": Scalar(dtype="string"), "value": self.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Values by name."""

    fields: Mapping[str, "Shape"]


Shape: TypeAlias = Scalar | Several | Pairs | Fields


def shape_of(kind: Any) -> Shape:
    """Returns the shape of a type as models declare it.

    Raises:
        TypeError: Such a type has no columns.
    """
    if kind in SCALARS:
        return Scalar(dtype=SCALARS[kind])
    arguments = [one for one in get_args(kind) if one not in (NoneType, ...)]
    origin = get_origin(kind)
    if origin in (Union, UnionType) and len(arguments) == 1:
        return shape_of(arguments[0])
    if origin is Literal:
        return shape_of(type(arguments[0]))
    if origin in (list, tuple) and len({*arguments}) == 1:
        return Several(item=shape_of(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Pairs(value=shape_of(arguments[1]))
    if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, BaseModel)):
        return fields_of(kind)
    raise TypeError(f"{kind!r} has no columns")


def fields_of(model: type) -> Fields:
    """Returns the shape of a model or dataclass."""
    hints = get_type_hints(model)
    names = [*model.model_fields] if issubclass(model, BaseModel) else []
    if is_dataclass(model):
        names = [one.name for one in fields(model)]
    return Fields(fields={name: shape_of(hints[name]) for name in names})


def shaped(value: Any, shape: Shape) -> Any:
    """Returns plain data in a shape: dictionaries whose keys vary become lists."""
    if value is None:
        return None
    match shape:
        case Pairs():
            return [{"key": key, "value": shaped(v, shape.value)} for key, v in value.items()]
        case Several():
            return [shaped(one, shape.item) for one in value]
        case Fields():
            return {name: shaped(value[name], part) for name, part in shape.fields.items()}
        case Scalar():
            return value


def features(shape: Fields) -> list[dict[str, Any]]:
    """Returns the columns as the YAML of a card declares them."""
    return [{"name": name, **_feature(part)} for name, part in shape.fields.items()]


def _feature(shape: Shape) -> dict[str, Any]:
    match shape:
        case Scalar():
            return {"dtype": shape.dtype}
        case Fields():
            return {"struct": features(shape)}
        case Several() | Pairs():
            return {"list": _item(shape.item)}


def _item(shape: Shape) -> Any:
    match shape:
        case Scalar():
            return shape.dtype
        case Fields():
            return features(shape)
        case _:
            return _feature(shape)
