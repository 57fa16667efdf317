"""TSIM as a system under test: the engine's default method."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems.declaration import Budget, Kind, SystemDeclaration
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Tools, Unit
from tsim import Memory, NewTurn
from tsim.presets import LATE, AnyPreset, LateSettings, Preset

# The parts of the late preset, each with a function that removes it.
PARTS: dict[str, Callable[[LateSettings], LateSettings]] = {
    "words": lambda s: replace(s, span=replace(s.span, lexical_weight=0.0)),
    # Words have the same weight however informative they are.
    "information": lambda s: replace(
        s, span=replace(s.span, lexical_weight=2.0, information_power=0.0)
    ),
    "names": lambda s: replace(s, span=replace(s.span, name_factor=1.0)),
    "rarity": lambda s: replace(s, span=replace(s.span, rarity_power=1.0)),
    "windows": lambda s: replace(s, span=replace(s.span, window_weight=0.0)),
    # The same probability of a new topic at every gap.
    "boundaries": lambda s: replace(
        s,
        boundary=replace(
            s.boundary, bias=-2.0, sides_weight=0.0, drift_weight=0.0, user_after_user_weight=0.0
        ),
    ),
    "speakers": lambda s: replace(s, boundary=replace(s.boundary, user_after_user_weight=0.0)),
    "fading": lambda s: replace(s, span=replace(s.span, fade_words=1e9)),
    "lengths": lambda s: replace(s, span=replace(s.span, long_turn_words=10**9)),
    "links": lambda s: replace(s, links=replace(s.links, neighbour_margin=-1.0)),
    "reentry": lambda s: replace(s, reentry=replace(s.reentry, max_value=0.0)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TsimOptions:
    """Size of the context, and parts of the method to leave out."""

    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context; 0: the preset's own.")
    ] = 500
    k: Annotated[
        int, Field(ge=0, description="Maximum number of episodes; 0: the preset's own.")
    ] = 0
    off: Annotated[
        str, Field(description=f"Parts to leave out, joined by +: {', '.join(PARTS)}.")
    ] = ""


class Tsim:
    """A memory in a temporary file."""

    def __init__(self, tools: Tools, preset: AnyPreset, *, k: int, budget: int) -> None:
        """Opens an empty memory."""
        self._preset = preset
        self._directory = Path(tempfile.mkdtemp(prefix="scaleqa-tsim-"))
        self._memory = Memory.open(
            self._directory / "memory.db", model=tools.embedder, preset=self._preset
        )
        self._thread = self._memory.thread("thread")
        self._k = k or None
        self._budget = budget or None
        self._words = 0

    def ingest(self, turns: Sequence[StreamTurn]) -> None:
        """Adds turns."""
        self._words += sum(len(turn.text.split()) for turn in turns)
        self._thread.add_many(NewTurn(role=turn.role, text=turn.text) for turn in turns)

    def retrieve(self, asked: Asked) -> Retrieved:
        """Finds episodes."""
        hits = self._thread.search(asked.question, k=self._k, budget=self._budget)
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
            shown=frozenset(turn.id for hit in hits for turn in hit.turns),
            relevance=_relevance(hits),
        )

    def observe(self, exchange: Exchange) -> None:
        """Adds an exchange."""
        self.ingest(exchange.turns)

    def account(self) -> Accounting:
        """Returns what the system keeps; summaries, if any, count as a second copy of the text."""
        report = self._memory.verify()
        derived = report.episodes + report.clusters if self._preset.settings.summarises else 0
        copies = 2 if self._preset.settings.summarises else 1
        return Accounting(vectors=report.turns + derived, indexed_words=copies * self._words)

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """Returns the turns that each view leads to."""
        return self._thread.views(asked.question)

    def close(self) -> None:
        """Closes and deletes the memory."""
        self._memory.close()
        shutil.rmtree(self._directory, ignore_errors=True)


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


def _relevance(hits: Sequence[object]) -> float | None:
    """Returns the highest relevance of hits; None if they have none."""
    found = (getattr(hit, "relevance", None) for hit in hits)
    return max((value for value in found if value is not None), default=None)


def _make(options: TsimOptions, tools: Tools) -> Tsim:
    preset = without(LATE, options.off.split("+")) if options.off else LATE
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
