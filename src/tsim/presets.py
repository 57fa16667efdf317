"""Presets: frozen settings with a name.

A preset is a method and its constants. `LATE` is our own method and the default; `LIGHT` is the
same with less to embed; `OFFICIAL` is the paper's configuration for SCALE-QA, and `LONGMEMEVAL` its
adaptation to LongMemEval.
docs/method.md lists the choices that the paper leaves open.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Generic, TypeAlias, TypeVar

from tsim.embed.models import find_model
from tsim.engine import EpisodeSettings, LateSettings, Settings
from tsim.errors import InputError
from tsim.fitted import UNFITTED, apply, load, shipped
from tsim.rank import RankSettings, ReentrySettings, SpanSettings
from tsim.rank.fitted import trusting
from tsim.segment import ConfidenceSettings, DriftRule, LinkSettings, RunSettings

__all__ = [
    "DEFAULT",
    "LATE",
    "LIGHT",
    "LONGMEMEVAL",
    "OFFICIAL",
    "PRESETS",
    "UNFITTED_LATE",
    "AnyPreset",
    "EpisodeSettings",
    "LateSettings",
    "Preset",
    "Settings",
    "find_preset",
    "late_for",
    "suited",
    "unfitted",
    "written_with",
]

S = TypeVar("S", bound=Settings, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset(Generic[S]):
    """A memory method and all its constants.

    Attributes:
        name: The name users select it by.
        settings: The constants.
        former: Fingerprints that earlier releases wrote for the same method and constants.
    """

    name: str
    settings: S
    former: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Identifies the preset by its content; a memory with another one must be rebuilt."""
        content = json.dumps(asdict(self.settings), sort_keys=True)
        return f"{self.name}/{hashlib.sha256(content.encode()).hexdigest()[:12]}"

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """All fingerprints that files of this preset may have, newest first."""
        return (self.fingerprint, *self.former)


# A preset of any method.
AnyPreset: TypeAlias = Preset[Settings]


# The defaults of each settings class are the paper's constants.
OFFICIAL: Preset[EpisodeSettings] = Preset(
    name="official",
    settings=EpisodeSettings(),
    former=("official/7a00f7e80189",),
)

