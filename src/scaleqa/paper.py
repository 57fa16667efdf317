"""Every figure of the paper that is shown beside one of ours, with the table it is from.

Shares, not per cent. Unless a table says otherwise: 3,000 questions at 128k, embedded with
BGE-large. Its records and noise are not ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

LARGE, SMALL = "bge-large-en-v1.5", "all-MiniLM-L6-v2"
TARGET = 128_000
DEFAULT = "GPT-4o-mini"
# Context tokens of Full Context at 128k: what a model with a window of 128k of its own tokens sees.
VISIBLE = 88_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed(Generic[Key, Value]):
    """Figures of one table, drawing or passage.

    Attributes:
        source: What the paper calls it.
        lines: The figures.
    """

    source: str
    lines: Mapping[Key, Value]


@dataclass(frozen=True, slots=True)
class Scores:
    """A line of a comparison: shares, a cosine, tokens, seconds."""

    accuracy: float
    hit: float
    rationale: float | None
    tokens: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Cost:
    """A line of the accounting: what is kept of one thread, and milliseconds."""

    vectors: int
    megabytes: float
    amplification: float
    ingest_ms: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Prompted:
    """A line about prompts: accuracy, prompt tokens, seconds."""

    accuracy: float
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Transferred:
    """A line about LongMemEval-S: share with all evidence in context, mean context tokens."""

    method: str
    recall: float
    tokens: float


@dataclass(frozen=True, slots=True)
class DataSet:
    """The paper's records: how many, tokens of their dialogues in all, and means per record."""

    records: int
    dialogue_tokens: int
    tokens: int
    turns: int
    evidence: float


