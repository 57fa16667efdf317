"""What requests and answers of the REST API consist of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from tsim.checking import META_NAMES
from tsim.types import Hit, Receipt

# Characters of a question, threads that are asked, speakers, and turns that are named: one request
# must not keep a worker from the others for long.
QUERY, THREADS, ROLES, TURNS = 16_000, 256, 256, 20_000
# Fields of a body. Each that is unknown would be an error of its own.
FIELDS = 64

Value: TypeAlias = str | int | float | bool | None
Meta: TypeAlias = Annotated[dict[str, Value], Field(max_length=META_NAMES)]
Asked: TypeAlias = Annotated[
    str, Field(max_length=QUERY, description="A question or request in plain language.")
]
Names: TypeAlias = Annotated[list[str], Field(fail_fast=True, min_length=1, max_length=THREADS)]
Roles: TypeAlias = Annotated[list[str], Field(fail_fast=True, max_length=ROLES)]
Ids: TypeAlias = Annotated[list[StrictInt], Field(fail_fast=True, max_length=TURNS)]
# Seconds since the epoch, or an ISO 8601 text.
Moment: TypeAlias = float | str


class Body(BaseModel):
    """A request: a field that is not known is more likely misspelt than superfluous."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: Any) -> Any:
        for some in (value, value.get("meta")) if isinstance(value, dict) else ():
            if isinstance(some, dict) and len(some) > FIELDS:
                raise ValueError(f"found {len(some)} fields, expected at most {FIELDS}")
        return value


class TurnsBody(Body):
    """Turns to add; messages of chat APIs can be given as they are."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "turns": [
                        {
                            "role": "user",
                            "text": "New projects run on one consumer GPU.",
                            "at": "2026-05-01T09:30:00Z",
                            "id": "msg-1041",
                            "meta": {"channel": "ops"},
                        },
                        {"role": "assistant", "content": "Noted."},
                    ]
                }
            ]
        }
    )

    turns: Annotated[
        list[dict[str, Any]],
        Field(
            min_length=1,
            fail_fast=True,
            description="Each has `role` and `text` (or `content`), and maybe `at` (seconds or "
            "ISO 8601), `id` and `meta`. A turn whose id is there already is not added again.",
        ),
    ]


class Narrowing(Body):
    """Which turns a request is about."""

    since: Annotated[Moment | None, Field(description="From this time on.")] = None
    until: Annotated[Moment | None, Field(description="Before this time.")] = None
    roles: Annotated[Roles | None, Field(description="Of these speakers.")] = None
    meta: Annotated[Meta | None, Field(description="With these names and values.")] = None


class ContextBody(Narrowing):
    """A question."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "Which GPU may it use?", "budget": 600}]}
    )

    query: Asked
    budget: Annotated[int | None, Field(gt=0, description="Most tokens of what is returned.")] = (
        None
    )
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None
    now: Annotated[Moment | None, Field(description="When it is asked.")] = None


class SearchBody(ContextBody):
    """A question, and how many spans may be returned."""

    k: Annotated[int | None, Field(gt=0, description="Most spans.")] = None


class NearestBody(Body):
    """A question, and how many turns may be returned."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "Which GPU?", "k": 10}]})

    query: Asked
    k: Annotated[int, Field(gt=0, description="Most turns.")] = 20


class SearchAcrossBody(SearchBody):
    """A question to several threads."""

    threads: Names


class ContextAcrossBody(ContextBody):
    """A question to several threads."""

    threads: Names


class ForgetBody(Narrowing):
    """Turns to forget: by their ids, by episode, or those that pass all filters."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"turns": [17, 18]}]})

    turns: Ids | None = None
    episode: int | None = None


class PreviewBody(ForgetBody):
    """The same, or what a question may mean, best first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "my address"}]})

    query: Asked | None = None
    min_relevance: Annotated[float | None, Field(ge=0, le=1)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A memory: what it was made with."""

    namespace: str
    model: str
    preset: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What was added, in order, and what was left out because it is not text."""

    receipts: list[Receipt]
    skipped: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What was found, as text for a prompt."""

    context: str
    tokens: int
    hits: list[Hit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error: `kind` never changes once released, `detail` says what to do."""

    type: str
    title: str
    status: int
    kind: str
    detail: str
