"""What is known of messages that come with every request, so that they are read only once."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from tsim.adapters.window import price
from tsim.proxy.chat import Chat
from tsim.proxy.history import Message, text_of
from tsim.proxy.ids import fingerprint, turns_of
from tsim.tokens import Measure

# Messages that are known, of all conversations; each takes a few hundred bytes.
NOTES = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What is known of a message.

    Attributes:
        price: What it costs in tokens, images and the like not counted.
        fingerprint: What of it counts for ids.
        kept: Whether there is something in it that can be remembered.
    """

    price: int
    fingerprint: str
    kept: bool


class Notes:
    """Reads messages, and remembers what it found."""

    def __init__(self, measure: Measure, *, most: int = NOTES) -> None:
        """Knows nothing yet.

        Args:
            measure: What tokens are counted by.
            most: Messages that are known; those not seen for the longest time are forgotten.
        """
        self._measure = measure
        self._most = most
        self._known: OrderedDict[bytes, Note] = OrderedDict()

    def of(self, chat: Chat) -> list[Note]:
        """Returns what is known of the messages of a request.

        Raises:
            InputError: One of them has text that cannot be kept.
        """
        return [*self._each(chat)]

    def _each(self, chat: Chat) -> Iterator[Note]:
        for number, message in enumerate(chat.messages):
            digest = hashlib.blake2b(chat.raw(number).encode(), digest_size=16).digest()
            found = self._known.pop(digest, None) or self._read(message)
            self._known[digest] = found
            yield found
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def _read(self, message: Message) -> Note:
        calls = message.get("tool_calls")
        costs = text_of(message) + (json.dumps(calls) if calls else "")
        return Note(
            price=price(costs, self._measure),
            fingerprint=fingerprint(message),
            kept=bool(turns_of(message, "?")),
        )
