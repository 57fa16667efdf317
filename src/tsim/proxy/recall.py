"""The memory behind a proxy: what is found for a request, and what is kept of it. Blocks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tsim.adapters.recall import PREAMBLE
from tsim.adapters.window import Besides, Said, besides, price
from tsim.counting import open_measure
from tsim.errors import ThreadMissingError
from tsim.proxy.answer import Answer
from tsim.proxy.callers import Place
from tsim.proxy.chat import Chat
from tsim.proxy.history import ASSISTANT, History, Message, divide
from tsim.proxy.ids import fingerprint, named, turns_of
from tsim.proxy.notes import Note, Notes
from tsim.proxy.outcome import Did, Outcome
from tsim.proxy.settings import Proxied
from tsim.proxy.timing import Laps, TimedEmbedder
from tsim.server.namespaces import Namespaces
from tsim.thread import Thread
from tsim.words import distinct

# What is noted about an answer that was cut.
PARTIAL: Mapping[str, bool] = {"partial": True}
# Turns after a question that is asked again which may be about it.
LATER = 100
# Messages among which the last one that is known is looked for first.
NEAR = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A request as it is sent, and what the memory did for it."""

    body: bytes | None = None
    outcome: Outcome


class Recall:
    """Finds what a request needs of its conversation, and keeps what is said in it."""

    def __init__(
        self, namespaces: Namespaces, timed: TimedEmbedder, proxied: Proxied, tokens: str
    ) -> None:
        """Reads nothing yet.

        Args:
            namespaces: The memories.
            timed: Embeds for them.
            proxied: How much of a conversation is shown.
            tokens: What counts the tokens, as for `Memory.open`.
        """
        self._namespaces = namespaces
        self._timed = timed
        self._proxied = proxied
        self._measure = open_measure(tokens)
        self._notes = Notes(self._measure)

    def rewrite(self, place: Place, chat: Chat) -> Rewritten:
        """Returns a request with what is relevant of its older messages in their place.

        Raises:
            TsimError: The memory cannot be used.
        """
        laps = Laps()
        notes = self._notes.of(chat)
        history = divide(chat.messages, self._proxied.recent)
        before = sum(note.price for note in notes)
        same = Outcome(did=Did.FITS, before=before, after=before)
        if sum(notes[number].price for number in history.older) <= self._proxied.budget:
            return Rewritten(outcome=same)
        if not history.question:
            return Rewritten(outcome=replace(same, reason="no_text"))
        waited = self._timed.waited()
        try:
            with self._namespaces.using(place.namespace) as memory:
                found = self._find(memory.thread(place.thread), chat, history, notes, laps)
        except ThreadMissingError:
            found = None
        if found is None:
            return Rewritten(outcome=replace(same, did=Did.LEARNING))
        context = json.dumps({"role": self._proxied.role, "content": found.text})
        shown = [context] if found.text else []
        lead = [chat.raw(number) for number in history.lead]
        recent = [chat.raw(number) for number in history.recent]
        after = sum(notes[number].price for number in (*history.lead, *history.recent))
        after += price(found.text, self._measure) if shown else 0
        body = chat.having([*lead, *shown, *recent])
        laps.end("assemble")
        return Rewritten(
            body=body,
            outcome=Outcome(
                did=Did.RECALLED,
                before=before,
                after=after,
                turns=sum(len(hit.turns) for hit in found.hits),
                embedding=1000 * (self._timed.waited() - waited),
                stages=laps.stages,
            ),
        )

    def keep(self, place: Place, chat: Chat, answer: Answer, at: float) -> None:
        """Keeps what was said in a request and its answer, each message once.

        What comes before a message that is there already was there, too. If it is not there any
        more, somebody wanted it to be forgotten.

        Args:
            place: Where.
            chat: The request.
            answer: The answer, as far as it came.
            at: When the newest messages were said, in seconds since the epoch.

        Raises:
            TsimError: The memory cannot be used.
        """
        said = answer.message()
        messages = [*chat.messages, *([said] if said else [])]
        prints = [note.fingerprint for note in self._notes.of(chat)]
        names = dict(named(messages, [*prints, *([fingerprint(said)] if said else [])]))
        answered = [n for n, one in enumerate(chat.messages) if one.get("role") == ASSISTANT]
        new = max(answered, default=-1)
        partial = len(chat.messages) if answer.partial else None
        with self._namespaces.using(place.namespace, create=True) as memory:
            thread = memory.thread(place.thread)
            last = _last_known(thread, messages, names)
            turns = {
                str(turn.id): replace(
                    turn,
                    at=at if number > new else None,
                    meta=PARTIAL if number == partial else None,
                )
                for number, name in names.items()
                if number > last
                for turn in turns_of(messages[number], name)
            }
            known = thread.known(turns)
            if missing := [turn for name, turn in turns.items() if name not in known]:
                thread.add_many(missing)
                thread.warm()  # while nobody waits

    def _find(
        self, thread: Thread, chat: Chat, history: History, notes: Sequence[Note], laps: Laps
    ) -> Besides | None:
        """Returns what is relevant; None if the thread does not have all that would be replaced."""
        names = dict(named(chat.messages, [note.fingerprint for note in notes]))
        laps.end("read")
        last = _last_known(thread, chat.messages, names)
        needed = {names[n] for n in history.older if n > last and notes[n].kept}
        if len(thread.known(needed)) < len(needed):
            return None
        hidden = [*_hidden(thread, chat, history, names)]
        wide = self._proxied.budget + sum(price(one.text, self._measure) for one in hidden)
        laps.end("look-up")
        waited = self._timed.waited()
        hits = thread.search(history.question, budget=wide)
        laps.end("search", without=1000 * (self._timed.waited() - waited))
        return besides(
            hits,
            hidden,
            budget=self._proxied.budget,
            measure=self._measure,
            terms=sorted(distinct(history.question)),
            preamble=PREAMBLE,
        )


def _last_known(thread: Thread, messages: Sequence[Message], names: Mapping[int, str]) -> int:
    """Returns the last place whose message the thread has, and so had all before it; else -1.

    Not those of answers: their ids do not say what came before.
    """
    chained = [number for number in names if messages[number].get("role") != ASSISTANT]
    for some in (chained[-NEAR:], chained[:-NEAR]):
        known = thread.known(names[number] for number in some)
        if found := [number for number in some if names[number] in known]:
            return found[-1]
    return -1


def _hidden(
    thread: Thread, chat: Chat, history: History, names: Mapping[int, str]
) -> Iterator[Said[None]]:
    """Yields what is not to be found: what is sent anyway, and what came of the same question."""
    kept = [number for number in history.recent if number in names]
    turns = [turn for n in kept for turn in turns_of(chat.messages[n], names[n])]
    known = thread.known(str(turn.id) for turn in turns)
    for turn in turns:
        there = known.get(str(turn.id))
        yield Said(message=None, text=turn.text, turn=there.id if there else None)
    asked = known.get(names[history.asked]) if history.asked is not None else None
    if asked is not None:  # it is asked again, and not to be answered by the first answer to it
        for later in thread.turns(after=asked.id, limit=LATER):
            yield Said(message=None, text=later.text, turn=later.id)
