"""Takes apart what a file of JSON holds: messages, and everything that messages come in.

A record is a message, a list of records, the body of a request or a response, or a conversation.
It is recognised by its keys.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tsim.errors import InputError
from tsim.logs import chatgpt, langchain, mem0
from tsim.logs.fields import ID, PROMPT, REPLY, ROLE, TEXT, TIME, first
from tsim.logs.streams import joined

# A message with the place it was found at, or why there is none.
Entry: TypeAlias = tuple[str, Mapping[str, Any] | InputError]

# Keys of lists of messages: chat APIs, ShareGPT, Claude's export, Gemini's API.
LISTS = ("messages", "conversations", "conversation", "chat_messages", "contents")
# Keys that hold another record: logs of requests and responses, batch files, transcripts.
INNER = ("request", "response", "body", "message")
# What other programs call lists of messages and what they put them into.
OTHERS = ("turns", "items", "history", "chat_history", "dialogue", "sessions", "data", "results")
# Keys of instructions: Anthropic, OpenAI's Responses API, Gemini's API.
INSTRUCTIONS = ("system", "instructions", "systemInstruction", "system_instruction")


def messages(record: object, where: str) -> Iterator[Entry]:
    """Yields the messages of a record, each with the place it was found at."""
    if isinstance(record, list):
        for number, one in joined(enumerate(record, 1)):
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
    elif (said := langchain.message(record) or mem0.message(record)) is not None:
        yield where, said
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
    record = _answered(record)
    body = {} if "type" in record else record  # items of the Responses API have these keys too
    for key in INSTRUCTIONS:
        match body.get(key):
            case str(text) | list(text) | {"parts": list(text)}:
                yield _timed(record, {"role": "system", "content": text})
    for key in (*PROMPT, "input"):
        yield from _spoken("user", body.get(key), record)
    yield from (_each(record, record[key]) for key in LISTS if isinstance(record.get(key), list))
    yield from (body[key] for key in OTHERS if isinstance(body.get(key), list | dict))
    for key in ("choices", "candidates"):
        if isinstance(record.get(key), list):
            yield from _choices(record, record[key])
    for key in (*REPLY, "output"):
        yield from _spoken("assistant", body.get(key), record)
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
        yield _each(outer, value)


def _each(outer: Mapping[str, Any], values: list[object]) -> list[object]:
    """Returns the records of a list, each with the time of what they came in if it has none."""
    return [_timed(outer, one) if isinstance(one, dict) else one for one in values]


def _choices(record: dict[str, Any], choices: list[object]) -> Iterator[object]:
    for number, choice in enumerate(choices):
        match choice:
            case {"message": dict(message)} | {"content": dict(message)} if not number:
                yield _inheriting(record, message)
            case {"text": str(text)} if not number:
                yield _inheriting(record, {"role": "assistant", "content": text})
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


def _answered(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a record with the time of the response in it, if it has none: requests have none."""
    match record:
        case {"response": {"body": dict(response)} | dict(response)}:
            return _timed(response, record)
    return record


def _timed(outer: Mapping[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    when, at = first(outer, TIME)
    # Not as `at`: a message is no problem because of what it came in.
    return {**inner, "time": at} if when and not first(inner, TIME)[0] else inner
