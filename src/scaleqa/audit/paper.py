"""The figures of the paper's human audit, with the tables they are from; shares, not per cent.

Its 300 examples are of its own data set, rated by three members of the authors' group.
"""

from dataclasses import dataclass

from scaleqa.paper import Printed

ITEMS = 300


@dataclass(frozen=True, slots=True)
class Scale:
    """A line of the overall table."""

    mean: float
    median: float
    std: float


@dataclass(frozen=True, slots=True)
class Annotator:
    """A line about one annotator: shares, then means by scale."""

    accuracy: float
    largest: float
    means: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Pair:
    """A line about two annotators: shares, kappa, and agreed answers that are right."""

    answers: float
    kappa: float
    primary: float
    cues: tuple[float, float, float]
    agreed: tuple[int, int]


OVERALL = Printed(
    source="Table “Overall blind human realism audit”",
    lines={
        "naturalness": Scale(3.80, 3.67, 0.25),
        "answerability": Scale(4.91, 5.00, 0.17),
        "ambiguity": Scale(1.45, 1.33, 0.32),
        "plausibility": Scale(3.99, 4.00, 0.29),
    },
)
ANNOTATORS = Printed(
    source="Table “Annotator-level descriptive checks”",
    lines={
        "Ann. 1": Annotator(0.990, 0.257, (4.17, 4.90, 1.19, 3.98)),
        "Ann. 2": Annotator(0.910, 0.303, (4.04, 4.87, 1.92, 4.08)),
        "Ann. 3": Annotator(0.963, 0.253, (3.20, 4.95, 1.25, 3.90)),
    },
)
PAIRS = Printed(
    source="Table “Pairwise agreement in the final human audit”",
    lines={
        "Ann. 1–2": Pair(0.913, 0.884, 0.567, (0.433, 0.830, 0.847), (272, 274)),
        "Ann. 1–3": Pair(0.960, 0.947, 0.163, (0.453, 0.830, 1.000), (287, 288)),
        "Ann. 2–3": Pair(0.890, 0.853, 0.327, (0.573, 0.720, 0.847), (265, 267)),
    },
)
# Items whose majority is right, items with a majority, items without one.
MAJORITY = Printed(source="Section “Blind Human Realism Audit”", lines={"majority": (296, 299, 1)})
# Mean of the pairwise kappas.
KAPPA = Printed(source="Section “Blind human realism audit”", lines={"answer": 0.895})
CUES = Printed(
    source="Table “Human stress-label distribution”",
    lines={
        "state_overwrite": 196,
        "long_range_bridge": 291,
        "constraint_trap": 300,
        "several": 298,
        "all": 189,
    },
)
PRIMARY = Printed(
    source=CUES.source,
    lines={
        "state_overwrite": 80,
        "long_range_bridge": 9,
        "constraint_trap": 158,
        "needs_adjudication": 53,
    },
)
TOPICS = Printed(
    source="Table “Per-topic realism means”",
    lines={
        "Biomed": (3.66, 4.86, 1.49, 4.00),
        "Biz-Ops": (3.79, 4.92, 1.31, 4.13),
        "CS-Software": (3.74, 4.94, 1.34, 4.09),
        "Daily-Life": (4.09, 4.91, 1.38, 4.04),
        "Engineering": (3.72, 4.90, 1.42, 4.13),
        "Finance": (3.79, 4.88, 1.41, 4.06),
        "Game-Novel": (3.71, 4.93, 1.61, 3.63),
        "Legal": (3.67, 4.92, 1.38, 3.94),
        "Network-Hardware": (3.72, 4.90, 1.33, 3.94),
        "Social-Personal": (4.13, 4.90, 1.86, 3.88),
    },
)
