"""What a server answers: the form of every answer, and errors as exceptions."""

from collections.abc import Mapping
from dataclasses import dataclass

from tsim import errors, wire
from tsim.errors import RemoteError, TsimError
from tsim.types import Receipt

PROBLEM = "application/problem+json"
# Our kinds of errors by their names, which never change.
KINDS: Mapping[str, type[TsimError]] = {
    found.kind: found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, TsimError) and found is not TsimError
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Receipts of turns."""

    receipts: list[Receipt]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The text for a prompt."""

    context: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error of our server, as it is sent."""

    kind: str
    detail: str


def error_of(kind: str, detail: str) -> TsimError:
    """Returns the exception that a server had; `RemoteError` for what only servers have."""
    return KINDS.get(kind, RemoteError)(detail)


def read_problem(media_type: str, content: bytes) -> Problem | None:
    """Returns what a server of ours says about an error; None if somebody else answered."""
    if media_type.partition(";")[0].strip().lower() != PROBLEM:
        return None
    try:
        found: Problem = wire.load(Problem, content)
    except ValueError:
        return None
    return found
