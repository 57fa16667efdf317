"""Joins the pieces of responses that were streamed: OpenAI's chunks and Anthropic's events."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias

# A record with its number in the log.
Numbered: TypeAlias = tuple[int, object]
Pieces: TypeAlias = Iterable[tuple[int, Mapping[str, Any]]]

EVENTS = frozenset(
    {
        *("message_start", "message_delta", "message_stop", "ping"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    }
)
# Events of OpenAI's Responses API that hold the response as a whole; the others repeat it.
WHOLE = frozenset({"response.completed", "response.incomplete", "response.failed"})


def joined(records: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yields records; the pieces of a streamed response as one record, where its first piece was.

    Chunks of responses that were streamed at the same time are told apart by their ids.
    """
    for fold, run in groupby(records, key=lambda one: _fold(one[1])):
        if fold is None:
            yield from run
        else:
            yield from fold((number, one) for number, one in run if isinstance(one, dict))


def _fold(record: object) -> Callable[[Pieces], Iterator[Numbered]] | None:
    match record:
        case {"object": "chat.completion.chunk", "choices": list()}:
            return _chunks
        case {"type": str(kind)} if kind in EVENTS:
            return _events
        case {"type": str(kind)} if kind.startswith("response."):
            return _responses
    return None


def _chunks(pieces: Pieces) -> Iterator[Numbered]:
    """Joins the first answer of each response; other answers stay alternatives."""
    found: dict[object, tuple[int, dict[str, Any]]] = {}
    for number, piece in pieces:
        name = str(piece.get("id"))
        start = {"role": "assistant", "content": "", "tool_calls": []}
        _, whole = found.setdefault(
            name, (number, {**piece, "choices": [{"message": start}]} | {"object": "joined"})
        )
        for choice in piece["choices"]:
            match choice:
                case {"index": int(other)} if other:
                    more = other + 1 - len(whole["choices"])
                    whole["choices"] += [{} for _ in range(min(more, 100))]
                case {"delta": dict(delta)}:
                    _extend(whole["choices"][0]["message"], delta)
    yield from found.values()


def _extend(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key in ("content", "refusal", "reasoning_content"):
        if isinstance(said := delta.get(key), str) and said:
            message[key] = message.get(key, "") + said
    match delta.get("tool_calls"):
        case [{"id": str()} as call, *_]:  # the first piece of a call has its id
            message["tool_calls"].append(call)


def _events(pieces: Pieces) -> Iterator[Numbered]:
    message: dict[str, Any] | None = None
    begun, blocks = 0, dict[object, dict[str, Any]]()
    for number, piece in pieces:
        match piece:
            case {"type": "message_start", "message": dict(start)}:
                if message is not None:
                    yield begun, {**message, "content": [*blocks.values()]}
                message, begun, blocks = start, number, {}
            case {"type": "content_block_start", "content_block": dict(block)}:
                blocks[str(piece.get("index"))] = {**block}
            case {
                "type": "content_block_delta",
                "delta": {"type": "text_delta", "text": str(said)},
            }:
                block = blocks.setdefault(str(piece.get("index")), {"type": "text"})
                block["text"] = f"{block.get('text', '')}{said}"
        if message is None:  # the beginning is missing
            message, begun = {"role": "assistant"}, number
    if message is not None:
        yield begun, {**message, "content": [*blocks.values()]}


def _responses(pieces: Pieces) -> Iterator[Numbered]:
    for number, piece in pieces:
        if piece["type"] in WHOLE and isinstance(piece.get("response"), dict):
            yield number, piece["response"]
