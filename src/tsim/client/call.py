"""`Call`: a request, how its answer is read, and when it may be repeated."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from tsim import wire
from tsim.answers import Page
from tsim.errors import InputError, RemoteError

T = TypeVar("T")
Value: TypeAlias = str | int | float | None

# Items of a page. A server may send fewer at a time.
PAGE = 500


class Again(Enum):
    """When an operation that failed may be repeated."""

    ALWAYS = auto()
    """Whenever the failure may pass: a second time changes nothing."""
    UNWRITTEN = auto()
    """If it is certain that nothing was written."""
    UNSENT = auto()
    """If it did not reach the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """A request.

    Attributes:
        method: Of HTTP.
        path: Below the memory.
        parse: Reads the answer; raises ValueError if it is another one.
        query: Names and values behind the path.
        body: What is sent.
        media_type: What kind of body it is.
        again: When it may be repeated.
        doubt: What to say if it was sent and no answer came; empty if nothing has changed.
    """

    method: str
    path: str
    parse: Callable[[bytes], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    media_type: str = "application/json"
    again: Again = Again.ALWAYS
    doubt: str = ""


Pages: TypeAlias = Generator[Call[Page[T]], Page[T], None]


def paged(path: str, kind: Any, after: Value, limit: int | None, **query: Value) -> Pages[Any]:
    """Yields the calls for one page after the other; each is sent the page that was answered.

    Args:
        path: What is listed.
        kind: The type of the answers.
        after: Where to begin.
        limit: Maximum number of items; None for all.
        query: What else to ask for.
    """
    while limit is None or limit > 0:
        most = PAGE if limit is None else min(limit, PAGE)
        page = yield Call(
            method="GET",
            path=path,
            query=query_of(**query, after=after, limit=most),
            parse=partial(_page, kind),
        )
        if page.next is None:
            return
        if page.next == after or not page.items:
            raise RemoteError(f"the server sent the same page of {path} again; is it one of ours?")
        after = page.next
        limit = None if limit is None else limit - len(page.items)


def _page(kind: Any, data: bytes) -> Page[Any]:
    found: Page[Any] = wire.load(kind, data).page
    return found


def path_of(name: str) -> str:
    """Returns the path of a thread."""
    # Names of dots alone would be taken for steps in a path.
    return "/threads/" + quote(name, safe="").replace(".", "%2E")


def query_of(**values: Value) -> tuple[tuple[str, str], ...]:
    """Returns the names and values behind a path, without those that are None."""
    return tuple((name, str(value)) for name, value in values.items() if value is not None)


def as_json(body: Mapping[str, object]) -> bytes:
    """Returns a body without the fields that are None.

    Raises:
        InputError: It has something that JSON cannot have.
    """
    given = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"this cannot be sent to a server: {error}") from error
