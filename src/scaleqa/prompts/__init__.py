"""Prompts: versioned files, whose hashes are recorded in every result."""

import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from scaleqa.errors import DataError

PLACE = re.compile(r"\{([a-z]+)\}")
# What a reader says, where the prompt offers it, if the matter never came up.
ABSTAIN = "NOT IN THIS CONVERSATION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prompt with placeholders such as `{context}`, `{question}` and `{options}`."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def places(self) -> frozenset[str]:
        """The names of the placeholders."""
        return frozenset(PLACE.findall(self.text))

    @property
    def offers_abstention(self) -> bool:
        """Whether a reader may say that the matter never came up."""
        return ABSTAIN in self.text

    def fill(self, **parts: str) -> str:
        """Replaces the placeholders; braces inside the values are left alone."""
        return PLACE.sub(lambda place: parts[place[1]], self.text)


def template(name: str, of: str = "") -> Template:
    """Returns the prompt with the given name, for example `answer.v1`.

    Args:
        name: The name, with the version.
        of: The folder of prompts for other purposes than answers and their judges.

    Raises:
        DataError: There is no such prompt.
    """
    folder = resources.files(__name__).joinpath(of)
    names = sorted(f.name.removesuffix(".txt") for f in folder.iterdir() if f.name.endswith(".txt"))
    if name not in names:
        raise DataError(f"no prompt {name!r}; there are {', '.join(names)}")
    return Template(name=name, text=folder.joinpath(f"{name}.txt").read_text("utf-8"))
