"""`TsimStore`: the long-term memory of LangGraph, searched by meaning. Needs the extra `langgraph`.

An item is a turn: its key is the external id, all text in its value can be searched for, and a
namespace is a thread. Replacing a value forgets the old one first, so that it leaves no trace.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tsim.adapters.extras import require

require("langgraph", extra="langgraph")

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from tsim.adapters.items import (
    DOT,
    PREFIX,
    Namespace,
    created,
    is_hidden,
    thread_of,
    turn_of,
    value_of,
)
from tsim.adapters.keeping import moment
from tsim.adapters.protocol import Keyed, Threads
from tsim.errors import InputError, ThreadMissingError
from tsim.types import Hit, NewTurn, SpanWhy, Turn

# Tokens that a search returns, more and more until there are enough items: so the best are first.
BUDGETS = [16 << step for step in range(14)]


class TsimStore(BaseStore):
    """Items in a memory, with all methods of LangGraph's stores, waiting and async.

    >>> store = TsimStore(memory)  # doctest: +SKIP
    >>> store.put(("users", "ada"), "gpu", {"text": "New projects run on one consumer GPU."})
    ... # doctest: +SKIP
    >>> store.search(("users",), query="Which model should we start with?")  # doctest: +SKIP
    """

    def __init__(
        self, memory: Threads, *, prefix: str = PREFIX, clock: Callable[[], float] = time.time
    ) -> None:
        """Keeps items in threads of a memory.

        Args:
            memory: A `tsim.Memory` or a `tsim.client.Client`.
            prefix: What the names of the threads begin with: `store.users.ada`.
            clock: Gives the times of items.
        """
        self._memory = memory
        self._prefix = prefix
        self._clock = clock
        self._lock = threading.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does several operations: reads first, then writes, of which the last for a key counts.

        Raises:
            InputError: An item or a namespace cannot be kept; nothing was written.
        """
        several = [*ops]
        results = [self._read(op) for op in several]
        puts = {(op.namespace, op.key): op for op in several if isinstance(op, PutOp)}
        for namespace, key in puts:
            self._name(namespace)
            self._turn(puts[namespace, key])
        with self._lock:
            for op in puts.values():
                self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Does what `batch` does, in another thread."""
        return await asyncio.to_thread(self.batch, [*ops])

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                turn = self._called(op.namespace, op.key)
                return None if turn is None else _item(op.namespace, turn)
            case SearchOp():
                found = self._found(op) if op.query and op.query.strip() else self._listed(op)
                return found[op.offset : op.offset + op.limit]
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
        raise InputError(f"{op!r:.80} is no operation of a store")

    def _put(self, op: PutOp) -> None:
        thread = self._memory.thread(self._name(op.namespace))
        old = self._called(op.namespace, op.key)
        if old is not None and op.value is not None and value_of(old) == op.value:
            return
        if old is not None:
            thread.forget(turns=[old.id])
        if op.value is None:
            if old is not None and not thread.recent(1):
                self._memory.forget_thread(thread.name)
            return
        thread.add_many([self._turn(op, old)])

    def _turn(self, op: PutOp, old: Turn | None = None) -> NewTurn:
        now = self._clock()
        made = now if old is None else created(old)
        return turn_of(op.key, op.value, created=made, updated=now, hidden=op.index is False)

    def _called(self, namespace: Namespace, key: str) -> Turn | None:
        try:
            return self._thread(namespace).called(key)
        except ThreadMissingError:
            return None

    def _thread(self, namespace: Namespace) -> Keyed:
        return self._memory.thread(self._name(namespace))

    def _name(self, namespace: Namespace) -> str:
        return thread_of(namespace, self._prefix)

    def _all(self, prefix: Sequence[str] = ()) -> list[Namespace]:
        """Returns the namespaces below another one, sorted."""
        begin = f"{self._prefix}{DOT}"
        names = (name for name in self._memory.threads() if name.startswith(begin))
        found = (tuple(name.removeprefix(begin).split(DOT)) for name in names)
        return sorted(one for one in found if one[: len(prefix)] == tuple(prefix))

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {
            one[: op.max_depth]
            for one in self._all()
            if all(_matches(condition, one) for condition in op.match_conditions or ())
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _listed(self, op: SearchOp) -> list[SearchItem]:
        return [
            item
            for namespace in self._all(op.namespace_prefix)
            for turn in self._thread(namespace).turns()
            if (item := _item(namespace, turn)) and _passes(item.value, op.filter)
        ]

    def _found(self, op: SearchOp) -> list[SearchItem]:
        """Returns items in the order in which larger and larger budgets find them.

        The score of an item is the relevance of the span that it was found in.
        """
        threads = {one: self._thread(one) for one in self._all(op.namespace_prefix)}
        items: dict[tuple[Namespace, int], SearchItem] = {}
        least = math.inf
        for budget in BUDGETS:
            if len(items) >= op.offset + op.limit:
                break
            found = [
                (_rank(hit, turn), namespace, turn)
                for namespace, thread in threads.items()
                for hit in thread.search(op.query or "", budget=budget, min_relevance=0)
                for turn in hit.turns
            ]
            for (_, score), namespace, turn in sorted(found, key=lambda one: one[0]):
                least = min(least, -score)
                item = _item(namespace, turn, score=least)
                if item and not is_hidden(turn) and _passes(item.value, op.filter):
                    items.setdefault((namespace, turn.id), item)
            if len(found) == sum(len(thread) for thread in threads.values()):
                break  # there is nothing more
        return [*items.values()]


def _rank(hit: Hit, turn: Turn) -> tuple[bool, float]:
    """Returns what sorts turns: those for which hits were chosen before those around them."""
    around = isinstance(hit.why, SpanWhy) and hit.why.anchor != turn.id
    return around, -(hit.score if hit.relevance is None else hit.relevance)


def _item(namespace: Namespace, turn: Turn, score: float | None = None) -> SearchItem | None:
    value = value_of(turn)
    made, changed = moment(created(turn)), moment(turn.at)
    if value is None or turn.external_id is None or made is None or changed is None:
        return None  # not added by a store
    return SearchItem(
        namespace=namespace,
        key=turn.external_id,
        value=value,
        created_at=made,
        updated_at=changed,
        score=score,
    )


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(
        asked in ("*", label) for asked, label in zip(path, part, strict=True)
    )


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_holds(value.get(name), test) for name, test in (wanted or {}).items())


def _holds(value: Any, test: Any) -> bool:
    if isinstance(test, Mapping) and any(name.startswith("$") for name in test):
        return all(_compared(value, name, other) for name, other in test.items())
    if isinstance(test, Mapping):
        return isinstance(value, Mapping) and _passes(value, test)
    return bool(value == test)


def _compared(value: Any, operator: str, other: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == other) is (operator == "$eq")
    try:
        one, two = float(value), float(other)
    except (TypeError, ValueError):
        return False
    match operator:
        case "$gt":
            return one > two
        case "$gte":
            return one >= two
        case "$lt":
            return one < two
        case "$lte":
            return one <= two
    raise InputError(f"no operator {operator!r:.40}; use $eq, $ne, $gt, $gte, $lt or $lte")
