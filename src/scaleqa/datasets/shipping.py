"""Reads the files of data sets that ship with the package."""

import hashlib
from importlib import resources
from typing import TypeVar

from pydantic import BaseModel

Line = TypeVar("Line", bound=BaseModel)


def read_lines(name: str, kind: type[Line]) -> tuple[list[Line], str]:
    """Returns what the lines of a shipped file describe, and the SHA-256 of the file."""
    content = (resources.files("scaleqa.datasets") / "data" / name).read_bytes()
    found = [kind.model_validate_json(line) for line in content.decode().splitlines()]
    return found, hashlib.sha256(content).hexdigest()
