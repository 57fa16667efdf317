"""The memory behind a proxy: what is found for a request, and what is kept of it. Blocks."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from tsim.adapters.window import Besides, Said, besides, price
from tsim.counting import open_measure
from tsim.errors import ThreadMissingError
from tsim.proxy.answer import Answer
from tsim.proxy.callers import Place
from tsim.proxy.chat import Chat
from tsim.proxy.history import ASSISTANT, History, Message, divide, text_of
from tsim.proxy.ids import turns_of
from tsim.proxy.outcome import Did, Outcome
from tsim.proxy.settings import Proxied
from tsim.proxy.timing import TimedEmbedder
from tsim.server.namespaces import Namespaces
from tsim.thread import Thread
from tsim.types import NewTurn
from tsim.words import distinct

PREAMBLE = files(__package__).joinpath("recalled.txt").read_text("utf-8")
# What is noted about an answer that was cut.
PARTIAL: Mapping[str, bool] = {"partial": True}
# Turns after a question that is asked again which may be about it.
LATER = 100
# Messages whose price is known.
PRICES = 1 << 17


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
        self._prices: OrderedDict[bytes, int] = OrderedDict()

    def rewrite(self, place: Place, chat: Chat) -> Rewritten:
        """Returns a request with what is relevant of its older messages in their place.

        Raises:
            TsimError: The memory cannot be used.
        """
        history = divide(chat.messages, self._proxied.recent)
        prices = [self._price(chat, number) for number in range(len(chat.messages))]
        before = sum(prices)
        same = Outcome(did=Did.FITS, before=before, after=before)
        if sum(prices[number] for number in history.older) <= self._proxied.budget:
            return Rewritten(outcome=same)
        if not history.question:
            return Rewritten(outcome=replace(same, reason="no_text"))
        waited = self._timed.waited()
        try:
            with self._namespaces.using(place.namespace) as memory:
                found = self._find(memory.thread(place.thread), chat, history)
        except ThreadMissingError:
            found = None
        if found is None:
            return Rewritten(outcome=replace(same, did=Did.LEARNING))
        context = json.dumps({"role": self._proxied.role, "content": found.text})
        shown = [context] if found.text else []
        kept = [prices[number] for number in (*history.lead, *history.recent)]
        after = sum(kept) + (price(found.text, self._measure) if shown else 0)
        lead = [chat.raw(number) for number in history.lead]
        recent = [chat.raw(number) for number in history.recent]
        turns = sum(len(hit.turns) for hit in found.hits)
        return Rewritten(
            body=chat.having([*lead, *shown, *recent]),
            outcome=Outcome(
                did=Did.RECALLED,
                before=before,
                after=after,
                turns=turns,
                embedding=1000 * (self._timed.waited() - waited),
            ),
        )

    def keep(self, place: Place, chat: Chat, answer: Answer, at: float) -> None:
        """Keeps what was said in a request and its answer, each message once.

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
        answered = [n for n, one in enumerate(chat.messages) if one.get("role") == ASSISTANT]
        new = range(max(answered, default=-1) + 1, len(messages))
        turns: dict[str, NewTurn] = {}
        for number, turn in turns_of(messages):
            partial = number == len(chat.messages) and answer.partial
            turn = replace(
                turn, at=at if number in new else None, meta=PARTIAL if partial else None
            )
            turns.setdefault(str(turn.id), turn)
        with self._namespaces.using(place.namespace, create=True) as memory:
            thread = memory.thread(place.thread)
            known = thread.called(turns)
            if missing := [turn for name, turn in turns.items() if name not in known]:
                thread.add_many(missing)

    def _find(self, thread: Thread, chat: Chat, history: History) -> Besides | None:
        """Returns what is relevant; None if the thread does not have all that would be replaced."""
        turns = [*turns_of(chat.messages)]
        known = thread.called(str(turn.id) for _, turn in turns)
        older = {*history.older}
        if any(turn.id not in known for number, turn in turns if number in older):
            return None
        hidden = [
            Said(message=None, text=turn.text, turn=known[turn.id].id if turn.id in known else None)
            for number, turn in turns
            if turn.id is not None and number not in older
        ]
        # A question that is asked again is not shown how it was answered.
        asked = [turn.id for number, turn in turns if number == history.asked]
        if asked and asked[0] in known:
            later = thread.turns(after=known[asked[0]].id, limit=LATER)
            hidden += [Said(message=None, text=turn.text, turn=turn.id) for turn in later]
        budget, measure = self._proxied.budget, self._measure
        wide = budget + sum(price(one.text, measure) for one in hidden)
        return besides(
            thread.search(history.question, budget=wide, tokens=None),
            hidden,
            budget=budget,
            measure=measure,
            terms=sorted(distinct(history.question)),
            preamble=PREAMBLE,
        )

    def _price(self, chat: Chat, number: int) -> int:
        """Returns what a message costs; counted once, since every request has it again."""
        digest = hashlib.blake2b(chat.raw(number).encode(), digest_size=16).digest()
        found = self._prices.get(digest)
        if found is None:
            found = price(_priced(chat.messages[number]), self._measure)
            self._prices[digest] = found
            if len(self._prices) > PRICES:
                self._prices.popitem(last=False)
        return found


def _priced(message: Message) -> str:
    """Returns what costs tokens as text; images and the like are not counted."""
    calls: Any = message.get("tool_calls")
    return text_of(message) + (json.dumps(calls) if calls else "")
