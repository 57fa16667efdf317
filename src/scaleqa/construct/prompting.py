"""What is sent to a model: a versioned prompt, filled."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scaleqa.construct.tracks import Ask, Track
from scaleqa.prompts import Template, template

FOLDER = "construct"
AGAIN = "again.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt and the name of its template."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def prompt(ask: Ask, parts: Mapping[str, str], before: str, reasons: Sequence[str]) -> Prompt:
    """Fills a prompt.

    Args:
        ask: What is asked.
        parts: What it is filled with.
        before: The last reply to the same request; empty if there was none.
        reasons: Why it could not be used, if it could not.
    """
    text = _template(ask.template).fill(**parts)
    if before and reasons:
        listed = "\n".join(f"- {reason}" for reason in reasons)
        text += _template(AGAIN).fill(before=before, reasons=listed)
    return Prompt(name=ask.template, text=text)


def hashes(track: Track) -> dict[str, str]:
    """Returns the hashes of all prompts of a track, by name."""
    names = {ask.template for step in track.steps for ask in step.asks}
    return {name: _template(name).sha256 for name in sorted({*names, AGAIN})}


def _template(name: str) -> Template:
    return template(name, FOLDER)
