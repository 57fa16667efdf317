"""What stands beside a record: findings, shortcuts, near records, readers' answers."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaleqa.records.draw import seal_of
from scaleqa.records.duplicates import PARTS, Pair
from scaleqa.records.load import load_lines
from scaleqa.records.nearest import Nearest
from scaleqa.records.probes import Cue, embedding_cues, lexical_cues
from scaleqa.records.readings import Reading
from scaleqa.records.schema import Record
from scaleqa.records.validate import Finding, validate
from tsim.embed import Embedder

NEAREST = 2
BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """What a surface cue picks for one record.

    Attributes:
        cue: Its name.
        picks: The letters that it picks; several if they tie.
        right: Whether the correct one is among them.
    """

    cue: str
    picks: tuple[str, ...]
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A record that is similar, and how.

    Attributes:
        record: The other record.
        pairs: The measures by which it is among the nearest.
    """

    record: Record
    pairs: tuple[Pair, ...]

    @property
    def too_near(self) -> bool:
        """Whether the two are near-duplicates."""
        return any(pair.value >= pair.limit for pair in self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What stands beside one record.

    Attributes:
        critical: Findings that break the benchmark.
        warnings: Findings to be looked at.
        shortcuts: What surface cues pick.
        neighbours: The nearest records, the nearest first.
        readings: Readers' answers, each with whether the record has been changed since.
    """

    critical: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    shortcuts: tuple[Shortcut, ...]
    neighbours: tuple[Neighbour, ...]
    readings: tuple[tuple[Reading, bool], ...]


class Shelf:
    """What stands beside all records; computed once, looked up for each."""

    def __init__(
        self,
        records: Sequence[Record],
        *,
        embedder: Embedder | None = None,
        readings: Sequence[Reading] = (),
    ) -> None:
        """Computes what needs all records.

        Args:
            records: The records.
            embedder: Used for similarity of meaning; None compares words alone.
            readings: Readers' answers.
        """
        self._records = records
        self._by_id = {record.id: record for record in records}
        self._cues: list[Cue] = lexical_cues(records)
        if embedder is not None:
            self._cues += embedding_cues(records, embedder)
        self._nearest = Nearest(records, embedder)
        # A domain of one's own is what people are here to review, no mistake of its records.
        report = validate(records, declared={record.cell for record in records})
        self._critical = _by_record(report.critical)
        self._warnings = _by_record(report.warnings)
        self._readings: dict[str, list[Reading]] = defaultdict(list)
        for reading in readings:
            self._readings[reading.id].append(reading)

    def of(self, number: int) -> Beside:
        """Returns what stands beside a record.

        Args:
            number: Its place among the records.
        """
        record = self._records[number]
        seal = seal_of(record)
        return Beside(
            critical=tuple(self._critical[record.id]),
            warnings=tuple(self._warnings[record.id]),
            shortcuts=tuple(
                Shortcut(cue=cue.name, picks=picks, right=record.answer in picks)
                for cue in self._cues
                for picks in [tuple(cue.picks(number))]
            ),
            neighbours=self._neighbours(number),
            readings=tuple((one, one.seal != seal) for one in self._readings[record.id]),
        )

    def _neighbours(self, number: int) -> tuple[Neighbour, ...]:
        pairs: dict[str, list[Pair]] = defaultdict(list)
        for pair in self._nearest.of(number, NEAREST):
            pairs[pair.two].append(pair)
        found = [
            Neighbour(record=self._by_id[name], pairs=tuple(some)) for name, some in pairs.items()
        ]
        near = {one.record.id: max(p.value / p.limit for p in one.pairs) for one in found}
        return tuple(sorted(found, key=lambda one: (-near[one.record.id], one.record.id)))


def load_readings(files: Sequence[Path]) -> list[Reading]:
    """Reads readers' answers, in the form of `calibration.jsonl` or `track-readings.jsonl`.

    Raises:
        DataError: A line is not a reader's answer.
    """
    return load_lines(files, Reading)


def embed_all(
    records: Sequence[Record], embedder: Embedder, report: Callable[[int, int], None]
) -> None:
    """Embeds all texts that are compared, so that a cache has them.

    Args:
        records: The records.
        embedder: An embedder with a cache.
        report: Is told how many records are done, and of how many.
    """
    for start in range(0, len(records), BATCH):
        some = records[start : start + BATCH]
        texts = [text(record) for record in some for text in PARTS.values()]
        embedder.embed(
            [*texts, *(option for record in some for option in record.options.as_list())]
        )
        report(min(start + BATCH, len(records)), len(records))


def _by_record(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        for name in finding.where.split():
            found[name].append(finding)
    return found
