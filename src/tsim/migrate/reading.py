"""From the file of another memory to turns, what was left out, and what could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tsim.errors import InputError
from tsim.logs.reading import Problem
from tsim.migrate import chroma, langgraph, mem0
from tsim.migrate.source import columns, opened
from tsim.migrate.taking import Taking
from tsim.types import NewTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What another memory holds.

    Attributes:
        kind: Whose it is: `chroma`, `langgraph` or `mem0`.
        threads: The turns for each thread, in order.
        skipped: What is left out, counted by kind.
        problems: What could not be read.
    """

    kind: str
    threads: Mapping[str, tuple[NewTurn, ...]]
    skipped: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


KINDS = (chroma, langgraph, mem0)
# Tables of files that are not read, since reading them may run what is in them.
OTHERS = {
    "checkpoints": "; load checkpoints with LangGraph and add their messages",
    "points": "; of mem0 with Qdrant, use its history.db, or what get_all returns with tsim add",
}


def read_source(path: Path, *, thread: str | None = None) -> Migration:
    """Reads the memory of another program, which stays as it is.

    Args:
        path: The directory of a Chroma client or its `chroma.sqlite3`, the `history.db` of mem0, or
            the file of a LangGraph store. Its kind is recognised.
        thread: The thread that everything goes into, instead of one for each collection.

    Raises:
        InputError: It is none of these, or is damaged as a whole.
    """
    file = path / chroma.FILE if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{file} does not exist or is not a file; expected the directory of a Chroma client, "
            "mem0's history.db or the file of a LangGraph store"
        )
    with opened(file) as connection:
        kind = next(
            (
                one
                for one in KINDS
                if all(columns(connection, t) >= c for t, c in one.TABLES.items())
            ),
            None,
        )
        if kind is None:
            hints = (hint for table, hint in OTHERS.items() if columns(connection, table))
            raise InputError(
                f"{file} is a SQLite file, but neither of Chroma nor of mem0's history nor of a "
                f"LangGraph store{next(hints, '')}"
            )
        taking = Taking(thread)
        kind.read(connection, taking)
    return Migration(
        kind=kind.KIND,
        threads={name: tuple(taking.threads[name]) for name in sorted(taking.threads)},
        skipped={name: taking.skipped[name] for name in sorted(taking.skipped)},
        problems=tuple(taking.problems),
    )
