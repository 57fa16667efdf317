"""Which turns to forget."""

from collections.abc import Iterable, Iterator

from tsim.errors import InputError
from tsim.excerpt import excerpt
from tsim.selection import Selection
from tsim.state import MAX_ID
from tsim.store import Reader
from tsim.types import ForgetPreview, Turn


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
