"""Every operation as what is sent and how the answer is read. Nothing is sent here.

What an operation takes is checked as `Memory` and `Thread` check it, before anything is sent.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar, Unpack

from tsim import answers, wire
from tsim.answers import Episodes, Imported, Threads, ThreadSize, Turns
from tsim.arguments import known, listed, positive, share, whole
from tsim.checking import check_id, check_name
from tsim.client.answers import Added, Context
from tsim.client.call import PAGE, Again, Call, Pages, as_json, paged, path_of, query_of
from tsim.client.messages import message
from tsim.embed.protocol import require_text
from tsim.errors import InputError, TsimError
from tsim.filter import Filter, Narrowing, make_filter
from tsim.incoming import Progress, TurnLike, accept
from tsim.selection import Selection, selection
from tsim.times import Time, moment
from tsim.types import (
    Episode,
    ForgetPreview,
    Forgotten,
    Hits,
    Meta,
    NearTurn,
    NewTurn,
    Receipt,
    Receipts,
    Turn,
)

T = TypeVar("T")

# Turns of a request, which the server writes in one transaction, and about as many bytes of them:
# what takes longer to embed is not answered in time.
BATCH = 256
BATCH_BYTES = 1 << 19


def add(thread: str, turns: Sequence[NewTurn]) -> Call[list[Receipt]]:
    """Adds turns, which are checked already."""
    safe = all(turn.id is not None for turn in turns)
    return Call(
        method="POST",
        path=f"{path_of(thread)}/turns",
        body=as_json({"turns": [message(turn) for turn in turns]}),
        parse=partial(_receipts, len(turns)),
        again=Again.ALWAYS if safe else Again.UNWRITTEN,
        doubt=""
        if safe
        else "the turns may or may not have been added; turns with an id (id=…) can be added again "
        "without being there twice",
    )


def add_many(
    thread: str,
    turns: Iterable[TurnLike],
    progress: Progress | None = None,
    batch: int = BATCH,
) -> Generator[Call[list[Receipt]], list[Receipt], Receipts]:
    """Adds turns in as many calls as it takes."""
    accepted = accept(turns)
    receipts = Receipts(skipped=accepted.skipped)
    total = len(accepted.turns)
    for some in _batches(accepted.turns, batch):
        try:
            receipts += yield add(thread, some)
        except TsimError as error:
            if receipts:
                kept = f"the first {len(receipts)} of {total} turns are kept; then"
                raise type(error)(f"{kept}: {error}") from error
            raise
        if progress:
            progress(len(receipts), total)
    return receipts


def search(
    thread: str,
    query: str,
    *,
    k: int | None,
    budget: int | None,
    min_relevance: float | None,
    **only: Unpack[Narrowing],
) -> Call[Hits]:
    """Searches in a thread."""
    body = _asked(query, k, budget, min_relevance, only)
    return _post(f"{path_of(thread)}/search", body, _hits)


def context(
    thread: str,
    query: str,
    *,
    budget: int,
    min_relevance: float | None,
    **only: Unpack[Narrowing],
) -> Call[str]:
    """Searches in a thread, for a text."""
    body = _asked(query, None, budget, min_relevance, only)
    return _post(f"{path_of(thread)}/context", body, _text)


def nearest(thread: str, query: str, k: int) -> Call[list[NearTurn]]:
    """Returns the turns of a thread nearest to a query."""
    if not require_text(query).strip():
        raise InputError("the query is empty")
    positive(k=k)
    if k > PAGE:
        raise InputError(f"k={k} is more than {PAGE}, of which a server returns no more")
    return _post(
        f"{path_of(thread)}/nearest",
        {"query": query, "k": k},
        lambda data: list(wire.load(answers.Near, data).turns),
    )


def search_across(
    query: str,
    threads: Iterable[str],
    *,
    k: int | None,
    budget: int | None,
    min_relevance: float | None,
    **only: Unpack[Narrowing],
) -> Call[Hits]:
    """Searches in several threads."""
    body = _asked(query, k, budget, min_relevance, only)
    return _post("/search", {**body, "threads": _names(threads)}, _hits)


def context_across(
    query: str,
    threads: Iterable[str],
    *,
    budget: int,
    min_relevance: float | None,
    **only: Unpack[Narrowing],
) -> Call[str]:
    """Searches in several threads, for a text."""
    body = _asked(query, None, budget, min_relevance, only)
    return _post("/context", {**body, "threads": _names(threads)}, _text)


def threads() -> Pages[str]:
    """Lists the names of the threads."""
    return paged("/threads", Threads, None, None)


def turns(thread: str, after: int | None = None, limit: int | None = None) -> Pages[Turn]:
    """Lists the turns of a thread."""
    positive(limit=limit)
    first = None if after is None or whole("after", after) < 0 else after
    return paged(f"{path_of(thread)}/turns", Turns, first, limit)


def called(thread: str, id: str) -> Call[Turn | None]:
    """Returns the turn with an external id."""
    return Call(
        method="GET",
        path=f"{path_of(thread)}/turns",
        query=query_of(called=check_id(id)),
        parse=lambda data: next(iter(wire.load(Turns, data).turns), None),
    )


def recent(thread: str, limit: int) -> Call[list[Turn]]:
    """Returns the last turns of a thread."""
    positive(limit=limit)
    if limit > PAGE:
        raise InputError(f"limit={limit} is more than {PAGE}; page through turns(after=…) instead")
    return Call(
        method="GET",
        path=f"{path_of(thread)}/recent",
        query=query_of(limit=limit),
        parse=lambda data: list(wire.load(Turns, data).turns),
    )


def episodes(thread: str, threshold: float | None) -> Pages[Episode]:
    """Lists the episodes of a thread."""
    least = None if threshold is None else share("threshold", threshold)
    return paged(f"{path_of(thread)}/episodes", Episodes, None, None, threshold=least)


def count(thread: str) -> Call[int]:
    """Counts the turns of a thread."""
    return Call(
        method="GET",
        path=path_of(thread),
        parse=lambda data: int(wire.load(ThreadSize, data).turns),
    )


def forget(  # noqa: PLR0913  # those of `Thread.forget`
    thread: str,
    *,
    turn: int | None,
    turns: Iterable[int] | None,
    episode: int | None,
    roles: Sequence[str] | None,
    since: Time | None,
    until: Time | None,
    meta: Meta | None,
) -> Call[Forgotten]:
    """Forgets turns."""
    wanted = selection(
        turn=turn, turns=turns, episode=episode, roles=roles, since=since, until=until, meta=meta
    )
    return Call(
        method="POST",
        path=f"{path_of(thread)}/forget",
        body=as_json(_selected(wanted, meta)),
        parse=partial(wire.load, Forgotten),
        again=Again.UNSENT,
        doubt="the turns may or may not be gone; list them before you try again",
    )


def preview_forget(  # noqa: PLR0913  # those of `Thread.preview_forget`
    thread: str,
    query: str | None,
    *,
    turns: Iterable[int] | None,
    episode: int | None,
    roles: Sequence[str] | None,
    since: Time | None,
    until: Time | None,
    meta: Meta | None,
    min_relevance: float | None,
) -> Call[ForgetPreview]:
    """Says what would be forgotten."""
    if query is None:
        wanted = selection(
            turns=turns, episode=episode, roles=roles, since=since, until=until, meta=meta
        )
        body = _selected(wanted, meta)
    elif turns is None and episode is None:
        only = Narrowing(roles=roles, since=since, until=until, meta=meta)
        body = _asked(query, None, None, min_relevance, only)
    else:
        raise InputError("a query cannot be combined with turns or episode; pass one of them")
    return _post(f"{path_of(thread)}/forget/preview", body, partial(wire.load, ForgetPreview))


def forget_thread(thread: str) -> Call[Forgotten]:
    """Forgets a thread."""
    return Call(
        method="DELETE",
        path=path_of(thread),
        parse=partial(wire.load, Forgotten),
        again=Again.UNSENT,
        doubt="the thread may or may not be gone; forgetting it again is safe",
    )


def export(threads: Iterable[str] | None) -> Call[bytes]:
    """Exports threads; the answer is read as it comes."""
    names = () if threads is None else _names(threads)
    return Call(
        method="GET",
        path="/export",
        query=tuple(("thread", name) for name in names),
        parse=bytes,
    )


def import_() -> Call[int]:
    """Imports an export, which the caller sends as the body."""
    return Call(
        method="POST",
        path="/import",
        media_type="application/x-ndjson",
        parse=lambda data: int(wire.load(Imported, data).turns),
        again=Again.UNSENT,
        doubt="the threads may or may not have been imported, all of them or none; list them before"
        " you try again",
    )


def backup() -> Call[bytes]:
    """Copies the memory file; the answer is read as it comes."""
    return Call(method="GET", path="/backup", parse=bytes)


def _batches(turns: Sequence[NewTurn], batch: int) -> Iterator[list[NewTurn]]:
    some: list[NewTurn] = []
    size = 0
    for turn in turns:
        more = len(turn.text.encode())
        if some and (len(some) == batch or size + more > BATCH_BYTES):
            yield some
            some, size = [], 0
        some.append(turn)
        size += more
    if some:
        yield some


def _receipts(expected: int, data: bytes) -> list[Receipt]:
    found: list[Receipt] = wire.load(Added, data).receipts
    if len(found) != expected:
        raise ValueError(f"found {len(found)} receipts for {expected} turns")
    return found


def _hits(data: bytes) -> Hits:
    return Hits(wire.load(answers.Hits, data).hits)


def _text(data: bytes) -> str:
    return str(wire.load(Context, data).context)


def _post(path: str, body: Mapping[str, object], parse: Callable[[bytes], T]) -> Call[T]:
    return Call(method="POST", path=path, body=as_json(body), parse=parse)


def _asked(
    query: str, k: int | None, budget: int | None, least: float | None, only: Narrowing
) -> dict[str, object]:
    if not require_text(query).strip():
        raise InputError("the query is empty")
    known(only, Narrowing.__annotations__)
    positive(k=k, budget=budget)
    now, meta = only.get("now"), only.get("meta")
    checked = make_filter(
        since=only.get("since"), until=only.get("until"), roles=only.get("roles"), meta=meta
    )
    return {
        "query": query,
        "k": k,
        "budget": budget,
        "min_relevance": None if least is None else share("min_relevance", least),
        "now": None if now is None else moment(now, "now").isoformat(),
        **_narrowed(checked, meta),
    }


def _selected(wanted: Selection, meta: Meta | None) -> dict[str, object]:
    return {
        "turns": wanted.turns,
        "episode": wanted.episode,
        **_narrowed(wanted.only, meta),
    }


def _narrowed(only: Filter, meta: Meta | None) -> dict[str, object]:
    return {
        "since": only.since,
        "until": only.until,
        "roles": None if only.roles is None else sorted(only.roles),
        "meta": None if meta is None else dict(meta),
    }


def _names(threads: Iterable[str]) -> list[str]:
    return [check_name(name) for name in listed("threads", threads)]
