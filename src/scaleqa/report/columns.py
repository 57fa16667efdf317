"""What sections of the report share."""

from collections.abc import Callable

from scaleqa.pages.forms import text
from scaleqa.pages.page import Block
from scaleqa.pages.table import Column

Colours = dict[str, str]
Blocks = tuple[Block, ...]


def system_column(colours: Colours, head: str = "system") -> Column:
    """The column that names systems, each with its colour."""
    return Column(key="system", head=head, form=text, swatches=colours)


def printed_below(key: str, form: Callable[[float], str]) -> Column:
    """What the paper printed, for the small print below a value."""
    return Column(key=f"paper_{key}", head="paper", form=lambda value: f"paper {form(value)}")
