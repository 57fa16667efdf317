"""What sections of the report share."""

import re
from collections.abc import Callable, Iterable

from scaleqa.pages.forms import text
from scaleqa.pages.page import Block
from scaleqa.pages.table import Column

# What identities of judges have for programs: hashes of prompts, and where a model is.
HASH, ADDRESS = re.compile(r"/[0-9a-f]{12}(?=/)"), re.compile(r"[@,].*")
Colours = dict[str, str]
Blocks = tuple[Block, ...]


def system_column(colours: Colours, head: str = "system") -> Column:
    """The column that names systems, each with its colour."""
    return Column(key="system", head=head, form=text, swatches=colours)


def judge_names(identities: Iterable[str]) -> dict[str, str]:
    """Names judges without hashes and addresses of models, where that tells them apart."""
    known = list(dict.fromkeys(identities))
    short = {one: ADDRESS.sub("", HASH.sub("", one)) for one in known}
    names = [*short.values()]
    return {one: name if names.count(name) == 1 else one for one, name in short.items()}


def printed_below(key: str, form: Callable[[float], str]) -> Column:
    """What the paper printed, for the small print below a value."""
    return Column(key=f"paper_{key}", head="paper", form=lambda value: f"paper {form(value)}")
