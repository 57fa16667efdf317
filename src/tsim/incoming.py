"""Turns on their way into a thread: the forms they come in, and those that are there already."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tsim.checking import check_turn
from tsim.errors import InputError
from tsim.logs.message import read_message
from tsim.logs.records import messages
from tsim.logs.streams import joined
from tsim.types import NewTurn, Receipt, Turn

TurnLike: TypeAlias = NewTurn | tuple[Any, ...] | Mapping[str, Any]
# Called with the number of turns that are in the thread so far, and the total.
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Checked turns, and what was left out of the messages they came in, counted by kind."""

    turns: list[NewTurn]
    skipped: Mapping[str, int] = field(default_factory=dict)


def accept(values: Iterable[TurnLike]) -> Batch:
    """Converts all forms that `Thread.add_many` takes to turns, and checks them.

    Raises:
        InputError: A value has none of these forms, a turn is invalid, or an id occurs twice with
            different texts or roles.
    """
    if not isinstance(values, Iterable):
        raise InputError(f"expected a list of turns, found {values!r:.80}; pass [(role, text), …]")
    turns: list[NewTurn] = []
    skipped: Counter[str] = Counter()
    for _, value in joined(enumerate(values)):
        if isinstance(value, Mapping):
            for _, found in messages(dict(value), ""):
                if isinstance(found, InputError):
                    raise found
                message = read_message(found)
                turns += message.turns
                skipped.update(message.skipped)
        else:
            turns.append(check_turn(_turn(value)))
    first: dict[str, NewTurn] = {}
    for turn in turns:
        if turn.id is not None:
            _require_equal(turn, first.setdefault(turn.id, turn), "another turn of the same call")
    return Batch(turns=turns, skipped=skipped)


def _turn(value: object) -> NewTurn:
    if isinstance(value, NewTurn):
        return value
    if isinstance(value, tuple) and len(value) in (2, 3):
        role, text, at = (*value, None)[:3]
        return NewTurn(role=role, text=text, at=at)
    raise InputError(
        f"expected a turn, found {value!r:.80}; pass (role, text), a mapping with role and "
        "text, or a NewTurn"
    )


def require_same(turns: Iterable[NewTurn], called: Mapping[str, Turn]) -> None:
    """Checks new turns against the stored ones with the same external ids.

    Raises:
        InputError: One of them has another text or role.
    """
    for turn in turns:
        if turn.id is not None and turn.id in called:
            stored = called[turn.id]
            _require_equal(turn, stored, f"turn {stored.id}")


def _require_equal(turn: NewTurn, other: NewTurn | Turn, what: str) -> None:
    for name in ("role", "text"):
        ours, theirs = getattr(turn, name), getattr(other, name)
        if ours != theirs:
            raise InputError(
                f"id {turn.id!r} belongs to {what} with the {name} {theirs!r:.80}, found "
                f"{ours!r:.80}; give a changed turn an id of its own, or forget the other one first"
            )


def missing(turns: Iterable[NewTurn], called: Mapping[str, Turn]) -> list[NewTurn]:
    """Returns the turns that are not stored yet, each external id once."""
    new: list[NewTurn] = []
    seen = {*called}
    for turn in turns:
        if turn.id is not None:
            if turn.id in seen:
                continue
            seen.add(turn.id)
        new.append(turn)
    return new


def assign(
    turns: Sequence[NewTurn], added: Sequence[Receipt], known: Mapping[str, Receipt]
) -> list[Receipt]:
    """Returns the receipts of turns, from those of turns just added and those known before."""
    rest = iter(added)
    called = {**known}
    receipts: list[Receipt] = []
    for turn in turns:
        receipt = called.get(turn.id) if turn.id is not None else None
        if receipt is None:
            receipt = next(rest)
            if turn.id is not None:
                called[turn.id] = replace(receipt, known=True)
        receipts.append(receipt)
    return receipts
