"""What commands that serve a desk share."""

from importlib.util import find_spec
from typing import Annotated

import typer

from scaleqa.errors import DataError
from tsim.cli.shell import print_json, say, tell

# Modules of the extra `desk`.
MODULES = ("starlette", "uvicorn")
DeskPort = Annotated[int, typer.Option(help="The port on this machine; 0 for a free one.")]


def require_desk() -> None:
    """Checks that what a desk needs is installed, without loading it.

    Raises:
        DataError: Something is missing.
    """
    missing = [name for name in MODULES if find_spec(name) is None]
    if missing:
        raise DataError(
            f"this needs the extra desk, of which {', '.join(missing)} cannot be found; run: "
            "pip install 'scaleqa[desk]'"
        )


def announce(links: dict[str, str], roles: dict[str, str], *, as_json: bool) -> None:
    """Prints the link of each person.

    Args:
        links: The links by name.
        roles: The roles by name.
        as_json: Whether to print JSON.
    """
    if as_json:
        print_json([{"name": name, "role": roles[name], "link": links[name]} for name in links])
        return
    wide = max(map(len, links), default=0)
    for name, link in links.items():
        say(f"{name:{wide}}  {roles[name]:11}  {link}")
    tell("give each person their own link, which is like a password · Ctrl-C stops")
