"""A plan of construction: what is to be written, by whom, in which order, and at which cost."""

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from scaleqa.backends import Price, read_price
from scaleqa.errors import DataError
from scaleqa.records.schema import ASIDE, StressLabel

TrackName = Literal["records", "wordings", "asides", "sequels"]
Order = Literal["options-first", "dialogue-first"]
Who = Literal["writer", "reader"]
# A model whose replies come by file, from people or from programs without an API.
BY_FILE = "batch"
# A part that began with a digit could be taken for the number of an id.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*")
SPLIT = re.compile(r"[A-Za-z0-9]+")
STRESS: dict[StressLabel, float] = {
    "state_overwrite": 1.0,
    "long_range_bridge": 1.0,
    "constraint_trap": 1.0,
}
# What may change when a construction is continued: nothing of it enters a prompt or a decision.
FREE = ("budget", "workers", "rpm")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Domain(_Strict):
    """A domain and how many records of it are wanted.

    Attributes:
        name: The domain, one of ours or one's own.
        count: How many are to be released.
        spare: How many more may be begun in place of those that are dropped; as many as `count`
            by default.
        about: What the domain is, for the writer.
        topics: Subjects that items take in turn, so that they differ.
        seeds: Hand-written examples of situations, of which the writer sees some.
    """

    name: str
    count: int = Field(ge=1, le=100_000)
    spare: int | None = Field(default=None, ge=0, le=100_000)
    about: str = ""
    topics: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _named(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot be in ids; a name has letters of English and digits, in parts "
                "that begin with a letter and are joined by hyphens, such as Home-Brewing"
            )
        return name

    @property
    def most(self) -> int:
        """How many may be begun."""
        return self.count + (self.count if self.spare is None else self.spare)


class Models(_Strict):
    """Who writes and who reads.

    Attributes:
        writer: A backend such as `openai:MODEL@URL`, or `batch:NAME` for replies by file.
        reader: Another one; it never sees an answer key.
        writer_price: `IN,OUT` in US dollars per million tokens.
        reader_price: The same for the reader.
        most_tokens: Maximum tokens of a reply.
        key_env: Environment variable with the API key, if not OPENAI_API_KEY.
        same_reader: Whether the reader may be the writer.
    """

    writer: str = Field(min_length=1)
    reader: str = Field(min_length=1)
    writer_price: str | None = None
    reader_price: str | None = None
    most_tokens: int = Field(default=2000, ge=50, le=100_000)
    key_env: str | None = None
    same_reader: bool = False

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.writer == self.reader and not self.same_reader:
            raise ValueError(
                f"writer and reader are both {self.writer!r}; a reader must not have written what "
                "it reads: name another, or set same_reader = true"
            )
        for spec in (self.writer, self.reader):
            kind, _, name = spec.partition(":")
            if kind == BY_FILE and not name.strip():
                raise ValueError(
                    f"{spec!r} does not say who replies by file; name them, as in {BY_FILE}:NAME"
                )
        for price in (self.writer_price, self.reader_price):
            if price is not None:
                _price(price)
        return self

    def spec(self, who: Who) -> str:
        """Returns who that is."""
        return self.writer if who == "writer" else self.reader

    def by_file(self, who: Who) -> bool:
        """Returns whether its replies come by file."""
        return self.spec(who).partition(":")[0] == BY_FILE

    def price(self, who: Who) -> Price | None:
        """Returns what its tokens cost, if that is known."""
        text = self.writer_price if who == "writer" else self.reader_price
        return None if text is None else read_price(text)


class Budget(_Strict):
    """The most that may be spent; what is not given is not limited."""

    dollars: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    calls: int | None = Field(default=None, gt=0)


