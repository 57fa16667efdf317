"""TSIM as a system under test: the engine's default method."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, Kind, SystemDeclaration
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Tools, Unit
from tsim import Hit, Memory, NewTurn, unfinished
from tsim.fitted import GROUPS
from tsim.presets import AnyPreset, LateSettings, Preset, late_for

SCRATCH = "scaleqa-memory-"
# Log odds that decide between runs and turns whatever the other features say.
CERTAIN = 50.0
# The parts of the late preset, each with a function that removes it.
PARTS: dict[str, Callable[[LateSettings], LateSettings]] = {
    # Runs of turns are compared by the mean of their turns' vectors: nothing else is embedded.
    "runs": lambda s: replace(s, runs=replace(s.runs, embedded=False)),
    # Only runs of turns are compared, or only single turns.
    "turns": lambda s: _preferring_runs(s, CERTAIN),
    "episodes": lambda s: _preferring_runs(s, -CERTAIN),
    "words": lambda s: _without(replace(s, span=replace(s.span, lexical_weight=0.0)), "words"),
    "speakers": lambda s: _without(s, "tells", "first person"),
    "names": lambda s: replace(s, span=replace(s.span, name_factor=1.0)),
    # The same probability of a new topic at every gap.
    "boundaries": lambda s: replace(
        s,
        boundary=replace(_without_cues(s).boundary, bias=-2.0, sides_weight=0.0, drift_weight=0.0),
    ),
    "cues": lambda s: _without_cues(s),
    "extension": lambda s: replace(s, fitted=replace(s.fitted, extension=0.0)),
    "links": lambda s: replace(s, links=replace(s.links, neighbour_margin=-1.0)),
    "reentry": lambda s: replace(s, reentry=replace(s.reentry, max_value=0.0)),
}


def _without_cues(settings: LateSettings) -> LateSettings:
    boundary = replace(
        settings.boundary,
        user_after_user_weight=0.0,
        user_weight=0.0,
        length_weight=0.0,
        question_weight=0.0,
    )
    return replace(settings, boundary=boundary)


def _without(settings: LateSettings, *words: str) -> LateSettings:
    """Removes the features of runs and turns whose names contain one of some words."""
    changed: dict[str, Any] = {
        group: tuple(
            0.0 if any(word in name for word in words) else weight
            for name, weight in zip(GROUPS[group], getattr(settings.fitted, group), strict=True)
        )
        for group in ("run", "turn")
    }
    return replace(settings, fitted=replace(settings.fitted, **changed))


def _preferring_runs(settings: LateSettings, logits: float) -> LateSettings:
    """Adds to the logit of every run, whose first feature is the constant 1."""
    first, *others = settings.fitted.run
    return replace(settings, fitted=replace(settings.fitted, run=(first + logits, *others)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TsimOptions:
    """Size of the context, and parts of the method to leave out."""

    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context; 0: the preset's own.")
    ] = 500
    k: Annotated[
        int, Field(ge=0, description="Maximum number of episodes; 0: the preset's own.")
    ] = 0
    preset: Annotated[
        Literal["late", "light"], Field(description="light: embeds turns alone, half as much.")
    ] = "late"
    off: Annotated[
        str, Field(description=f"Parts to leave out, joined by +: {', '.join(PARTS)}.")
    ] = ""


class Tsim:
    """A memory in a temporary file."""

    def __init__(self, tools: Tools, preset: AnyPreset, *, k: int, budget: int) -> None:
        """Opens an empty memory."""
        self._preset = preset
        self._ending = ExitStack()
        # What a killed run left behind quotes its thread, and is removed now.
        scratch = unfinished.scratch(Path(tempfile.gettempdir()), SCRATCH)
        self._memory = Memory.open(
            self._ending.enter_context(scratch) / "memory.db",
            model=tools.embedder,
            preset=self._preset,
            tokens="words",
        )
        self._thread = self._memory.thread("thread")
        self._k = k or None
        self._budget = budget or None
        self._words = 0

    def ingest(self, turns: Sequence[StreamTurn]) -> None:
        """Adds turns."""
        self._words += sum(len(turn.text.split()) for turn in turns)
        self._thread.add_many(NewTurn(role=turn.role, text=turn.text, at=turn.at) for turn in turns)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds episodes."""
        hits: list[Hit] = []
        if self._words:  # a thread exists once it has a turn
            hits = self._thread.search(asked.question, k=self._k, budget=self._budget, now=asked.at)
        turns = [turn for hit in hits for turn in hit.turns]
        return Retrieved(
            units=tuple(
                Unit(
                    turns=tuple(turn.id for turn in hit.turns),
                    score=hit.score,
                    label=f"episode {hit.episode}",
                    why=str(hit.why),
                )
                for hit in hits
            ),
            context=self._thread.write(hits),
            shown=frozenset(turn.id for turn in turns if turn.shown is None),
            parts={
                turn.id: tuple(turn.text[first:last] for first, last in turn.shown)
                for turn in turns
                if turn.shown is not None
            },
            relevance=_relevance(hits),
        )

    def observe(self, exchange: Exchange) -> None:
        """Adds an exchange."""
        self.ingest(exchange.turns)

    def account(self) -> Accounting:
        """Returns what the system keeps; summaries, if any, count as a second copy of the text.

        Words count once however many runs contain them: runs are not kept as text.
        """
        report = self._memory.verify()
        derived = report.episodes + report.clusters if self._preset.settings.summarises else 0
        copies = 2 if self._preset.settings.summarises else 1
        return Accounting(
            vectors=report.turns + report.passages + report.spans + derived,
            indexed_words=copies * self._words,
        )

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """Returns the turns that each view leads to."""
        return self._thread.views(asked.question) if self._words else {}

    def close(self) -> None:
        """Closes and deletes the memory."""
        self._memory.close()
        self._ending.close()


def without(preset: Preset[LateSettings], parts: Sequence[str]) -> Preset[LateSettings]:
    """Returns a late preset without some of its parts; its name lists them.

    Raises:
        DataError: There is no such part.
    """
    unknown = sorted({*parts} - {*PARTS})
    if unknown:
        raise DataError(f"the method has no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    settings = preset.settings
    for part in parts:
        settings = PARTS[part](settings)
    return Preset(name=f"{preset.name}-off={'+'.join(parts)}", settings=settings)


def _relevance(hits: Sequence[Hit]) -> float | None:
    """Returns the probability that one of the hits holds what was asked; None if they have none.

    Hits do not overlap, so their probabilities add up.
    """
    found = [hit.relevance for hit in hits if hit.relevance is not None]
    return min(1.0, sum(found)) if found else None


def _make(options: TsimOptions, tools: Tools) -> Tsim:
    preset = late_for(tools.embedder.identity, options.preset)
    if options.off:
        preset = without(preset, options.off.split("+"))
    return Tsim(tools, preset, k=options.k, budget=options.budget)


SYSTEM = SystemDeclaration(
    name="tsim",
    summary="Our method: spans of turns chosen at query time.",
    options=TsimOptions,
    make=_make,
    kind=Kind.OURS,
    budget=Budget(),
    order=1,
    colour="#56b4e9",
)
