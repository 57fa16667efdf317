"""Which colour a name has."""

import zlib
from collections.abc import Mapping

# Told apart by people with any kind of colour vision, on white and on near-black; names that are
# likely to meet in a figure are far apart.
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
    "#aa4499", "#44aa99", "#999933", "#cc6677", "#7a76c2", "#8c6d46",
)  # fmt: skip


def colours(declared: Mapping[str, str | None]) -> dict[str, str]:
    """Gives each name the colour that it declares, or else one that is still free."""
    found: dict[str, str] = {}
    for name in sorted(declared, key=lambda n: (declared[n] is None, n)):
        start = zlib.crc32(name.encode())
        order = [PALETTE[(start + step) % len(PALETTE)] for step in range(len(PALETTE))]
        free = [colour for colour in order if colour not in found.values()]
        found[name] = declared[name] or (free or order)[0]
    return found


def ink(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"
