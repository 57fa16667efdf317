"""M1: cuts the stream of turns into episodes, or estimates where topics begin."""

from tsim.segment.confidence import (
    AFTER,
    BEFORE,
    ConfidenceSettings,
    Cues,
    asks,
    confidence,
    confidences,
    cue_features,
    cue_odds,
    cues,
    gap_confidences,
    gap_cosines,
    log_odds,
)
from tsim.segment.drift import DriftRule, DriftState
from tsim.segment.links import Links, LinkSettings, interleaved, membership, replies
from tsim.segment.passages import (
    CHARACTERS_PER_TOKEN,
    PASSAGE_TOKENS,
    WHOLE_TOKENS,
    divide,
)
from tsim.segment.protocol import Arrival, Segmenter, Step, cuts
from tsim.segment.runs import Piece, Run, RunCutter, RunJoiner, RunSettings
from tsim.segment.sentences import sentences

__all__ = [
    "AFTER",
    "BEFORE",
    "CHARACTERS_PER_TOKEN",
    "PASSAGE_TOKENS",
    "WHOLE_TOKENS",
    "Arrival",
    "ConfidenceSettings",
    "Cues",
    "DriftRule",
    "DriftState",
    "LinkSettings",
    "Links",
    "Piece",
    "Run",
    "RunCutter",
    "RunJoiner",
    "RunSettings",
    "Segmenter",
    "Step",
    "asks",
    "confidence",
    "confidences",
    "cue_features",
    "cue_odds",
    "cues",
    "cuts",
    "divide",
    "gap_confidences",
    "gap_cosines",
    "interleaved",
    "log_odds",
    "membership",
    "replies",
    "sentences",
]
