"""Rows by what they may be compared with: the same questions, length, backend and prompt."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scaleqa.backends import is_stand_in
from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Row, iterate, row_files
from scaleqa.systems import ordered as ordered
from scaleqa.systems import rivals as rivals

# What is long and needed for few questions only; it is read again for those.
HEAVY = ("context", "raw", "rationale", "units")
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What systems must share to be compared.

    Attributes:
        target: Length of the threads in benchmark tokens; None where rows do not tell.
        backend: What answered.
        embedder: What embedded; None where rows do not tell.
        prompt: The prompt's name and hash.
        writeback: Whether exchanges became part of the thread.
        records: Hash of the records.
    """

    target: int | None
    backend: str
    embedder: str | None
    prompt: str
    writeback: bool
    records: str

    @property
    def length(self) -> str:
        """The target in words."""
        return length_name(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rows of one setting.

    Attributes:
        setting: What they share.
        rows: Each system's rows, in the order the questions were asked; systems in the order they
            are shown, the first being the one that others are compared with.
    """

    setting: Setting
    rows: dict[str, list[Row]]

    @property
    def systems(self) -> list[str]:
        """The systems, in the order they are shown."""
        return [*self.rows]

    @property
    def questions(self) -> int:
        """How many different questions were asked."""
        return len({row["id"] for rows in self.rows.values() for row in rows})

    @property
    def packages(self) -> list[str]:
        """Names of the packages."""
        return sorted({row["run"]["package"] for rows in self.rows.values() for row in rows})


def length_name(target: int | None) -> str:
    """Writes a length as users do."""
    if target is None:
        return "unknown length"
    if target == 0:
        return "evidence only"
    return f"{target / 1000:g}k" if target < 1_000_000 else f"{target / 1_000_000:g}M"


def setting_of(row: Row) -> Setting:
    """Tells a row's setting."""
    run = row["run"]
    return Setting(
        target=row.get("target"),
        backend=run["backend"],
        embedder=row.get("embedder"),
        prompt=run["prompt"],
        writeback=run["writeback"],
        records=run.get("records_sha256", ""),
    )


def key_of(row: Row) -> Key:
    """Names a row within its setting."""
    return row["run"]["system"], row["run"]["package"], row["id"]


def read_light(directory: Path) -> list[Row]:
    """Reads all rows without what is long, each with its place among its package's questions.

    Raises:
        DataError: There are no rows, or a file holds something else.
    """
    rows = []
    for file in row_files(directory):
        for place, row in enumerate(iterate(file)):
            rows.append(_light(_checked(row, file, directory), place))
    if not rows:
        raise DataError(f"{directory} holds no rows; make some with: scaleqa run")
    return rows


def read_whole(directory: Path, wanted: Callable[[Row], bool]) -> Iterator[Row]:
    """Reads some rows again, with everything."""
    for file in row_files(directory):
        for place, row in enumerate(iterate(file)):
            if wanted(row):
                yield {**row, "place": place}


def group(rows: Iterable[Row]) -> list[Group]:
    """Groups rows by setting: long threads first, models before the reader without one.

    Raises:
        DataError: A question has two rows of one system in one setting.
    """
    found: dict[Setting, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[Setting, Key]] = set()
    for row in rows:
        setting, key = setting_of(row), key_of(row)
        if (setting, key) in seen:
            raise DataError(
                f"{key[0]} has two rows for {key[2]} at {setting.length} with {setting.backend}; "
                "name a directory that holds one run of it"
            )
        seen.add((setting, key))
        found[setting][key[0]].append(row)
    return [
        Group(
            setting=setting,
            rows={name: _sorted(found[setting][name]) for name in ordered(found[setting])},
        )
        for setting in sorted(found, key=_rank)
    ]


def _checked(row: object, file: Path, directory: Path) -> Row:
    if isinstance(row, dict) and isinstance(row.get("run"), dict) and "hit" in row:
        return row
    place = directory / "rows"
    hint = f"try {place}" if place.is_dir() else "name the directory given to scaleqa run --out"
    raise DataError(f"{file} holds lines that are no rows of a run; {hint}")


def _light(row: Row, place: int) -> Row:
    light = {name: value for name, value in row.items() if name not in HEAVY}
    # A thread of thousands of turns may be shown whole, thousands of times.
    return {**light, "shown": array("I", row["shown"]), "place": place}


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["run"]["package"], row["place"]))


def _rank(setting: Setting) -> tuple[int, bool, str, str, str, bool, str]:
    return (
        -(setting.target if setting.target is not None else -1),
        is_stand_in(setting.backend),
        setting.backend,
        setting.embedder or "",
        setting.prompt,
        not setting.writeback,
        setting.records,
    )
