"""What each page shows: a view reads the memory, which blocks, and returns values to show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tsim.comparing import MOST as MOST_COMPARED
from tsim.errors import InputError, ThreadMissingError
from tsim.memory import Memory
from tsim.presets import LATE, OFFICIAL, PRESETS
from tsim.server.access import Scope
from tsim.server.inspector import listing, receipts
from tsim.server.inspector.asking import answer, prepared, resumptions
from tsim.server.inspector.drawing import braid_drawing, map_drawing, strip
from tsim.server.inspector.fields import MOST_TURNS, Fields, ranges
from tsim.server.inspector.guarding import Tokens
from tsim.server.inspector.rehearsals import Rehearsals
from tsim.server.inspector.texts import PAGE
from tsim.server.service import Caller, Service
from tsim.state import MAX_ID
from tsim.thread import CONTEXT_BUDGET, Thread
from tsim.types import USER_ROLE, Hit

# Turns that a braid shows at a time.
BRAIDED = 120
# Turns before the best hit that a braid shows beside an answer, and half of those after it.
NEAR = 20
# Turns of a preview whose beginnings are listed.
PREVIEWED = 500

Values: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for a page.

    Attributes:
        service: The server.
        caller: Who asks.
        memory: The memory of the namespace.
        fields: The fields of the address.
        tokens: Signs forms.
        rehearsals: Threads under another preset.
    """

    service: Service
    caller: Caller
    memory: Memory
    fields: Fields
    tokens: Tokens
    rehearsals: Rehearsals

    def thread(self) -> Thread:
        """Returns the thread that the address names.

        Raises:
            ThreadMissingError: There is none of this name.
        """
        name = self.fields.text("thread")
        if not name:
            raise ThreadMissingError("the address names no thread")
        found = self.memory.thread(name)
        found.require()
        return found


def around(service: Service, caller: Caller) -> Values:
    """Returns what every page shows."""
    everywhere = caller.principal.namespace is None
    return {
        "namespace": caller.namespace,
        "namespaces": service.namespaces.names() if everywhere else [caller.namespace],
        "keys": service.settings.keys,
        "may_forget": Scope.FORGET in caller.principal.scopes,
        "budget_default": CONTEXT_BUDGET,
        "presets": list(PRESETS),
    }


def threads(visit: Visit) -> Values:
    """The threads of a namespace."""
    after = visit.fields.text("after")
    rows, following = listing.thread_rows(visit.memory, after)
    return {"rows": rows, "following": following, "after": after, **_using(visit.memory)}


