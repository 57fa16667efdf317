"""The paper's method as a system under test: episodes cut as turns arrive, three views."""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from scaleqa.errors import DataError
from scaleqa.systems.declaration import Budget, Kind, SystemDeclaration
from scaleqa.systems.protocol import Tools
from scaleqa.systems.tsim import Tsim
from tsim.presets import AnyPreset, EpisodeSettings, Preset, find_preset
from tsim.toolkit import DriftRule


@dataclass(frozen=True, slots=True, kw_only=True)
class TsimOfficialOptions:
    """The preset, changes to it, and size of the context."""

    preset: Annotated[str, Field(description="The engine's preset.")] = "official"
    theta: Annotated[
        float, Field(ge=0, description="Similarity below which an episode ends; 0: the preset's.")
    ] = 0.0
    hops: Annotated[
        int | None,
        Field(
            ge=0,
            le=4,
            description="Neighbours in time that an episode lends a part of its "
            "score to, on each side; by default the preset's.",
        ),
    ] = None
    k: Annotated[
        int, Field(ge=0, description="Maximum number of episodes; 0: the preset's own.")
    ] = 0
    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context; 0: the preset's own.")
    ] = 0


def with_theta(preset: AnyPreset, theta: float) -> Preset[EpisodeSettings]:
    """Returns a preset that cuts episodes at another similarity; its name includes theta.

    Raises:
        DataError: The preset does not cut episodes by drift.
    """
    settings = _of_episodes(preset, "theta")
    if not isinstance(settings.segmenter, DriftRule):
        raise DataError(f"preset {preset.name!r} has no theta; official and longmemeval have one")
    rule = replace(settings.segmenter, min_similarity=theta)
    return Preset(name=f"{preset.name}-theta={theta:g}", settings=replace(settings, segmenter=rule))


def with_hops(preset: AnyPreset, hops: int) -> Preset[EpisodeSettings]:
    """Returns a preset whose episodes lend to so many neighbours in time; its name includes them.

    Raises:
        DataError: The preset has no episodes.
    """
    settings = _of_episodes(preset, "hops")
    changed = replace(settings, rank=replace(settings.rank, temporal_hops=hops))
    return Preset(name=f"{preset.name}-hops={hops}", settings=changed)


def _of_episodes(preset: AnyPreset, option: str) -> EpisodeSettings:
    if not isinstance(preset.settings, EpisodeSettings):
        raise DataError(
            f"preset {preset.name!r} has no {option}; official and longmemeval have one"
        )
    return preset.settings


def _make(options: TsimOfficialOptions, tools: Tools) -> Tsim:
    preset = find_preset(options.preset)
    chosen = with_theta(preset, options.theta) if options.theta else preset
    if options.hops is not None:
        chosen = with_hops(chosen, options.hops)
    return Tsim(tools, chosen, k=options.k, budget=options.budget)


SYSTEM = SystemDeclaration(
    name="tsim_official",
    summary="The paper's method: episodes with three views.",
    options=TsimOfficialOptions,
    make=_make,
    kind=Kind.OURS,
    budget=Budget(),
    order=2,
    colour="#0072b2",
)
