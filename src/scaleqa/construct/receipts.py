"""Receipts: one line for everything that was begun, asked, replied and decided."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from scaleqa.construct.item import Decision

VERSION = 1


class _Receipt(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Begun(_Receipt):
    """The plan that all that follows belongs to; the first line.

    Attributes:
        version: The form of these receipts.
        at: When, as ISO 8601.
        identity: The hash of the plan without its budget.
        plan: The plan.
        prompts: The hashes of the prompts, by name.
        given: The hash of the file of given records, if there is one.
    """

    kind: Literal["begun"] = "begun"
    version: int = VERSION
    at: str
    identity: str
    plan: dict[str, Any]
    prompts: dict[str, str]
    given: str | None = None


class Added(_Receipt):
    """Items that were begun."""

    kind: Literal["added"] = "added"
    items: tuple[str, ...]


class Asked(_Receipt):
    """A request that is about to be sent or was exported; it is written before.

    Attributes:
        key: The name of the request, which tells nothing about the item.
        item: The item.
        ask: What is asked.
        model: Who is asked.
        prompt: The name of the prompt; its hash is in the first line.
        sha256: The hash of the whole text that is sent.
        shelf: The dialogues that a reader picks from.
        tokens: The most tokens that it may take; 0 by file.
        dollars: The most that it may cost.
    """

    kind: Literal["asked"] = "asked"
    at: str
    key: str
    item: str
    ask: str
    model: str
    prompt: str
    sha256: str
    shelf: tuple[str, ...] = ()
    tokens: int = 0
    dollars: float = 0.0


class Replied(_Receipt):
    """A reply as it came.

    Attributes:
        key: The name of the request.
        by: Who replied.
        text: The reply.
        prompt_tokens: As counted by the provider, or estimated where it does not count.
        completion_tokens: The same.
        dollars: What it cost.
        requests: How many requests were sent until it came.
    """

    kind: Literal["replied"] = "replied"
    at: str
    key: str
    by: str
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0
    requests: int = 0


class Failed(_Receipt):
    """A request without a reply, after all attempts."""

    kind: Literal["failed"] = "failed"
    at: str
    key: str
    problem: str
    requests: int


class Decided(_Receipt):
    """What was decided about the items of a step; one line, so that all of it holds or nothing."""

    kind: Literal["decided"] = "decided"
    at: str
    step: str
    decisions: tuple[Decision, ...]


Receipt = Begun | Added | Asked | Replied | Failed | Decided
RECEIPT: TypeAdapter[Receipt] = TypeAdapter(Annotated[Receipt, Field(discriminator="kind")])
