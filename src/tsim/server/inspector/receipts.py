"""A receipt as an address: the page that shows it can be loaded again, and nothing is kept."""

from urllib.parse import urlencode

from tsim.errors import AccessError
from tsim.server.inspector.fields import Fields, ranges
from tsim.server.inspector.guarding import Tokens
from tsim.server.service import Caller
from tsim.types import Forgotten

# Characters of a list of ids; browsers and proxies take no address of any length.
MOST = 1_000
NAMES = ("thread", "count", "turns", "episodes", "rebuilt", "clusters", "erased")


def query(tokens: Tokens, caller: Caller, thread: str, gone: Forgotten) -> str:
    """Returns the query of the address of a receipt.

    Args:
        tokens: Signs it, so that nobody is shown a receipt of something else.
        caller: Who may see it.
        thread: The name of the thread.
        gone: What was forgotten.
    """
    written = {
        "thread": thread,
        "count": str(len(gone.turns)),
        "turns": _short(ranges(gone.turns)),
        "episodes": _short(ranges(gone.episodes)),
        "rebuilt": _short(ranges(gone.rebuilt_episodes)),
        "clusters": _short(ranges({*gone.rebuilt_clusters, *gone.removed_clusters})),
        "erased": "yes" if gone.scrubbed else "",
    }
    token = tokens.sign(*_signed(caller, written))
    return urlencode({**written, "token": token})


def read(tokens: Tokens, caller: Caller, fields: Fields) -> dict[str, str] | None:
    """Returns the receipt in an address; None if it is too old, or not one for this caller."""
    written = {name: fields.text(name) for name in NAMES}
    try:
        tokens.check(fields.text("token"), *_signed(caller, written))
    except AccessError:
        return None
    return written


def _signed(caller: Caller, written: dict[str, str]) -> tuple[str, ...]:
    return "receipt", caller.principal.key, caller.namespace, *(written[name] for name in NAMES)


def _short(ids: str) -> str:
    return ids if len(ids) <= MOST else f"{ids[:MOST].rpartition(',')[0]},…"
