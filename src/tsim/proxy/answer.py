"""What a server answers, collected while it passes by, and read afterwards."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tsim.logs.streams import joined
from tsim.proxy.history import ASSISTANT

STREAMED = "text/event-stream"
CHUNK = "chat.completion.chunk"
DATA, DONE = b"data:", b"[DONE]"
# Bytes of an answer that are kept; pieces with the probabilities of words take megabytes.
MOST = 32 << 20


class Answer:
    """An answer as far as it came.

    Attributes:
        complete: Whether its last byte was received.
    """

    def __init__(self, content_type: str) -> None:
        """Begins with nothing.

        Args:
            content_type: The media type that the server gives it.
        """
        self.complete = False
        self._streamed = content_type.partition(";")[0].strip().lower() == STREAMED
        self._pieces: list[bytes] = []
        self._room = MOST

    @property
    def size(self) -> int:
        """About how many bytes are kept."""
        return min(MOST, MOST - self._room)

    def take(self, piece: bytes) -> None:
        """Keeps a piece, unless there are too many."""
        self._room -= len(piece)
        if self._room >= 0:
            self._pieces.append(piece)

    def message(self) -> Mapping[str, Any] | None:
        """Returns the first message of the answer; None if nothing was said in it."""
        found = self._joined() if self._streamed else self._whole()
        if found is None or not (found.get("content") or found.get("tool_calls")):
            refused = found is not None and found.get("refusal")
            return {**(found or {}), "role": ASSISTANT} if refused else None
        return {**found, "role": ASSISTANT}

    @property
    def partial(self) -> bool:
        """Whether the answer was cut before its end."""
        if not self.complete or self._room < 0:
            return True
        return self._streamed and not any(_ends(record) for record in self._records())

    def _whole(self) -> dict[str, Any] | None:
        match _json(b"".join(self._pieces)):
            case {"choices": [{"message": dict(message)}, *_]}:
                return message
        return None

    def _joined(self) -> dict[str, Any] | None:
        # Servers leave out what tells chunks of several answers apart; here is only one.
        chunks = (
            {"object": CHUNK, "id": "", "choices": record["choices"]}
            for record in self._records()
            if isinstance(record.get("choices"), list)
        )
        for _, whole in joined(enumerate(chunks)):
            match whole:
                case {"choices": [{"message": dict(message)}, *_]}:
                    return message
        return None

    def _records(self) -> Iterator[dict[str, Any]]:
        """Yields the events of a stream that can be read; its end as an empty one."""
        for line in b"".join(self._pieces).splitlines():
            if line.startswith(DATA):
                data = line.removeprefix(DATA).strip()
                found = {} if data == DONE else _json(data)
                if isinstance(found, dict):
                    yield found


def _ends(record: Mapping[str, Any]) -> bool:
    """Returns whether an event says that the first answer is complete."""
    match record:
        case {"choices": [*choices]}:
            return any(
                isinstance(one, dict) and not one.get("index") and one.get("finish_reason")
                for one in choices
            )
    return not record


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
