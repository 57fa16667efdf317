"""The summary view: a deterministic text that represents an episode."""

from collections.abc import Iterable
from dataclasses import dataclass

from tsim.types import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySettings:
    """Constants of the summary text.

    Attributes:
        characters: Number of characters of the episode text to keep.
        tag: The recency tag. It refers to the time of writing, when the episode is the newest
            closed one; a tag relative to "now" would change every vector with every turn.
    """

    characters: int = 1200
    tag: str = "recent"


def summarise(settings: SummarySettings, episode: int, turns: Iterable[Turn]) -> str:
    """Returns an episode's summary: recency tag, id, and the start of its text."""
    text = "\n".join(f"{turn.role}: {turn.text}" for turn in turns)
    return f"[{settings.tag}] episode {episode}\n{text[: settings.characters]}"
