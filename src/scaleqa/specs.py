"""Specifications of systems, backends and data sets: `name:key=value,key=value`.

Some names take a subject before the options: `gguf:PATH,context=512`. A name can also be an
attribute of a Python file: `path/to/file.py:make:key=value`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scaleqa.errors import DataError

IN_FILE = re.compile(r"(?P<name>[^:]+\.py:[^\W\d]\w*)(?::(?P<rest>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A name with options, all as text.

    Attributes:
        name: A registered name, or `FILE.py:ATTRIBUTE`.
        subject: What follows the name, such as a model; empty if there is none.
        options: Values by option name, in the order given.
    """

    name: str
    subject: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, *, subject: bool = False) -> "Spec":
        """Parses a specification.

        Args:
            text: The specification.
            subject: Whether a subject comes before the options.

        Raises:
            DataError: The name is missing, or an option is not `key=value`.
        """
        found = IN_FILE.fullmatch(text)
        if found:
            name, rest = found["name"], found["rest"] or ""
        else:
            name, _, rest = text.partition(":")
        if not name.strip():
            raise DataError(f"{text!r} names nothing; expected name or name:key=value,key=value")
        if name.endswith(".py"):
            raise DataError(f"{text!r} does not say what to open; write {name}:ATTRIBUTE")
        about, _, rest = rest.partition(",") if subject else ("", "", rest)
        return cls(name=name.strip(), subject=about.strip(), options=_options(text, rest))

    def with_option(self, key: str, value: object) -> "Spec":
        """Returns a copy with one option set."""
        return replace(self, options={**self.options, key: str(value)})

    def __str__(self) -> str:
        written = [f"{key}={value}" for key, value in self.options.items()]
        rest = ",".join([self.subject, *written] if self.subject else written)
        return f"{self.name}:{rest}" if rest else self.name


def split_specs(text: str) -> list[str]:
    """Splits a list: commas separate specifications, semicolons separate options.

    Raises:
        DataError: A specification is malformed.
    """
    parts = [one for one in text.split(",") if one.strip()]
    for one in parts:
        if "=" in one.partition(":")[0]:
            raise DataError(
                f"{one.strip()!r} is an option, not a name; options of the same name are separated "
                "by semicolons, as in name:key=value;key=value"
            )
    found = [str(Spec.parse(one.replace(";", ","))) for one in parts]
    if not found:
        raise DataError(
            "the list is empty; expected name or name:key=value;key=value, separated by commas"
        )
    return found


def _options(text: str, rest: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if not key or not value:
            raise DataError(f"option {part!r} of {text!r} is not key=value")
        if key in options:
            raise DataError(f"{text!r} gives option {key!r} twice")
        options[key] = value
    return options