def thread(visit: Visit) -> Values:
    """A thread as a map of its episodes."""
    shown, fields = visit.thread(), visit.fields
    threshold = fields.share("threshold")
    drawn = shown.map(threshold=threshold, first=fields.whole("first"), last=fields.whole("last"))
    page = fields.whole("page", 0) or 0
    return {
        "thread": shown.name,
        "map": drawn,
        "drawing": map_drawing(drawn),
        "views": listing.views(drawn, _ends(shown)),
        "rows": listing.block_rows(shown, drawn, page),
        "page": page,
        "pages": -(-len(drawn.blocks) // listing.BLOCKS),
        **_using(visit.memory),
    }


def turns(visit: Visit) -> Values:
    """The turns between two ids, or of an episode."""
    shown, fields = visit.thread(), visit.fields
    first, last = fields.whole("first", 0) or 0, fields.whole("last", MAX_ID)
    found, following = listing.turns_of(shown, first, MAX_ID if last is None else last)
    return {
        "thread": shown.name,
        "turns": found,
        "first": first,
        "last": last,
        "following": following,
        "episode": fields.whole("episode"),
    }


def turn(visit: Visit) -> Values:
    """One turn with all of its text, a page at a time."""
    shown, fields = visit.thread(), visit.fields
    wanted, begin = fields.whole("turn", 0) or 0, fields.whole("from", 0) or 0
    found = [one for one in shown.turns(after=wanted - 1, limit=1) if one.id == wanted]
    if not found:
        raise ThreadMissingError(f"there is no turn {wanted}")
    text = found[0].text
    end = min(len(text), begin + PAGE)
    return {
        "thread": shown.name,
        "turn": found[0],
        "part": text[begin:end],
        "begin": begin,
        "end": end,
        "page_size": PAGE,
    }


def ask(visit: Visit) -> Values:
    """A question: what is found, why, and what nearly was."""
    shown = visit.thread()
    if not visit.fields.text("query").strip():
        return {"thread": shown.name, "asked": _asked(visit), "answer": None, "strip": None}
    query = prepared(shown, visit.fields, most=visit.service.settings.limits.budget)
    found = answer(shown.find, shown.write, query)
    return {
        "thread": shown.name,
        "asked": _asked(visit),
        "answer": found,
        "found_turns": ranges(found.turns),
        "strip": _strip(found.hits, _ends(shown)),
        "ends": _ends(shown),
        **_around(shown, found.hits),
        **_using(visit.memory),
    }


def compare(visit: Visit) -> Values:
    """A question under two presets, side by side."""
    shown, fields = visit.thread(), visit.fields
    own = visit.memory.preset.name
    named = [fields.text("left", own), fields.text("right", _other(own))]
    unknown = [name for name in named if name not in PRESETS]
    if unknown:
        raise InputError(f"no preset {unknown[0]!r:.80}; use one of {', '.join(PRESETS)}")
    values = {
        "thread": shown.name,
        "asked": _asked(visit),
        "chosen": named,
        "own": own,
        "most": MOST_COMPARED,
        "sides": [],
    }
    if not fields.text("query").strip():
        return values
    query = prepared(shown, fields, most=visit.service.settings.limits.budget)
    sides = []
    for name in named:
        if name == own:
            sides.append(answer(shown.find, shown.write, query))
        else:
            other = visit.rehearsals.of(visit.memory, visit.caller.namespace, shown.name, name)
            sides.append(answer(other.find, other.write, query))
    both = {*sides[0].turns} & {*sides[1].turns}
    strips = [_strip(side.hits, _ends(shown)) for side in sides]
    return {
        **values,
        "sides": list(zip(named, sides, strips, strict=True)),
        "both": both,
        "ends": _ends(shown),
    }


def braid(visit: Visit) -> Values:
    """Who answers whom where conversations are interleaved."""
    shown, fields = visit.thread(), visit.fields
    low, high = _ends(shown)
    first = fields.whole("first", low) or 0
    return {
        "thread": shown.name,
        **_braided(shown, first, first + BRAIDED - 1),
        "first": first,
        "earlier": max(low, first - BRAIDED) if first > low else None,
        "later": first + BRAIDED if first + BRAIDED <= high else None,
    }


def preview(visit: Visit) -> Values:
    """Exactly what would be forgotten, and the form that does it."""
    shown, fields = visit.thread(), visit.fields
    episode, chosen = fields.whole("episode"), fields.turns()
    first, last = fields.whole("first"), fields.whole("last")
    if episode is not None:
        found = shown.preview_forget(episode=episode)
    elif chosen is not None:
        found = shown.preview_forget(turns=chosen)
    elif first is not None and last is not None:
        between = shown.turns(after=first - 1, limit=MOST_TURNS + 1)
        found = shown.preview_forget(turns=[one.id for one in between if one.id <= last])
    else:
        raise InputError("nothing is chosen; choose turns, an episode or the result of a question")
    if len(found) > MOST_TURNS:
        raise InputError(f"these are more than {MOST_TURNS:,} turns; choose fewer at a time")
    written = ranges(found.turns)
    return {
        "thread": shown.name,
        "count": len(found),
        "lines": list(zip(found.turns, found.lines, strict=True))[:PREVIEWED],
        "more": max(0, len(found) - PREVIEWED),
        "selection": written,
        "token": visit.tokens.sign(*selection_of(visit.caller, shown.name, written)),
    }


def receipt(visit: Visit) -> Values:
    """What was forgotten, as its address says."""
    found = receipts.read(visit.tokens, visit.caller, visit.fields)
    return {"thread": visit.fields.text("thread"), "receipt": found}


def selection_of(caller: Caller, thread: str, turns: str) -> tuple[str, ...]:
    """Returns what a token is for: turns of a thread, and who may send it."""
    return caller.principal.key, caller.namespace, thread, turns


def _braided(thread: Thread, first: int, last: int) -> Values:
    found = thread.braid(first, last)
    by_id = listing.turns_by_id(thread, [strand.turn for strand in found.strands])
    users = {one.id: one.role == USER_ROLE for one in by_id.values()}
    return {"braid": found, "drawing": braid_drawing(found, users), "turns": by_id}


def _around(thread: Thread, hits: tuple[Hit, ...]) -> Values:
    """Returns the braid around the best hit, if conversations are interleaved there."""
    if hits:
        first = hits[0].turns[0].id
        near = _braided(thread, max(0, first - NEAR), first + 2 * NEAR)
        if any(strand.interleaved for strand in near["braid"].strands):
            return near
    return {"braid": None}


def _using(memory: Memory) -> Values:
    return {"preset": memory.preset.name}


def _asked(visit: Visit) -> Mapping[str, str]:
    names = ("query", "budget", "min_relevance", "since", "until", "roles", "now")
    return {name: visit.fields.text(name) for name in names}


def _ends(thread: Thread) -> tuple[int, int]:
    """Returns the first and the last turn of a thread."""
    first, last = thread.turns(limit=1), thread.recent(1)
    return (first[0].id, last[0].id) if first and last else (0, 0)


def _strip(hits: tuple[Hit, ...], ends: tuple[int, int]) -> Any:
    spans = [[one.id for one in hit.turns] for hit in hits]
    return strip(spans, resumptions(hits), ends)


def _other(own: str) -> str:
    """Returns the preset that is compared unless another is chosen: the paper's, or ours."""
    return LATE.name if own == OFFICIAL.name else OFFICIAL.name