RECORDS = Printed(
    source="Section on the dataset's statistics",
    lines={"scaleqa": DataSet(3000, 393_245, 131, 7, 1.45)},
)
CONSTRUCTION = Printed(
    source="Section on the validation of records",
    lines={"machine": 0.288, "human": 0.843},
)
MAIN = Printed(
    source="Table “Cross-backend main comparison”, 3,000 questions at 128k, BGE-large",
    lines={
        "Gemma2:9b": {
            "tsim_official": Scores(0.696, 0.707, 0.472, 1060.8, 4.20),
            "standard_rag": Scores(0.244, 0.077, 0.296, 929.5, 3.35),
            "hybrid_rrf": Scores(0.311, 0.112, 0.254, 1193.6, 4.00),
            "raptor": Scores(0.406, 0.353, 0.403, 790.5, 20.67),
            "memgpt": Scores(0.601, 0.626, 0.413, 2301.9, 3.88),
            "hipporag": Scores(0.252, 0.125, 0.380, 748.9, 6.51),
        },
        "Gemini 2.5 Flash": {
            "tsim_official": Scores(0.802, 0.679, 0.445, 1275.3, 1.46),
            "standard_rag": Scores(0.298, 0.076, 0.166, 912.6, 0.98),
            "hybrid_rrf": Scores(0.328, 0.112, 0.183, 1193.3, 1.20),
            "raptor": Scores(0.526, 0.348, 0.305, 790.0, 9.85),
            "memgpt": Scores(0.746, 0.623, 0.398, 2349.6, 1.19),
            "hipporag": Scores(0.344, 0.121, 0.245, 752.7, 3.10),
        },
        "GPT-4o-mini": {
            "tsim_official": Scores(0.738, 0.742, 0.485, 1043.6, 2.66),
            "standard_rag": Scores(0.271, 0.076, 0.238, 910.1, 1.72),
            "hybrid_rrf": Scores(0.311, 0.113, 0.203, 1193.5, 1.59),
            "raptor": Scores(0.430, 0.351, 0.419, 789.2, 11.59),
            "memgpt": Scores(0.502, 0.586, 0.298, 2238.4, 1.77),
            "hipporag": Scores(0.310, 0.119, 0.202, 753.7, 2.85),
            "tuned_hybrid": Scores(0.562, 0.635, 0.487, 3004.2, 11.91),
        },
    },
)
# Hit-C, Hit-W, Miss-C, Miss-W.
AUDIT = Printed(
    source="Table “Backend-output audit for the 128k main comparison”",
    lines={
        "Gemma2:9b": {
            "standard_rag": (0.052, 0.021, 0.106, 0.477),
            "hybrid_rrf": (0.084, 0.021, 0.095, 0.272),
            "raptor": (0.252, 0.100, 0.146, 0.470),
            "memgpt": (0.486, 0.140, 0.114, 0.259),
            "hipporag": (0.087, 0.037, 0.156, 0.684),
            "tsim_official": (0.582, 0.124, 0.113, 0.177),
        },
        "Gemini 2.5 Flash": {
            "standard_rag": (0.061, 0.002, 0.005, 0.003),
            "hybrid_rrf": (0.100, 0.002, 0.007, 0.006),
            "raptor": (0.321, 0.015, 0.062, 0.032),
            "memgpt": (0.615, 0.005, 0.052, 0.010),
            "hipporag": (0.114, 0.003, 0.018, 0.015),
            "tsim_official": (0.665, 0.012, 0.084, 0.028),
        },
        "GPT-4o-mini": {
            "standard_rag": (0.050, 0.014, 0.053, 0.210),
            "hybrid_rrf": (0.087, 0.017, 0.018, 0.055),
            "raptor": (0.260, 0.089, 0.146, 0.407),
            "memgpt": (0.364, 0.094, 0.015, 0.033),
            "hipporag": (0.077, 0.025, 0.036, 0.073),
            "tsim_official": (0.635, 0.104, 0.084, 0.102),
        },
    },
)
# By length, which the main table leaves out.
FULL_CONTEXT = Printed(
    source="Table “Full Context sanity audit”, GPT-4o-mini",
    lines={
        16_000: Scores(0.625, 1.0, None, 29938, 4.32),
        32_000: Scores(0.578, 1.0, None, 60145, 4.57),
        64_000: Scores(0.417, 1.0, None, 86315, 10.03),
        128_000: Scores(0.298, 1.0, None, 88425, 14.61),
    },
)
# Each system's stage and scores.
ABLATION = Printed(
    source="Table “Main-module ablation under GPT-4o-mini”",
    lines={
        "standard_rag": ("L0", Scores(0.262, 0.056, 0.246, 968.4, 1.61)),
        "fixed_window:size=256": ("L1", Scores(0.434, 0.350, 0.416, 1269.2, 3.52)),
        "drift_window": ("L2", Scores(0.555, 0.522, 0.430, 1179.8, 3.62)),
        "tsim_official": ("L3", Scores(0.742, 0.743, 0.485, 1044.4, 3.56)),
    },
)
# All-evidence recall@5 by embedder.
RECALL = Printed(
    source="Tables “Exact-evidence reconstruction diagnostics” and “Retrieval-only embedding "
    "sensitivity”",
    lines={
        LARGE: {
            "tsim_official": 0.810,
            "fixed_window:size=128": 0.719,
            "fixed_window:size=256": 0.647,
            "fixed_window:size=320": 0.577,
            "standard_rag": 0.456,
        },
        SMALL: {"tsim_official": 0.649, "standard_rag": 0.408},
    },
)
TOGETHER = Printed(
    source="Table “Exact-evidence reconstruction diagnostics”, co-containment",
    lines={
        "tsim_official": 0.890,
        "fixed_window:size=128": 0.675,
        "fixed_window:size=256": 0.826,
        "fixed_window:size=320": 0.831,
        "standard_rag": 0.004,
    },
)
VIEWS = Printed(
    source="Evidence-episode hit rates, after Table “Exact-evidence reconstruction diagnostics”",
    lines={"raw": 0.638, "summary": 0.861, "cluster": 0.708},
)
# Interval of the difference in recall@5 of theta .66 to .70, on 600 questions.
THETA_GAP = Printed(
    source="Figure “Single-variable M1 threshold sensitivity”",
    lines={32_000: (-0.002, 0.042), 64_000: (-0.013, 0.035), 128_000: (-0.038, 0.023)},
)
COST = Printed(
    source="Table “Measured retrieval-side system accounting”",
    lines={
        "standard_rag": Cost(5554, 21.7, 1.056, 4.178, 21.478, 36.791),
        "tsim_official": Cost(6281, 24.5, 2.087, 24.986, 141.093, 159.978),
    },
)
_RIVALS = ("standard_rag", "hybrid_rrf", "raptor", "memgpt", "hipporag", "tsim_official")
# CL hit by stress label, on the 300 questions that people read.
STRESS = Printed(
    source="Table “Full stress-type method audit”, GPT-4o-mini",
    lines={
        label: dict(zip(_RIVALS, hits, strict=True))
        for label, hits in {
            "state_overwrite": (0.036, 0.082, 0.265, 0.566, 0.071, 0.760),
            "long_range_bridge": (0.058, 0.089, 0.299, 0.581, 0.086, 0.784),
            "constraint_trap": (0.057, 0.093, 0.297, 0.583, 0.087, 0.787),
        }.items()
    },
)
# Accuracy of TSIM by domain and backend.
DOMAINS = Printed(
    source="Table “Supplementary per-domain Accuracy for the 128k cross-backend comparison”",
    lines={
        domain: dict(zip(MAIN.lines, values, strict=True))
        for domain, values in {
            "CS-Software": (0.790, 0.853, 0.850),
            "Network-Hardware": (0.773, 0.930, 0.803),
            "Finance": (0.543, 0.670, 0.663),
            "Legal": (0.600, 0.790, 0.723),
            "Biomed": (0.747, 0.863, 0.770),
            "Engineering": (0.697, 0.793, 0.723),
            "Biz-Ops": (0.643, 0.720, 0.703),
            "Social-Personal": (0.680, 0.750, 0.663),
            "Game-Novel": (0.683, 0.833, 0.640),
            "Daily-Life": (0.807, 0.813, 0.837),
        }.items()
    },
)
# By prompt of Full Context, and TSIM; 100 questions without write-back.
PROMPTS = Printed(
    source="Table “Prompt-robust Full Context diagnostic”, GPT-4o-mini",
    lines={
        "full-vanilla.v1": Prompted(0.490, 98_339, 5.52),
        "chosen": Prompted(0.490, 98_298, 2.80),
        "tsim_official": Prompted(0.770, 1_389, 2.40),
    },
)
LONGMEMEVAL = Printed(
    source="Table “Targeted transductive diagnostic on LongMemEval-S cleaned V1”: 470 questions of "
    "the official LongMemEval-S with BGE-large, and an adaptation chosen on the same questions",
    lines={
        "tsim": Transferred("TSIM, adapted", 0.8404, 4723.5),
        "chunks": Transferred("BM25 over fixed chunks of 1,100, top 5", 0.6574, 4616.3),
        "turns": Transferred("turns by BGE-large, top 5", 0.7064, 340.8),
        "sessions": Transferred(
            "BM25 over sessions, top 5 (given the boundaries)", 0.7660, 13_086.5
        ),
    },
)
# Systems that go by another name in the paper's tables: windows of 128 tokens are our default.
_SAME = {"fixed_window": "fixed_window:size=128"}


