"""Which colour a name has."""

import zlib
from collections.abc import Iterable

# Told apart by people with any kind of colour vision, on white and on near-black; names that are
# likely to meet in a figure are far apart.
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#aa4499", "#44aa99", "#999933", "#cc6677", "#7a76c2", "#8c6d46",
)  # fmt: skip
KNOWN = {
    "tsim_official": "#0072b2",
    "tsim": "#56b4e9",
    "standard_rag": "#d55e00",
    "hybrid_rrf": "#e69f00",
    "tuned_hybrid": "#8c6d46",
    "fixed_window": "#009e73",
    "raptor": "#cc79a7",
    "memgpt": "#aa4499",
    "hipporag": "#44aa99",
    "full_context": "#999933",
    "oracle": "#7d8590",
    "zero_shot": "#a8adb4",
}


def colours(names: Iterable[str]) -> dict[str, str]:
    """Gives each name a colour: a known name always the same, others one that is still free."""
    found: dict[str, str] = {}
    for name in sorted(names, key=lambda n: (n not in KNOWN, n)):
        start = zlib.crc32(name.encode())
        order = [PALETTE[(start + step) % len(PALETTE)] for step in range(len(PALETTE))]
        free = [colour for colour in order if colour not in found.values()]
        found[name] = KNOWN.get(name) or (free or order)[0]
    return found


def ink(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"
