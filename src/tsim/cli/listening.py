"""What commands that listen on a port share: where, and who is let in."""

from typing import Annotated

import typer

from tsim.cli.keys import has_keys, shown_access
from tsim.errors import InputError
from tsim.ports import is_loopback
from tsim.server.settings import Settings

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 for a free one.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="A name by which clients address the server; may be repeated."),
]
WithKeys = Annotated[
    bool, typer.Option("--keys", help="Refuse to start without keys, also on loopback.")
]
CountedBy = Annotated[
    str, typer.Option(help="What counts the tokens of budgets, as for tsim context.")
]


def keys_needed(there: Settings, host: str, *, wanted: bool) -> bool:
    """Returns whether every request needs a key: if there are any, or they are wanted.

    Raises:
        InputError: Keys are needed, or others than this machine are served, and none is valid.
    """
    from tsim.server.access.gate import Access

    valid = False
    if has_keys(there):
        with Access(there.access) as access:
            wanted = wanted or access.locked()
            valid = access.usable()
    if (wanted or not is_loopback(host)) and not valid:
        where = "--store ADDRESS" if there.store else f"--at {there.place}"
        raise InputError(
            f"there is no valid key in {shown_access(there)}; make one with: tsim keys create "
            f"{where}"
        )
    return wanted
