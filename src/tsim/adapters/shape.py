"""The words of a message as text, and the rest as a shape from which it comes back as it was.

>>> lift({"role": "user", "content": [{"type": "text", "text": "one gpu"}]})
('one gpu', '{"role":"user","content":[{"type":"text","text":["$",0,7]}]}')
"""

import json
from collections.abc import Iterator
from typing import Any

from tsim.errors import InputError

# The names under which messages have what was said.
WORDS = frozenset({"text", "content", "output", "arguments", "refusal", "transcript", "thinking"})
# What a tool is called with: everything in it is words.
INPUTS = frozenset({"args", "input"})
CALLED = frozenset({"name", "tool_name", *INPUTS})
# Longer strings are words, too, unless nothing separates them, as in the data of an image.
LONG = 120
# Stands for a part of the text; lists that begin with it are kept as they are, with one more.
MARK = "$"


def lift(value: object, *, every: bool = False) -> tuple[str, str]:
    """Takes the words out of a value of JSON.

    Args:
        value: The value.
        every: Whether all text in it is words, except what it is called by.

    Returns:
        The words, one line for each text, and the shape of the rest.

    Raises:
        InputError: It is no value of JSON.
    """
    words: list[str] = []
    try:
        # In ASCII, so that whatever JSON can hold, UTF-8 or not, can be kept.
        shape = json.dumps(_lifted(value, words, every=every), separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"a {type(value).__name__} cannot be written as JSON ({error}); pass plain values, "
            "such as what model_dump() returns"
        ) from error
    return "\n".join(words), shape


def lower(text: str, shape: str) -> Any:
    """Returns the value of which `lift` made a text and a shape.

    Raises:
        InputError: The shape is not one of this text.
    """
    try:
        return _lowered(json.loads(shape), text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{shape!r:.80} is no shape of a message ({error})") from error


def _lifted(value: object, words: list[str], *, every: bool, word: bool = False) -> object:
    if isinstance(value, str):
        return _place(value, words) if word or every or _is_prose(value) else value
    if isinstance(value, list):
        begun = [MARK, MARK] if value[:1] == [MARK] else []
        rest = value[1:] if begun else value
        return begun + [_lifted(one, words, every=every, word=word) for one in rest]
    if isinstance(value, dict):
        # The name of a tool is said with what it is called with.
        names = WORDS | CALLED if value.keys() & {"arguments", *INPUTS} else WORDS
        return {
            name: _lifted(
                one,
                words,
                every=every or (name in INPUTS and isinstance(one, dict)),
                word=name in names,
            )
            for name, one in value.items()
        }
    return value


def _place(text: str, words: list[str]) -> object:
    start = sum(map(len, words)) + len(words)
    words.append(text)
    return [MARK, start, start + len(text)]


def _is_prose(text: str) -> bool:
    return len(text) > LONG and any(map(str.isspace, text))


def _lowered(shape: object, text: str) -> object:
    match shape:
        case [mark, int(first), int(last)] if mark == MARK:
            if not 0 <= first <= last <= len(text):
                raise ValueError("it has a place outside of the text")
            return text[first:last]
        case [mark, second, *rest] if mark == MARK and second == MARK:
            return [_lowered(one, text) for one in (second, *rest)]
        case list():
            return [_lowered(one, text) for one in shape]
        case dict():
            return {name: _lowered(one, text) for name, one in shape.items()}
    return shape


def strings(value: object) -> Iterator[str]:
    """Yields all text in a value of JSON: what it costs as part of a prompt."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
