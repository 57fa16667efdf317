"""Tracks: what kind of questions a package asks, and about what kind of thread.

Figures of different tracks are never mixed. The name of a track follows from the settings of a
package, and from nothing else.
"""

from collections.abc import Mapping
from typing import Any

AS_WRITTEN = "as written"
# The parts of a track's name: what a setting must be for its part to apply.
PARTS: Mapping[str, tuple[str, object]] = {
    "other words": ("wording", "other"),
    "asides": ("asides", True),
    "friends": ("talk", "friends"),
    "assistant talk": ("talk", "assistant"),
    "long answers": ("talk", "answers"),
    "braided": ("mix", "braid"),
    "resumed": ("sequels", True),
    "absent": ("absent", True),
    "free": ("free", True),
}


def track_of(settings: Mapping[str, Any]) -> str | None:
    """Names the track of a package; parts that are combined are joined, as `asides, absent`.

    Args:
        settings: The settings of the package.

    Returns:
        The name; None for other data sets, which have no tracks.
    """
    if settings.get("dataset", "scaleqa") != "scaleqa":
        return None
    parts = [part for part, (name, value) in PARTS.items() if settings.get(name) == value]
    return ", ".join(parts) or AS_WRITTEN
