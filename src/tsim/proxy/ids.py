"""What the messages of a conversation are called, so that none is remembered twice.

Programs send the whole conversation with every request. A message has the same id in all of them,
which depends on what users and tools said before it: an id of the same words said again later is
another. Answers do not count for the ids of what follows, since programs trim and shorten them;
only the first one does, because many conversations begin with the same words.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence

from tsim.errors import InputError
from tsim.logs.message import read_message
from tsim.proxy.history import ASSISTANT, Message, calls_of, instructs, text_of
from tsim.types import NewTurn

BYTES = 16


def named(messages: Sequence[Message]) -> Iterator[tuple[int, str]]:
    """Yields the place and the id of each message but instructions.

    Args:
        messages: The messages of a request, and the answer to it if there is one.
    """
    chain = ""
    spoken = [place for place, one in enumerate(messages) if not instructs(one)]
    for number, place in enumerate(spoken):
        message = messages[place]
        if message.get("role") == ASSISTANT and number:
            yield place, _digest(chain, _answer(message))
            continue
        after = messages[spoken[1]] if number == 0 and len(spoken) > 1 else {}
        first = _answer(after) if after.get("role") == ASSISTANT else ""
        chain = _digest(chain, _said(message), first)
        yield place, chain


def turns_of(messages: Sequence[Message]) -> Iterator[tuple[int, NewTurn]]:
    """Yields the turns of messages, each with the place of its message and an id.

    Raises:
        InputError: A message has text that cannot be kept.
    """
    for number, name in named(messages):
        try:
            found = read_message({**messages[number], "id": name, "meta": None}).turns
        except InputError:
            if text_of(messages[number]):
                raise
            continue  # there is nothing in it that could be kept
        for turn in found:
            yield number, turn


def _said(message: Message) -> str:
    # Not the rest: programs mark the newest message for caches, and write its text as a part.
    who = [message.get(name) for name in ("role", "name", "tool_call_id")]
    return json.dumps([*map(str, who), text_of(message).strip()])


def _answer(message: Message) -> str:
    return json.dumps([text_of(message).strip(), calls_of(message)])


def _digest(*texts: str) -> str:
    found = hashlib.blake2b(digest_size=BYTES)
    for text in texts:
        found.update(text.encode("utf-8", "surrogatepass"))
        found.update(b"\0")
    return found.hexdigest()
