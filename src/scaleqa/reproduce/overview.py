"""Pure: all tables of the paper on one page, put together from their pages and what we say to them.

The pages are those that `scaleqa reproduce` wrote. What we say is a file of Markdown: its head
opens the page, a section named like a table goes below that table, and any other section follows.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from scaleqa.errors import DataError

REMARKS = "remarks.md"
# The paper's tables, in the order in which a reader wants them.
ORDER = (
    "main", "ablation", "stress", "episodes", "views", "theta", "embedders", "scaling", "cost",
    "prompts",
)  # fmt: skip
GENERATED = "This page is generated: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """What the overview takes from a page.

    Attributes:
        title: Its title.
        command: How it was made, in backticks.
        about: What was asked about what.
        tables: Its tables with their titles, one level deeper.
    """

    title: str
    command: str
    about: str
    tables: str


def overview(pages: Mapping[str, str], remarks: str, folder: str, command: str) -> str:
    """Puts the page together.

    Args:
        pages: The Markdown of tables, by name; those that are missing are left out.
        remarks: What we say.
        folder: Where the pages are, as a link from this page.
        command: How a user gets the same.

    Raises:
        DataError: There is no page, or a page or a section is not what it should be.
    """
    found = {name: _extract(name, pages[name]) for name in ORDER if name in pages}
    if not found:
        raise DataError(f"there is no page of a table; expected some of {', '.join(ORDER)}.md")
    head, said = _sections(_moved(remarks, folder))
    silent = [name for name in found if name not in said]
    if silent:
        raise DataError(f"{REMARKS} says nothing about {', '.join(silent)}; add a section ## NAME")
    out = [head.strip(), "", f"{GENERATED}`{command}`."]
    for name, one in found.items():
        out += ["", f"## {one.title}", "", one.about, "", one.tables, ""]
        out += [said.pop(name), "", f"[More]({folder}/{name}.md), made by {one.command}."]
    for title, text in said.items():
        out += ["", f"## {title}", "", text]
    return "\n".join(out) + "\n"


def _sections(remarks: str) -> tuple[str, dict[str, str]]:
    head, *parts = re.split(r"^## ", remarks, flags=re.M)
    found = {}
    for part in parts:
        title, _, text = part.partition("\n")
        found[title.strip()] = text.strip()
    return head, found


def _moved(text: str, folder: str) -> str:
    """Lets links that lead somewhere from the folder of the pages lead there from this page."""

    def move(link: re.Match[str]) -> str:
        target = link[1] if "://" in link[1] else posixpath.normpath(f"{folder}/{link[1]}")
        return f"]({target}"

    return re.sub(r"\]\(([^)#\s]+)", move, text)


def _extract(name: str, text: str) -> Extract:
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith("|")]
    if not at or not lines[0].startswith("# "):
        raise DataError(f"{name}.md has no title or no table; make it with: scaleqa reproduce")
    first = at[0]
    while lines[first - 1].startswith("#") or not lines[first - 1]:
        first -= 1
    before = [line for line in lines[1:first] if line]
    (command,) = (line.removeprefix(GENERATED)[:-1] for line in before if GENERATED in line)
    # Tables are not parted by drawings or notes: those follow.
    body = [f"#{line}" if line.startswith("#") else line for line in lines[first : at[-1] + 1]]
    return Extract(
        title=lines[0].removeprefix("# "),
        command=command,
        about=before[-1],
        tables="\n".join(body).strip(),
    )
