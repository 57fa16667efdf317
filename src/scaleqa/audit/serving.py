"""Serves the pages of an audit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette

from scaleqa.audit.book import Book
from scaleqa.audit.files import read_plan
from scaleqa.audit.invitations import Raters
from scaleqa.audit.views import Views
from scaleqa.desk import Desk, create_app, held
from scaleqa.desk.serving import HOST
from scaleqa.errors import DataError

PORTS = {"http": 80, "https": 443}


@contextmanager
def opened(
    directory: Path, *, url: str | None = None, told: Callable[[str], None] = lambda _: None
) -> Iterator[Starlette]:
    """Opens an audit for raters; one process at a time has it.

    Args:
        directory: Its directory, with a plan.
        url: The address by which raters on other machines reach it.
        told: Is told what happened to a damaged last line.

    Raises:
        DataError: There is no plan, the address is none, or another process has the audit.
    """
    plan = read_plan(directory)
    hosts, secure = _reached(url) if url else (frozenset[str](), False)
    with held(directory):
        book = Book(directory, plan, told=told)
        try:
            yield create_app(
                Desk(
                    title="Conversation rating",
                    people=Raters(directory),
                    pages=Views(plan, book).pages(),
                    package="scaleqa.audit",
                    hosts=hosts,
                    secure=secure,
                )
            )
        finally:
            book.close()


def check_url(url: str) -> str:
    """Returns an address without a slash at its end.

    Raises:
        DataError: It is none.
    """
    _reached(url)
    return url.rstrip("/")


def elsewhere(links: Mapping[int, str], url: str) -> dict[int, str]:
    """Returns those links that lead to another address than the one where raters are served.

    Args:
        links: The address that the link of each rater begins with.
        url: The address by which raters are served.
    """
    here = _place(url)
    return {rater: one for rater, one in links.items() if _place(one) != here}


def _place(url: str) -> tuple[str, str, int]:
    parts = urlsplit(check_url(url))
    name = parts.hostname or ""
    return parts.scheme, HOST if name == "localhost" else name, parts.port or PORTS[parts.scheme]


def _reached(url: str) -> tuple[frozenset[str], bool]:
    """Returns the name of the host of an address, and whether it is reached by HTTPS."""
    try:
        parts = urlsplit(url)
        name, _ = parts.hostname, parts.port
    except ValueError:
        name, parts = None, urlsplit("")
    if not name or parts.scheme not in ("http", "https") or parts.path.strip("/") or parts.query:
        raise DataError(
            f"{url!r:.100} is not an address of raters; expected one such as "
            "https://audit.example.org, without a path"
        )
    return frozenset({f"[{name}]" if ":" in name else name}), parts.scheme == "https"
