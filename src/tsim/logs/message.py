"""Reads one message of a log: what is text becomes turns, the rest is counted."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tsim.checking import check_turn
from tsim.errors import InputError
from tsim.logs.fields import ROLE, TEXT, TIME, first, id_of, role_of, seconds_of
from tsim.types import Meta, NewTurn

TOOL = "tool"
# How the parts of messages that are not text are counted, by their type.
KINDS = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "image_asset_pointer": "image",
    "image_generation_call": "image",
    "audio": "audio",
    "input_audio": "audio",
    "output_audio": "audio",
    "video": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "tool_use": "tool call",
    "server_tool_use": "tool call",
    "tool_call": "tool call",
    "function_call": "tool call",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "reasoning": "thinking",
    "thoughts": "thinking",
    "reasoning_recap": "thinking",
}
# What begins the subtypes of messages that Slack writes itself: who joined, what the topic is.
CHANNEL = ("channel_", "group_")
# What a message has beside its content.
BESIDE = {"tool_calls": "tool call", "images": "image", "attachments": "file", "files": "file"}
NAMED = {"tool_result", "function_call_output", *KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The turns of a message, and what was left out of it, counted by kind."""

    turns: list[NewTurn]
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Said:
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class _Skipped:
    kind: str


_Piece = _Said | _Skipped


def read_message(value: Mapping[str, Any]) -> Message:
    """Reads a message with a role and text, as chat APIs write it.

    The content may be text, nothing, or a list of parts. The results of tools become turns with the
    role `tool`. The first turn has the id of the message; others have it with a number behind. A
    message in which there is nothing is counted as empty.

    Raises:
        InputError: The message has no role or no content, or a value that cannot be kept.
    """
    pieces = [*_pieces(value)]
    if not pieces and value.keys().isdisjoint((*TEXT, "type")):
        raise InputError('text: missing; expected {"role": "user", "text": "…"}')
    said = [piece for piece in pieces if isinstance(piece, _Said) and piece.text.strip()]
    skipped = Counter(piece.kind for piece in pieces if isinstance(piece, _Skipped))
    if not said and not skipped:
        skipped["empty message"] += 1
    at, meta = _time(value, skipped), _meta(value, skipped)
    name = id_of(value)
    turns: list[NewTurn] = []
    for role, some in groupby(said, key=lambda piece: piece.role):
        called = f"{name}/{len(turns)}" if name and turns else name
        text = "\n".join(piece.text for piece in some)
        turns.append(check_turn(NewTurn(role=role, text=text, at=at, id=called, meta=meta)))
    return Message(turns=turns, skipped=skipped)


def _pieces(value: Mapping[str, Any]) -> Iterator[_Piece]:
    kind = value.get("type")
    if "role" in value or not isinstance(kind, str):
        yield from _spoken(value)
    elif kind == "message" and str(value.get("subtype")).startswith(CHANNEL):
        yield _Skipped("notice")
    elif kind in NAMED or (not first(value, ROLE)[0] and not isinstance(value.get("text"), str)):
        yield from _part(value, TOOL)  # an item of OpenAI's Responses API
    else:
        yield from _spoken(value)


def _spoken(value: Mapping[str, Any]) -> Iterator[_Piece]:
    role = role_of(value)
    name, content = first(value, TEXT)
    match value:
        case {"text": [*parts]}:
            yield from _runs(parts, role)
        # An export has the whole in its content, and a summary of it in text.
        case {"text": str(), "content": [_, *_] as parts}:
            yield from _content("content", parts, role)
        case {"text": str(text), "content": str(other)} if not text.strip():
            yield _Said(role, other)
        case _:
            yield from _content(name or "text", content, role)
    if isinstance(refusal := value.get("refusal"), str):
        yield _Said(role, refusal)
    match value.get("audio"):
        case {"transcript": str(transcript)}:
            yield _Said(role, transcript)
    for key, kind in BESIDE.items():
        if isinstance(found := value.get(key), list):
            yield from (_beside(one, kind, role) for one in found)
    if value.get("function_call"):
        yield _Skipped("tool call")
    if value.get("reasoning_content") or value.get("thinking"):
        yield _Skipped("thinking")


def _runs(content: list[object], role: str) -> Iterator[_Piece]:
    """Yields a text whose links and names are records of their own, as Telegram writes it."""
    pieces = [piece for part in content for piece in _part(part, role)]
    yield _Said(role, "".join(piece.text for piece in pieces if isinstance(piece, _Said)))
    yield from (piece for piece in pieces if isinstance(piece, _Skipped))


def _beside(found: object, kind: str, role: str) -> _Piece:
    match found:
        case {"extracted_content": str(text)} if text.strip():  # a file that was pasted as text
            return _Said(role, text)
    return _Skipped(kind)


def _content(name: str, content: object, role: str) -> Iterator[_Piece]:
    match content:
        case None:
            return
        case str():
            yield _Said(role, content)
        case list():
            for part in content:
                yield from _part(part, role)
        case {"type": str()}:
            yield from _part(content, role)
        case dict() if role == TOOL:
            yield _Said(role, json.dumps(content, ensure_ascii=False))
        case _:
            raise InputError(
                f"{name}: expected text or a list of parts, found {content!r:.80}; a turn is "
                '{"role": "user", "text": "…"}'
            )


def _part(part: object, role: str) -> Iterator[_Piece]:
    match part:
        case str():
            yield _Said(role, part)
        case (
            {"type": "tool_result", "content": content}
            | {
                "type": "function_call_output",
                "output": content,
            }
            | {"functionResponse": {"response": content}}
        ):  # Gemini's API
            yield from _content("the result of a tool", content, TOOL)
        case {"type": "refusal", "refusal": str(text)}:
            yield _Said(role, text)
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            yield _Said(role, text)
        case {"type": str(kind)} if kind in KINDS:
            yield _Skipped(KINDS[kind])
        case {"text": str(text)}:
            yield _Said(role, text)
        case {"type": str(kind)}:
            yield _Skipped(kind[:40])
        case _:
            yield _Skipped(_kind(part))


def _kind(part: object) -> str:
    """Returns what a part is that has no type, as in Gemini's API."""
    match part:
        case {"functionCall": _}:
            return "tool call"
        case {"inlineData": {"mimeType": str(kind)}} | {"fileData": {"mimeType": str(kind)}}:
            return KINDS.get(kind.partition("/")[0], "file")
    return "unknown part"


def _time(value: Mapping[str, Any], skipped: Counter[str]) -> float | None:
    """Returns the time of a message; one that cannot be read is refused only if it is our field."""
    name, found = first(value, TIME)
    if not name or (isinstance(found, str) and not found.strip()):
        return None
    try:
        return seconds_of(found)
    except InputError as error:
        if name == "at":
            raise InputError(f"at: {error}") from error
        skipped["unreadable time"] += 1
        return None


def _meta(value: Mapping[str, Any], skipped: Counter[str]) -> Meta | None:
    found = value.get("meta")
    if not isinstance(found, Mapping):
        skipped.update(["meta"] if found is not None else [])
        return None
    nested = [name for name, one in found.items() if isinstance(one, list | dict)]
    skipped.update("nested meta" for _ in nested)
    return {name: one for name, one in found.items() if name not in nested}
