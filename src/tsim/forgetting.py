"""Which turns to forget."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tsim.arguments import whole
from tsim.errors import InputError
from tsim.excerpt import excerpt
from tsim.filter import ALL, Filter, make_filter
from tsim.state import MAX_ID
from tsim.store import Reader
from tsim.times import Time
from tsim.types import ForgetPreview, Meta, Turn


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


def select(reader: Reader, thread: str, wanted: Selection) -> Iterator[Turn]:
    """Yields the turns that are selected, in order.

    Raises:
        InputError: There is no such turn or episode.
    """
    for turn in _named(reader, thread, wanted):
        if wanted.only.passes(turn):
            yield turn


def _named(reader: Reader, thread: str, wanted: Selection) -> Iterable[Turn]:
    if wanted.turns is not None:
        ids = [turn for turn in wanted.turns if 0 <= turn <= MAX_ID]
        found = reader.turns(thread, ids)
        missing = {*wanted.turns} - {turn.id for turn in found}
        if missing:
            raise _missing(thread, f"turn {min(missing)}")
        return found
    if wanted.episode is None:
        return (turn for _, turn in reader.all_turns(thread))
    known = [wanted.episode] if 0 <= wanted.episode <= MAX_ID else []
    found = reader.episode_turns(thread, known).get(wanted.episode, [])
    if not found:
        raise _missing(thread, f"episode {wanted.episode}")
    return found


def preview(thread: str, turns: Iterable[Turn]) -> ForgetPreview:
    """Describes turns that would be forgotten."""
    found = [(turn.id, f"{turn.role}: {excerpt(turn.text)}") for turn in turns]
    return ForgetPreview(
        thread=thread,
        turns=tuple(turn for turn, _ in found),
        lines=tuple(line for _, line in found),
    )


def _missing(thread: str, what: str) -> InputError:
    return InputError(f"there is no {what} in thread {thread!r}; nothing was removed")


def _whole_numbers(turns: object) -> tuple[int, ...]:
    if isinstance(turns, str) or not isinstance(turns, Iterable):
        raise InputError(f"turns={turns!r:.80} is not a list; pass a list of turn ids")
    ids = tuple(sorted({whole("turns", turn) for turn in turns}))
    if not ids:
        raise InputError("turns is empty; name at least one turn; nothing was removed")
    return ids
