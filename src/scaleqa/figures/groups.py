"""Rows by what they may be compared with: the same questions, track, length, reader and prompt."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from scaleqa.errors import DataError
from scaleqa.evaluate.rows import Row
from scaleqa.figures.presence import track
from scaleqa.lengths import length_name
from scaleqa.packages import AS_WRITTEN
from scaleqa.systems import ordered

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What systems must share to be compared.

    Attributes:
        target: Length of the threads in benchmark tokens; None where rows do not say.
        track: The track of the questions; None for other data sets.
        backend: What answered; None for retrieval alone.
        embedder: What embedded; None where rows do not say.
        prompt: The prompt's name and hash; None for retrieval alone.
        writeback: Whether exchanges became part of the thread.
        records: Hash of the records; None where rows do not say.
        dataset: Name of the data set; None where rows do not say.
        stand_in: Whether no language model answered.
    """

    target: int | None
    track: str | None = None
    backend: str | None = None
    embedder: str | None = None
    prompt: str | None = None
    writeback: bool = False
    records: str | None = None
    dataset: str | None = None
    stand_in: bool = False

    @property
    def answers(self) -> bool:
        """Whether answers count as results: a language model gave them."""
        return self.backend is not None and not self.stand_in

    @property
    def printed(self) -> bool:
        """Whether the paper has figures about such questions: it knows no other track."""
        return self.track in (None, AS_WRITTEN)

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
        return len({row.id for rows in self.rows.values() for row in rows})

    @property
    def packages(self) -> list[str]:
        """Names of the packages."""
        return sorted({row.run.package for rows in self.rows.values() for row in rows})


def setting_of(row: Row) -> Setting:
    """Returns the setting of a row."""
    run, reader = row.run, row.run.reader
    return Setting(
        target=run.target,
        track=track(row),
        backend=reader.backend if reader else None,
        embedder=run.embedder,
        prompt=reader.prompt if reader else None,
        writeback=reader.writeback if reader else False,
        records=run.records_sha256,
        dataset=run.dataset,
        stand_in=reader.stand_in if reader else False,
    )


def key_of(row: Row) -> Key:
    """Names a row within its setting."""
    return row.run.system, row.run.package, row.id


def same_thread(row: Row, other: Row) -> None:
    """Refuses to compare what systems retrieved from different threads.

    Raises:
        DataError: The rows are known to be about different threads.
    """
    one, two = row.run, other.run
    known = one.package_sha256 and two.package_sha256
    if (one.package_sha256 != two.package_sha256) if known else (one.target != two.target):
        raise DataError(
            f"rows of {one.system} and {two.system} for {one.package} are about different threads; "
            "name a directory whose rows are about the same packages"
        )


def group(rows: Iterable[Row]) -> list[Group]:
    """Groups rows by setting: long threads first, questions as written before other tracks.

    Raises:
        DataError: A question has two rows of one system in one setting, or rows of one setting are
            about different threads.
    """
    found: dict[Setting, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[Setting, Key]] = set()
    threads: dict[tuple[Setting, str], Row] = {}
    for row in rows:
        setting, key = setting_of(row), key_of(row)
        if (setting, key) in seen:
            by = f" with {setting.backend}" if setting.backend else ""
            raise DataError(
                f"{key[0]} has two rows for {key[2]} at {setting.length}{by}; name a directory "
                "that holds one run of it"
            )
        seen.add((setting, key))
        found[setting][key[0]].append(row)
        same_thread(row, threads.setdefault((setting, row.run.package), row))
    return [
        Group(
            setting=setting,
            rows={name: _sorted(found[setting][name]) for name in ordered(found[setting])},
        )
        for setting in sorted(found, key=_rank)
    ]


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.run.package, row.place))


def _rank(setting: Setting) -> tuple[int, bool, str, bool, str, str, str, bool, str]:
    return (
        -(setting.target if setting.target is not None else -1),
        not setting.printed,
        setting.track or "",
        not setting.answers,
        setting.backend or "",
        setting.embedder or "",
        setting.prompt or "",
        not setting.writeback,
        setting.records or "",
    )
