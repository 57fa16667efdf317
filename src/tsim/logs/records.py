"""Takes apart what a file of JSON holds: messages, and everything that messages come in.

A record is a message, a list of records, the body of a request or a response, or a conversation.
It is recognised by its keys.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tsim.errors import InputError
from tsim.logs import chatgpt
from tsim.logs.fields import ID, ROLE, TEXT, TIME, first

# A message with the place it was found at, or why there is none.
Entry: TypeAlias = tuple[str, Mapping[str, Any] | InputError]

# Keys of lists of messages: chat APIs, ShareGPT, Claude's export, Gemini's API.
LISTS = ("messages", "conversations", "conversation", "chat_messages", "contents")
# Keys that hold another record: logs of requests and responses, batch files, transcripts.
INNER = ("request", "response", "body", "message")


def messages(record: object, where: str) -> Iterator[Entry]:
    """Yields the messages of a record, each with the place it was found at."""
    if isinstance(record, list):
        for number, one in enumerate(record, 1):
            yield from messages(one, f"{where}, message {number}" if where else f"item {number}")
    elif not isinstance(record, dict):
        yield (
            where,
            InputError(
                f'expected an object such as {{"role": "user", "text": "…"}}, found {record!r:.80}'
            ),
        )
    elif isinstance(record.get("mapping"), dict):
        for number, message in enumerate(chatgpt.messages(record), 1):
            yield f"{where}, message {number}", message
    elif "role" in record or (first(record, ROLE)[0] and isinstance(first(record, TEXT)[1], str)):
        yield where, record
    else:
        yield from _body(record, where)


def _body(record: dict[str, Any], where: str) -> Iterator[Entry]:
    """Yields the messages of a body in the order they were said; a message is its own body."""
    inside = [*_inside(record)]
    for one in inside:
        yield from messages(one, where)
    if not inside:
        yield where, record


def _inside(record: dict[str, Any]) -> Iterator[object]:
    """Yields the records that a record consists of; none if it is a message."""
    body = {} if "type" in record else record  # items of the Responses API have these keys too
    for key in ("system", "instructions"):
        if isinstance(body.get(key), str | list):
            yield {"role": "system", "content": body[key]}
    yield from _spoken("user", body.get("input"))
    yield from (record[key] for key in LISTS if isinstance(record.get(key), list))
    if isinstance(record.get("choices"), list):
        yield from _choices(record)
    yield from _spoken("assistant", body.get("output"), record)
    for key in INNER:
        if isinstance(record.get(key), dict):
            yield _inheriting(record, record[key])


def _spoken(
    role: str, value: object, outer: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[object]:
    """Yields what was said, with the time of what it came in if that is given."""
    if isinstance(value, str):
        yield _timed(outer, {"role": role, "content": value})
    elif isinstance(value, list):
        yield [_timed(outer, one) if isinstance(one, dict) else one for one in value]


def _choices(record: dict[str, Any]) -> Iterator[object]:
    for number, choice in enumerate(record["choices"]):
        match choice:
            case {"message": dict(message)} if not number:
                yield _inheriting(record, message)
            case _:  # another answer to the same question
                yield {"role": "assistant", "content": [{"type": "alternative"}]}


def _inheriting(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """Returns a record with the time of what it came in, if it has none, and with its id.

    The id of the outside comes first because transcripts write one message in several pieces.
    """
    name, called = first(outer, ID)
    if name:
        inner = {key: value for key, value in inner.items() if key not in ID} | {name: called}
    return _timed(outer, inner)


def _timed(outer: Mapping[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    when, at = first(outer, TIME)
    return {**inner, when: at} if when and not first(inner, TIME)[0] else inner