def is_block(backend: str) -> bool:
    """Returns whether a backend is one of the paper's."""
    return any(_plain(backend).startswith(_plain(name)) for name in MAIN.lines)


def block_of(backend: str) -> str:
    """Names the paper's backend that a backend of ours is, or else the one we put beside it."""
    return next((n for n in MAIN.lines if _plain(backend).startswith(_plain(n))), DEFAULT)


def scores(system: str, backend: str, target: int | None) -> Scores | None:
    """Finds the paper's line for a system at a length, if it printed one."""
    if system == "full_context":
        return FULL_CONTEXT.lines.get(target or 0)
    return MAIN.lines[block_of(backend)].get(system) if target == TARGET else None


def recall(system: str, embedder: str, target: int | None) -> float | None:
    """Finds the paper's recall@5 for a system and an embedder's identity, if it printed one."""
    if target != TARGET:
        return None
    name = embedder.partition("@")[0]
    return RECALL.lines.get(name, {}).get(_SAME.get(system, system))


def together(system: str, target: int | None) -> float | None:
    """Finds the paper's co-containment for a system, with BGE-large, if it printed one."""
    return TOGETHER.lines.get(_SAME.get(system, system)) if target == TARGET else None


def view(system: str, name: str) -> float | None:
    """Finds the paper's hit rate of a view of its method, if it printed one."""
    return VIEWS.lines.get(name) if system == "tsim_official" else None


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "")