class Plan(_Strict):
    """What is to be constructed.

    Attributes:
        track: Records, second wordings of given records, asides, or sequels of given records.
        order: Whether options are frozen and the letter is drawn before a dialogue is written, or
            dialogue and options are written together, as in the paper.
        split: The split of new ids.
        language: The language to write in.
        seed: Changes everything that is drawn apart from the letters, and the names of requests.
        domains: The domains.
        stress: How often items aim at each kind of stress, in relation to the others.
        records: A file or directory of the given records, relative to the plan; the shipped ones
            by default.
        embedder: An embedding model, if near-duplicates are to be found by meaning as well.
        models: Who writes and who reads.
        budget: The most that may be spent.
        tries: How often a step may be tried with one item.
        rounds: How often an item may go back to be mended after readings and comparisons.
        workers: Requests at the same time.
        rpm: Most requests per minute.
    """

    track: TrackName = "records"
    order: Order = "options-first"
    split: str = "own"
    language: str = Field(default="English", min_length=1)
    seed: str = "1"
    domains: tuple[Domain, ...] = Field(min_length=1)
    stress: dict[StressLabel, float] = Field(default=STRESS, min_length=1)
    records: str | None = None
    embedder: str | None = None
    models: Models
    budget: Budget = Budget()
    tries: int = Field(default=3, ge=1, le=20)
    rounds: int = Field(default=3, ge=0, le=20)
    workers: int = Field(default=4, ge=1, le=256)
    rpm: float | None = Field(default=None, gt=0)

    @field_validator("split")
    @classmethod
    def _named(cls, split: str) -> str:
        if not SPLIT.fullmatch(split):
            raise ValueError(
                f"{split!r} cannot be in ids; a split has letters of English and digits alone, "
                "such as own"
            )
        return split

    @model_validator(mode="after")
    def _fit(self) -> Self:
        names = [domain.name for domain in self.domains]
        if len({*names}) != len(names):
            raise ValueError("a domain occurs twice")
        if (self.track == "asides") != (names == [ASIDE]):
            raise ValueError(f"asides have one domain, {ASIDE!r}, which no other track has")
        if min(self.stress.values()) < 0 or not sum(self.stress.values()) > 0:
            raise ValueError("the shares of stress must not be negative, and not all be zero")
        if self.order == "dialogue-first" and self.track != "records":
            raise ValueError(f"{self.track} have one order of work; leave out order")
        if self.records and self.track not in ("wordings", "sequels"):
            raise ValueError(f"{self.track} are not made from given records; leave out records")
        if self.budget.dollars is not None:
            roles: tuple[Who, ...] = ("writer", "reader")
            free = [who for who in roles if not self.priced(who)]
            if free:
                raise ValueError(
                    f"a budget in dollars needs {free[0]}_price, as IN,OUT per million tokens"
                )
        return self

    def priced(self, who: Who) -> bool:
        """Returns whether the cost of a model is known; replies by file cost nothing here."""
        return self.models.by_file(who) or self.models.price(who) is not None

    @property
    def cells(self) -> frozenset[str]:
        """The cells that the plan declares, as `split:domain`."""
        return frozenset(f"{self.split}:{domain.name}" for domain in self.domains)

    @property
    def identity(self) -> str:
        """The hash of all that decides what is constructed."""
        content = self.model_dump_json(exclude={*FREE})
        return hashlib.sha256(content.encode()).hexdigest()

    def domain(self, name: str) -> Domain:
        """Returns the domain of a name."""
        return next(domain for domain in self.domains if domain.name == name)


def load_plan(path: Path) -> Plan:
    """Reads a plan from a TOML or JSON file.

    Raises:
        DataError: The file cannot be read, or is no plan.
    """
    try:
        text = path.read_text("utf-8")
        found: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise DataError(f"{path} is not {form}: {error}") from None
    return read_plan(found, str(path))


def read_plan(found: Any, source: str) -> Plan:
    """Validates a plan.

    Raises:
        DataError: It is none; the message names the first problem.
    """
    try:
        return Plan.model_validate(found)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the plan"
        raise DataError(
            f"{source}: {where}: {problem['msg'].removeprefix('Value error, ')}; "
            "an example is written by: scaleqa construct plan"
        ) from None


def _price(text: str) -> None:
    try:
        read_price(text)
    except DataError as error:
        raise ValueError(str(error)) from None


EXAMPLE = """\
# A plan for: scaleqa construct run plan.toml --out construction
track = "records"          # or wordings, asides, sequels
order = "options-first"    # or dialogue-first, as in the paper
split = "own"
language = "English"
tries = 3                  # how often a step may be tried with one item
rounds = 3                 # how often an item may be mended after it was read

[[domains]]                # any domain, also one that does not ship
name = "Gardening"
count = 30
about = "Gardens, allotments, greenhouses and their keepers."
topics = ["allotment committees", "greenhouse heating", "seed swaps", "orchard pruning"]
seeds = [
  "The allotment's water is shut off on odd days; a member plans the hose for a new bed.",
]

[stress]                   # what makes records hard, in relation to one another
state_overwrite = 1
long_range_bridge = 1
constraint_trap = 1

[models]                   # "batch:NAME" takes replies by file; see scaleqa construct export
writer = "openai:gpt-4o"
reader = "openai:gpt-4o-mini"
writer_price = "2.50,10.00"
reader_price = "0.15,0.60"

[budget]                   # a larger one continues where this one stopped
dollars = 5.0
calls = 1000
"""
