"""Prompts: files with a version, named by their content in every result."""

import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from scaleqa.errors import DataError

PLACE = re.compile(r"\{(context|question|options|letters|gold|answer)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prompt with places such as `{context}`, `{question}` and `{options}`."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Names the prompt by its content."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def places(self) -> frozenset[str]:
        """The parts that it takes."""
        return frozenset(PLACE.findall(self.text))

    def fill(self, **parts: str) -> str:
        """Puts the parts in their places; braces inside the parts stay as they are."""
        return PLACE.sub(lambda place: parts[place[1]], self.text)


def template(name: str) -> Template:
    """Returns the prompt of that name, for instance `answer.v1`.

    Raises:
        DataError: There is none.
    """
    folder = resources.files(__name__)
    names = sorted(f.name.removesuffix(".txt") for f in folder.iterdir() if f.name.endswith(".txt"))
    if name not in names:
        raise DataError(f"no prompt {name!r}; there are {', '.join(names)}")
    return Template(name=name, text=folder.joinpath(f"{name}.txt").read_text("utf-8"))
