"""What a memory did for a request, and how the answer to it says so."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from tsim.proxy.headers import Raw


class Did(StrEnum):
    """What became of the messages of a request."""

    RECALLED = "recalled"  # older messages were replaced
    FITS = "fits"  # there is nothing to be saved
    LEARNING = "learning"  # older messages are not all in the memory yet
    OFF = "off"  # the program asked for nothing to be read or kept
    FAILED = "failed"  # the memory cannot be used


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a memory did for a request.

    Attributes:
        did: What became of the messages.
        reason: Why the memory could not be used, as the kind of an error.
        before: Tokens of the messages that came.
        after: Tokens of the messages that were sent.
        turns: Turns that were found and sent.
        milliseconds: How long the memory took.
        embedding: How much of that was the embedding of the question.
        stages: How much of it, in milliseconds, was what else: reading the request (`parse`),
            telling its messages apart (`read`), looking them up (`look-up`), searching without the
            embedding (`search`), and writing what was found (`assemble`). The rest is waiting for
            a thread.
    """

    did: Did
    reason: str = ""
    before: int = 0
    after: int = 0
    turns: int = 0
    milliseconds: float = 0.0
    embedding: float = 0.0
    stages: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def saved(self) -> int:
        """Tokens that were not sent."""
        return self.before - self.after

    def headers(self) -> Raw:
        """Returns the headers of the answer."""
        found: dict[str, object] = {"X-Tsim-Memory": self.did}
        if self.reason:
            found["X-Tsim-Reason"] = self.reason
        if self.before:
            found |= {
                "X-Tsim-Tokens-Before": self.before,
                "X-Tsim-Tokens-After": self.after,
                "X-Tsim-Tokens-Saved": self.saved,
                "X-Tsim-Turns-Retrieved": self.turns,
            }
        stages = {"": self.milliseconds, "-embed": self.embedding}
        stages |= {f"-{name}": took for name, took in self.stages.items()}
        found["Server-Timing"] = ", ".join(
            f"tsim{name};dur={took:.1f}" for name, took in stages.items()
        )
        return [(name.lower().encode(), str(value).encode()) for name, value in found.items()]

    def field(self) -> bytes:
        """Returns the same as a field of a JSON object, with the comma behind it."""
        shown = {**asdict(self), "saved": self.saved}
        return f'"tsim":{json.dumps(shown)},'.encode()
