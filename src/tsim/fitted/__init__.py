"""The fitted weights of our methods, one file per preset and embedding model.

`scaleqa fit` writes these files. They name every feature, so that a file that was fitted for other
features is refused, and they contain the hash of the threads and questions that were used.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from tsim.engine import LateSettings
from tsim.errors import InputError
from tsim.rank.fitted import (
    HIT_FEATURES,
    PRESENCE_FEATURES,
    RUN_FEATURES,
    TURN_FEATURES,
    FittedSettings,
)

SUFFIX = ".json"
BIAS = "bias"
# Names of the features of each group of weights.
GROUPS: Mapping[str, Sequence[str]] = {
    "run": RUN_FEATURES,
    "turn": TURN_FEATURES,
    "presence": (*PRESENCE_FEATURES, BIAS),
    "relevance": (*HIT_FEATURES, BIAS),
}
# The constants of boundary confidences that are fitted.
BOUNDARY = (
    "bias",
    "sides_weight",
    "drift_weight",
    "user_after_user_weight",
    "user_weight",
    "length_weight",
    "question_weight",
)
UNFITTED = FittedSettings(
    run=tuple(0.0 for _ in RUN_FEATURES),
    turn=tuple(0.0 for _ in TURN_FEATURES),
    presence=tuple(0.0 for _ in GROUPS["presence"]),
    relevance=tuple(0.0 for _ in GROUPS["relevance"]),
    min_relevance=0.0,
    extension=0.0,
)
# Significant digits; more would only record the rounding of one machine's arithmetic.
DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A file of fitted weights.

    Attributes:
        model: The embedding model.
        fitted_on: The SHA-256 of the threads and questions that were used.
        boundary: The constants of boundary confidences.
        run: Weights of the features of runs, by name; likewise for the other groups.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    model: str
    fitted_on: str
    boundary: dict[str, float]
    run: dict[str, float]
    turn: dict[str, float]
    presence: dict[str, float]
    relevance: dict[str, float]
    min_relevance: float
    extension: float


def shipped(preset: str) -> list[str]:
    """Returns the names of the models that weights ship for; joined ones have a `+`."""
    names = (file.name for file in (resources.files("tsim.fitted") / preset).iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def content(preset: str, model: str) -> bytes:
    """Returns the file of the weights that were fitted for a model and ship with the package."""
    return (resources.files("tsim.fitted") / preset / f"{model}{SUFFIX}").read_bytes()


def load(preset: str, model: str) -> Weights:
    """Returns the weights that were fitted for a model and ship with the package."""
    # The tests check these files; `parse` would bring pydantic into every `import tsim`.
    return Weights(**json.loads(content(preset, model)))


def read(path: Path) -> Weights:
    """Reads weights from a file.

    Raises:
        InputError: The file cannot be read or does not fit this version.
    """
    try:
        return parse(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def parse(content: bytes, name: str) -> Weights:
    """Parses a file of weights.

    Raises:
        InputError: It is not one, or it was fitted for other features.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        weights = TypeAdapter(Weights).validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise InputError(
            f"{name} is not a file of fitted weights: {problem['msg']}; make one with: scaleqa fit"
        ) from error
    for group, names in {**GROUPS, "boundary": BOUNDARY}.items():
        found = {*getattr(weights, group)}
        if found != {*names}:
            raise InputError(
                f"{name} was fitted for other features ({group}: {sorted(found ^ {*names})}); "
                "fit again with: scaleqa fit"
            )
    return weights


def apply(settings: LateSettings, weights: Weights) -> LateSettings:
    """Returns settings with fitted weights."""
    groups: dict[str, Any] = {
        group: tuple(getattr(weights, group)[name] for name in names)
        for group, names in GROUPS.items()
    }
    return replace(
        settings,
        boundary=replace(settings.boundary, **weights.boundary),
        fitted=FittedSettings(
            **groups,
            min_relevance=weights.min_relevance,
            extension=weights.extension,
        ),
    )


def describe(settings: LateSettings, *, model: str, fitted_on: str) -> bytes:
    """Returns the file that contains the weights of some settings."""
    fitted = asdict(settings.fitted)
    boundary = asdict(settings.boundary)
    content = {
        "model": model,
        "fitted_on": fitted_on,
        "boundary": {name: _rounded(boundary[name]) for name in BOUNDARY},
        **{
            group: dict(zip(names, map(_rounded, fitted[group]), strict=True))
            for group, names in GROUPS.items()
        },
        **{name: _rounded(fitted[name]) for name in ("min_relevance", "extension")},
    }
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
