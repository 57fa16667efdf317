"""The summary view: a deterministic text that stands for a whole episode."""

from collections.abc import Iterable
from dataclasses import dataclass

from tsim.types import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySettings:
    """How the text is made.

    Attributes:
        characters: Length of the episode text that is kept.
        tag: The recency tag. It is relative to the moment of writing, when the episode is the
            newest closed one; a tag relative to "now" would change every vector with every turn.
    """

    characters: int = 1200
    tag: str = "recent"


def summarise(settings: SummarySettings, episode: int, turns: Iterable[Turn]) -> str:
    """Writes an episode's summary: recency tag, id, and the start of its text."""
    text = "\n".join(f"{turn.role}: {turn.text}" for turn in turns)
    return f"[{settings.tag}] episode {episode}\n{text[: settings.characters]}"
