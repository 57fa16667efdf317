"""TSIM as a system under test."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems.protocol import Accounting, Asked, Exchange, Retrieved, Tools, Unit
from scaleqa.systems.registry import take
from tsim import Memory, NewTurn
from tsim.presets import LATE, AnyPreset, EpisodeSettings, LateSettings, Preset, find_preset
from tsim.toolkit import DriftRule

# The parts of the late preset, each with what takes it out.
PARTS: dict[str, Callable[[LateSettings], LateSettings]] = {
    "words": lambda s: replace(s, span=replace(s.span, lexical_weight=0.0)),
    # Words weigh the same whether they tell much or little.
    "information": lambda s: replace(
        s, span=replace(s.span, lexical_weight=2.0, information_power=0.0)
    ),
    "names": lambda s: replace(s, span=replace(s.span, name_factor=1.0)),
    "rarity": lambda s: replace(s, span=replace(s.span, rarity_power=1.0)),
    "windows": lambda s: replace(s, span=replace(s.span, window_weight=0.0)),
    # The same chance of a new topic at every gap.
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


class Tsim:
    """A memory in a file of its own, thrown away afterwards."""

    def __init__(self, tools: Tools, preset: AnyPreset, k: int, budget: int) -> None:
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
        )

    def observe(self, exchange: Exchange) -> None:
        """Adds an exchange."""
        self.ingest(exchange.turns)

    def account(self) -> Accounting:
        """Counts vectors; summaries, where there are any, hold the text once more."""
        report = self._memory.verify()
        derived = report.episodes + report.clusters if self._preset.settings.summarises else 0
        copies = 2 if self._preset.settings.summarises else 1
        return Accounting(vectors=report.turns + derived, indexed_words=copies * self._words)

    def views(self, asked: Asked) -> Mapping[str, frozenset[int]]:
        """Tells which turns each view leads to."""
        return self._thread.views(asked.question)

    def close(self) -> None:
        """Removes the memory."""
        self._memory.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def make(options: Mapping[str, str], tools: Tools) -> Tsim:
    """Opens the paper's method; options: preset, theta, k, budget (0 for the preset's own)."""
    values = take(options, preset="official", theta=0.0, k=0, budget=0)
    preset = find_preset(str(values["preset"]))
    theta = float(values["theta"])
    chosen = with_theta(preset, theta) if theta else preset
    return Tsim(tools, chosen, int(values["k"]), int(values["budget"]))


def late(options: Mapping[str, str], tools: Tools) -> Tsim:
    """Opens our own method; options: k, budget, off (parts to leave out, joined by +)."""
    values = take(options, k=0, budget=500, off="")
    preset = without(LATE, str(values["off"]).split("+")) if values["off"] else LATE
    return Tsim(tools, preset, int(values["k"]), int(values["budget"]))


def without(preset: Preset[LateSettings], parts: Sequence[str]) -> Preset[LateSettings]:
    """Returns a late preset without some of its parts, under a name that says so.

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


def with_theta(preset: AnyPreset, theta: float) -> Preset[EpisodeSettings]:
    """Returns a preset that cuts episodes at another similarity, under a name that says so.

    Raises:
        DataError: The preset does not cut episodes by drift.
    """
    settings = preset.settings
    if not isinstance(settings, EpisodeSettings) or not isinstance(settings.segmenter, DriftRule):
        raise DataError(f"preset {preset.name!r} has no theta; official and longmemeval have one")
    rule = replace(settings.segmenter, min_similarity=theta)
    return Preset(name=f"{preset.name}-theta={theta:g}", settings=replace(settings, segmenter=rule))