LONGMEMEVAL: Preset[EpisodeSettings] = Preset(
    name="longmemeval",
    settings=EpisodeSettings(
        segmenter=DriftRule(
            min_similarity=0.74,
            min_tokens=160,
            max_tokens=480,
            recent_turns=2,
            user_after_model_bonus=0.06,
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
    former=("longmemeval/577bf31183b0",),
)

# Constants that are not fitted: chosen on split s1 of the benchmark's records, and in a few cases
# also on LongMemEval; docs/method.md lists which. The others come from the file of fitted weights.
UNFITTED_LATE = LateSettings(
    boundary=ConfidenceSettings(
        bias=0.0,
        sides_weight=0.0,
        drift_weight=0.0,
        user_after_user_weight=0.0,
        user_weight=0.0,
        length_weight=0.0,
        question_weight=0.0,
        cut_confidence=0.25,
    ),
    links=LinkSettings(
        neighbour_margin=0.05,
        reach_margin=0.002,
        max_lag=14,
        link_bias=1.0,
        turn_weight=4.0,
        lane_weight=10.0,
        unrelated_cosine=0.1,
        lane_decay=0.7,
        same_speaker_bias=-4.0,
        user_opens_bias=-1.5,
        other_opens_bias=-5.0,
        unanswered_bias=-1.5,
        lane_rounds=3,
        propagation_sweeps=10,
        lag_rounds=12,
    ),
    runs=RunSettings(thresholds=(0.1, 0.3, 0.6), max_turns=12, max_words=180, embedded=True),
    span=SpanSettings(
        sentence_weight=0.4,
        window_turns=6,
        rarity_power=2.0,
        name_factor=2.0,
        lexical_weight=0.35,
        information_power=1.0,
        window_weight=0.5,
        relevance_power=2.0,
        fade_words=400.0,
        max_anchors=40,
        conversation_reach=40,
        membership_power=0.2,
        own_weight=2.0,
        long_turn_words=60,
        max_skipped_turns=3,
        budget=1100,
    ),
    reentry=ReentrySettings(
        min_continuation=0.4,
        common_nats=4.0,
        neighbour_weight=0.5,
        saturation_nats=5.0,
        max_value=0.5,
    ),
    fitted=UNFITTED,
)

# How much more similarity counts with models that have no weights of their own. The weights of
# all-MiniLM-L6-v2 know English words and how English speakers talk about themselves; other models
# are used for other languages. Chosen on the data set `languages`.
OTHER_MODELS = 2.0
# Neither runs nor sentences are embedded: all runs are joined from single turns.
UNFITTED_LIGHT = replace(
    UNFITTED_LATE,
    runs=replace(UNFITTED_LATE.runs, embedded=False),
    span=replace(UNFITTED_LATE.span, sentence_weight=0.0),
)
BASE = "all-MiniLM-L6-v2"
LATE: Preset[LateSettings] = Preset(
    name="late",
    settings=apply(UNFITTED_LATE, load("late", BASE)),
    # With other weights for searches, and boundaries that differ in the third digit: what these
    # stored is used as it is. The sixth and eighth are for models without weights of their own.
    # The first four and the last four are for each model with weights and for others; the last four
    # embedded no sentences.
    former=(
        "late/ea1979f9dec6",
        "late/a8c0584effd6",
        "late/f25eed3152bc",
        "late/1e6e6c2d234a",
        "late/52cf1a81b639",
        "late/e9df40c5bc26",
        "late/fd4158e586b8",
        "late/8097d201f654",
        "late/7de05adf7578",
        "late/9676052765ac",
        "late/866ce117006d",
        "late/8aac817e62d3",
    ),
)
LIGHT: Preset[LateSettings] = Preset(
    name="light",
    settings=apply(UNFITTED_LIGHT, load("light", BASE)),
    former=(
        "light/cf64fb948639",
        "light/e99ce760d512",
        "light/37b2a7be1ed0",
        "light/94ff6444a29c",
        "light/b3b49e489f80",
        "light/2dc6f7b95ea2",
    ),
)
DEFAULT: AnyPreset = LATE
PRESETS: Mapping[str, AnyPreset] = {
    preset.name: preset for preset in (LATE, LIGHT, OFFICIAL, LONGMEMEVAL)
}
# Presets whose weights depend on the embedding model, and their constants without weights.
WEIGHTED: Mapping[str, tuple[Preset[LateSettings], LateSettings]] = {
    LATE.name: (LATE, UNFITTED_LATE),
    LIGHT.name: (LIGHT, UNFITTED_LIGHT),
}


def unfitted(name: str) -> LateSettings:
    """Returns the constants of a preset whose weights are fitted, without them.

    Raises:
        InputError: There is no such preset.
    """
    if name not in WEIGHTED:
        raise InputError(f"no preset {name!r:.80} has weights; use one of {', '.join(WEIGHTED)}")
    return WEIGHTED[name][1]


@cache
def late_for(model: str, name: str = LATE.name) -> Preset[LateSettings]:
    """Returns our method, by the name of its preset, with the weights fitted for a model.

    With a model that none were fitted for, it uses those of all-MiniLM-L6-v2, but is never silent
    for a low relevance, since it cannot know how alike the vectors of unrelated texts are, and
    similarity counts more.

    Args:
        model: The identity of the model.
        name: The name of a preset that has weights.
    """
    preset, constants = WEIGHTED[name]
    for known in shipped(name):
        if find_model(known).identity == model:
            return replace(preset, settings=apply(constants, load(name, known)))
    fitted = trusting(replace(preset.settings.fitted, min_relevance=0.0), OTHER_MODELS)
    return replace(preset, settings=replace(preset.settings, fitted=fitted))


def suited(preset: AnyPreset, model: str) -> AnyPreset:
    """Returns a preset by name as it is used with a model, given by its identity."""
    return late_for(model, preset.name) if preset in (LATE, LIGHT) else preset


def written_with(fingerprint: str | None) -> AnyPreset:
    """Returns the preset that a memory was written with, or the default for a new memory."""
    known = next((p for p in PRESETS.values() if fingerprint in p.fingerprints), None)
    # With the weights of another model, a preset has another fingerprint.
    name = (fingerprint or "").partition("/")[0]
    return known or (WEIGHTED[name][0] if name in WEIGHTED else DEFAULT)


def find_preset(name: str) -> AnyPreset:
    """Returns the preset with the given name.

    Raises:
        InputError: There is no such preset.
    """
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        raise InputError(f"no preset {name!r:.80}; use one of {', '.join(PRESETS)}") from None
