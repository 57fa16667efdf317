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


def fingerprint(message: Message) -> str:
    """Returns what of a message counts for ids, as a digest.

    Programs mark the newest message for caches, and write its text as a part, so that only who
    speaks and what is said counts.
    """
    said = text_of(message).strip()
    if message.get("role") == ASSISTANT:
        return _digest(json.dumps([said, calls_of(message)]))
    who = [str(message.get(name)) for name in ("role", "name", "tool_call_id")]
    return _digest(json.dumps([*who, said]))


def named(messages: Sequence[Message], fingerprints: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields the place and the id of each message but instructions.

    Args:
        messages: The messages of a request, and the answer to it if there is one.
        fingerprints: Those of all messages.
    """
    spoken = [place for place, one in enumerate(messages) if not instructs(one)]
    chain = ""
    for number, place in enumerate(spoken):
        if number and messages[place].get("role") == ASSISTANT:
            yield place, _digest(chain, fingerprints[place])
            continue
        first = spoken[1] if number == 0 and len(spoken) > 1 else place
        answered = first != place and messages[first].get("role") == ASSISTANT
        chain = _digest(chain, fingerprints[place], fingerprints[first] if answered else "")
        yield place, chain


def turns_of(message: Message, name: str) -> list[NewTurn]:
    """Returns the turns that a message consists of; the first has the id, others a longer one.

    Raises:
        InputError: It has text that cannot be kept.
    """
    try:
        return read_message({**message, "id": name, "meta": None}).turns
    except InputError:
        if text_of(message):
            raise
        return []  # there is nothing in it that could be kept


def _digest(*texts: str) -> str:
    ended = "\0".join((*texts, ""))
    return hashlib.blake2b(ended.encode("utf-8", "surrogatepass"), digest_size=BYTES).hexdigest()
