"""Options as users write them: `name:key=value,key=value`."""

from collections.abc import Mapping

from scaleqa.errors import DataError


def read_options(spec: str, rest: str) -> dict[str, str]:
    """Reads `key=value,key=value`, a part of `spec`.

    Raises:
        DataError: A part is something else.
    """
    options = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise DataError(f"option {part!r} of {spec!r} is not key=value")
        options[key.strip()] = value.strip()
    return options


def take(options: Mapping[str, str], **defaults: int | float | str) -> dict[str, int | float | str]:
    """Reads options into the types of their defaults.

    Raises:
        DataError: An option is unknown or has the wrong type.
    """
    unknown = sorted({*options} - {*defaults})
    if unknown:
        raise DataError(f"unknown option {unknown[0]!r}; there are {', '.join(sorted(defaults))}")
    out: dict[str, int | float | str] = dict(defaults)
    for key, text in options.items():
        kind = type(defaults[key])
        try:
            out[key] = kind(text)
        except ValueError:
            raise DataError(f"option {key}={text!r} should be {kind.__name__}") from None
    return out
