"""The paper's figures, to stand beside ours; per cent as printed.

Its records and noise are not ours, its embedder is BGE-large and its answers come from the models
named here, over 3,000 questions.
"""

from dataclasses import dataclass

EMBEDDER = "bge-large-en-v1.5"
TARGET = 128_000
MAIN_NAME = "Table “Cross-backend main comparison”, 3,000 questions at 128k, BGE-large"
AUDIT_NAME = "Table “Backend-output audit for the 128k main comparison”"
FULL_CONTEXT_NAME = "Table “Full Context sanity audit”, GPT-4o-mini"
DEFAULT = "GPT-4o-mini"


@dataclass(frozen=True, slots=True)
class Printed:
    """A line of the main table: per cent, cosine, tokens, seconds."""

    accuracy: float
    hit: float
    rationale: float | None
    tokens: float
    seconds: float


MAIN = {
    "Gemma2:9b": {
        "tsim_official": Printed(69.6, 70.7, 0.472, 1060.8, 4.20),
        "standard_rag": Printed(24.4, 7.7, 0.296, 929.5, 3.35),
        "hybrid_rrf": Printed(31.1, 11.2, 0.254, 1193.6, 4.00),
        "raptor": Printed(40.6, 35.3, 0.403, 790.5, 20.67),
        "memgpt": Printed(60.1, 62.6, 0.413, 2301.9, 3.88),
        "hipporag": Printed(25.2, 12.5, 0.380, 748.9, 6.51),
    },
    "Gemini 2.5 Flash": {
        "tsim_official": Printed(80.2, 67.9, 0.445, 1275.3, 1.46),
        "standard_rag": Printed(29.8, 7.6, 0.166, 912.6, 0.98),
        "hybrid_rrf": Printed(32.8, 11.2, 0.183, 1193.3, 1.20),
        "raptor": Printed(52.6, 34.8, 0.305, 790.0, 9.85),
        "memgpt": Printed(74.6, 62.3, 0.398, 2349.6, 1.19),
        "hipporag": Printed(34.4, 12.1, 0.245, 752.7, 3.10),
    },
    "GPT-4o-mini": {
        "tsim_official": Printed(73.8, 74.2, 0.485, 1043.6, 2.66),
        "standard_rag": Printed(27.1, 7.6, 0.238, 910.1, 1.72),
        "hybrid_rrf": Printed(31.1, 11.3, 0.203, 1193.5, 1.59),
        "raptor": Printed(43.0, 35.1, 0.419, 789.2, 11.59),
        "memgpt": Printed(50.2, 58.6, 0.298, 2238.4, 1.77),
        "hipporag": Printed(31.0, 11.9, 0.202, 753.7, 2.85),
        "tuned_hybrid": Printed(56.2, 63.5, 0.487, 3004.2, 11.91),
    },
}
# Hit-C, Hit-W, Miss-C, Miss-W.
AUDIT = {
    "Gemma2:9b": {
        "standard_rag": (5.2, 2.1, 10.6, 47.7),
        "hybrid_rrf": (8.4, 2.1, 9.5, 27.2),
        "raptor": (25.2, 10.0, 14.6, 47.0),
        "memgpt": (48.6, 14.0, 11.4, 25.9),
        "hipporag": (8.7, 3.7, 15.6, 68.4),
        "tsim_official": (58.2, 12.4, 11.3, 17.7),
    },
    "Gemini 2.5 Flash": {
        "standard_rag": (6.1, 0.2, 0.5, 0.3),
        "hybrid_rrf": (10.0, 0.2, 0.7, 0.6),
        "raptor": (32.1, 1.5, 6.2, 3.2),
        "memgpt": (61.5, 0.5, 5.2, 1.0),
        "hipporag": (11.4, 0.3, 1.8, 1.5),
        "tsim_official": (66.5, 1.2, 8.4, 2.8),
    },
    "GPT-4o-mini": {
        "standard_rag": (5.0, 1.4, 5.3, 21.0),
        "hybrid_rrf": (8.7, 1.7, 1.8, 5.5),
        "raptor": (26.0, 8.9, 14.6, 40.7),
        "memgpt": (36.4, 9.4, 1.5, 3.3),
        "hipporag": (7.7, 2.5, 3.6, 7.3),
        "tsim_official": (63.5, 10.4, 8.4, 10.2),
    },
}
# Full Context by length, which the main table leaves out.
FULL_CONTEXT = {
    16_000: Printed(62.5, 100.0, None, 29938, 4.32),
    32_000: Printed(57.8, 100.0, None, 60145, 4.57),
    64_000: Printed(41.7, 100.0, None, 86315, 10.03),
    128_000: Printed(29.8, 100.0, None, 88425, 14.61),
}


def is_block(backend: str) -> bool:
    """Tells whether a backend is one of the paper's."""
    return any(_plain(backend).startswith(_plain(name)) for name in MAIN)


def block_of(backend: str) -> str:
    """Names the paper's backend that a backend of ours is, or else the one we put beside it."""
    return next((n for n in MAIN if _plain(backend).startswith(_plain(n))), DEFAULT)


def printed(system: str, backend: str, target: int | None) -> Printed | None:
    """Finds the paper's line for a system at a length, if it printed one."""
    if system == "full_context":
        return FULL_CONTEXT.get(target or 0)
    return MAIN[block_of(backend)].get(system) if target == TARGET else None


def _plain(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "")
