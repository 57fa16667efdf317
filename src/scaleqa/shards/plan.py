"""Plans: the work of a run, cut into shards that can be done anywhere, in any order."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pydantic import Field

from scaleqa import __version__
from scaleqa.evaluate.rows import Run, Stored
from scaleqa.shards.recipe import Recipe

# How many turns a system takes in while it answers a question, roughly: 7 ms and 0.3 ms in threads
# of some thousand turns (bench/memory.py), both without the embedding of texts.
TURNS_PER_QUESTION = 20


class Part(Stored):
    """Questions of a package that follow each other."""

    package: str = Field(pattern=r"^\w+$")
    """Where the package is, below the packages of the plan."""
    run: Run
    """What the rows are made with; a worker that would make others is refused."""
    first: int = Field(ge=0)
    """Place of the first question."""
    last: int
    """The place after the last question."""


class Shard(Stored):
    """What one worker does at a time: it feeds a system a thread, and asks questions about it."""

    recipe: Recipe
    parts: tuple[Part, ...] = Field(min_length=1)
    """About the same thread."""

    @property
    def id(self) -> str:
        """A hash of all that determines the rows: whoever works on it makes the same."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    @property
    def questions(self) -> int:
        """How many questions are asked."""
        return sum(part.last - part.first for part in self.parts)

    @property
    def size(self) -> int:
        """Turns and questions, for progress bars."""
        return (self.parts[0].run.stream_turns or 0) + self.questions

    @property
    def name(self) -> str:
        """What it is, for people."""
        run, first, last = self.parts[0].run, self.parts[0].first, self.parts[-1].last
        return f"{run.system} on {run.package}, questions {first + 1} to {last}"


class Plan(Stored):
    """Shards to be done."""

    id: str
    """Another one for each plan."""
    scaleqa: str = __version__
    """The version that made it."""
    lease: float = Field(gt=0)
    """Seconds without a sign of life after which a worker counts as dead."""
    shards: tuple[Shard, ...]


def cut(whole: Sequence[Shard], lanes: int) -> list[Shard]:
    """Cuts shards into ranges of questions, if there are too few for all workers.

    Each range takes in the thread again, so a shard is cut into no more ranges than keep everybody
    busy, and no further than asking takes as long as taking in the thread. It stays whole if its
    questions depend on each other, and if its system asks a language model, whose calls would be
    paid for again.

    Args:
        whole: A shard for each system and thread.
        lanes: Workers that are expected.
    """
    wanted = -(-lanes // len(whole)) if whole else 1
    return [piece for shard in whole for piece in _ranges(shard, wanted)]


def _ranges(shard: Shard, wanted: int) -> Iterator[Shard]:
    turns = shard.parts[0].run.stream_turns or 0
    worthwhile = max(1, shard.questions * TURNS_PER_QUESTION // max(1, turns))
    count = min(wanted, worthwhile, max(1, shard.questions))
    if shard.recipe.in_order or shard.recipe.assist or count == 1:
        yield shard
        return
    bounds = [shard.questions * number // count for number in range(count + 1)]
    for start, end in pairwise(bounds):
        yield shard.model_copy(update={"parts": tuple(_between(shard.parts, start, end))})


def _between(parts: Sequence[Part], start: int, end: int) -> Iterator[Part]:
    """The questions from one to another, counted over all parts."""
    before = 0
    for part in parts:
        first = part.first + max(0, start - before)
        last = min(part.last, part.first + end - before)
        if first < last:
            yield part.model_copy(update={"first": first, "last": last})
        before += part.last - part.first
