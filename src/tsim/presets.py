"""Frozen settings with a name.

A preset is a method and its constants. `OFFICIAL` is the paper's configuration on SCALE-QA,
`LONGMEMEVAL` its adaptation to LongMemEval. What the paper leaves open is listed in docs/method.md.
"""

import hashlib
import json
from dataclasses import asdict, dataclass

from tsim.engine import Engine, EpisodeEngine, EpisodeSettings
from tsim.errors import InputError
from tsim.rank import RankSettings
from tsim.segment import DriftSettings
from tsim.state import ThreadState


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A method of remembering with all its constants."""

    name: str
    settings: EpisodeSettings

    def engine(self, dimension: int, state: ThreadState) -> Engine:
        """Opens a thread with this method."""
        return EpisodeEngine(self.settings, dimension, state)

    @property
    def fingerprint(self) -> str:
        """Names the preset by its content: what was built with another one must be rebuilt."""
        content = json.dumps(asdict(self.settings), sort_keys=True)
        return f"{self.name}/{hashlib.sha256(content.encode()).hexdigest()[:12]}"


OFFICIAL = Preset(
    name="official",
    settings=EpisodeSettings(
        segment=DriftSettings(
            threshold=0.70, min_tokens=120, max_tokens=320, recent=4, bonus=0.03, min_turns=2
        ),
    ),
)

LONGMEMEVAL = Preset(
    name="longmemeval",
    settings=EpisodeSettings(
        segment=DriftSettings(
            threshold=0.74, min_tokens=160, max_tokens=480, recent=2, bonus=0.06, min_turns=2
        ),
        rank=RankSettings(
            k_raw=16,
            k_summary=24,
            k_cluster=1,
            k_final=8,
            w_raw=1.5,
            w_summary=1.5,
            w_cluster=0.35,
            temporal_hops=1,
            temporal_decay=0.5,
        ),
    ),
)

PRESETS = {preset.name: preset for preset in (OFFICIAL, LONGMEMEVAL)}


def find_preset(name: str) -> Preset:
    """Returns the preset of that name.

    Raises:
        InputError: There is none.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise InputError(f"no preset {name!r}; there are {', '.join(PRESETS)}") from None
