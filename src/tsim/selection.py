"""Turns as their ids, their episode or filters name them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tsim.arguments import whole
from tsim.errors import InputError
from tsim.filter import ALL, Filter, make_filter
from tsim.times import Time
from tsim.types import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Turns by their ids, the turns of an episode, or all turns; of these, those that pass filters.

    Attributes:
        turns: Ids of turns.
        episode: Id of an episode.
        only: Filters.
    """

    turns: tuple[int, ...] | None = None
    episode: int | None = None
    only: Filter = ALL


def selection(
    *,
    turn: int | None = None,
    turns: Iterable[int] | None = None,
    episode: int | None = None,
    roles: Sequence[str] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    meta: Meta | None = None,
) -> Selection:
    """Checks what is to be forgotten.

    Raises:
        InputError: Nothing was named, or turns in more than one way, or a value is of a wrong type.
    """
    filtering = {"roles": roles, "since": since, "until": until, "meta": meta}
    filtered = [name for name, value in filtering.items() if value is not None]
    named = {"turn": turn, "turns": turns, "episode": episode}
    ways = [name for name, value in named.items() if value is not None]
    if len(ways) + bool(filtered) != 1:
        found = " and ".join([*ways, *filtered]) or "none of them"
        raise InputError(
            "forget takes one of turn=…, turns=…, episode=…, or filters (roles=…, since=…, "
            f"until=…, meta=…), found {found}; nothing was removed"
        )
    if turn is not None:
        return Selection(turns=(whole("turn", turn),))
    if turns is not None:
        return Selection(turns=_whole_numbers(turns))
    if episode is not None:
        return Selection(episode=whole("episode", episode))
    return Selection(only=make_filter(roles=roles, since=since, until=until, meta=meta))


def _whole_numbers(turns: object) -> tuple[int, ...]:
    if isinstance(turns, str) or not isinstance(turns, Iterable):
        raise InputError(f"turns={turns!r:.80} is not a list; pass a list of turn ids")
    ids = tuple(sorted({whole("turns", turn) for turn in turns}))
    if not ids:
        raise InputError("turns is empty; name at least one turn; nothing was removed")
    return ids
