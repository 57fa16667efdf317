"""Where figures come from: the version that made them, the packages, the dates."""

from collections.abc import Iterable
from dataclasses import dataclass

from scaleqa import __version__
from scaleqa.evaluate.rows import Row

SHOWN = 6
DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where figures come from; what is not known is None or empty.

    Attributes:
        version: The version of scaleqa that made the rows; several are joined by commas.
        packages: Names of the packages, each with the sha256 of its content.
        first_date: When the first row was made, in ISO 8601.
        last_date: When the last one was.
    """

    version: str | None = None
    packages: tuple[tuple[str, str | None], ...] = ()
    first_date: str | None = None
    last_date: str | None = None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What a page says about it."""
        facts = [
            ("Measured with", f"scaleqa {self.version}" if self.version else "the rows do not say"),
            ("Page written by", f"scaleqa {__version__}"),
        ]
        if self.packages:
            shown = ", ".join(_named(*package) for package in self.packages[:SHOWN])
            more = ", …" if len(self.packages) > SHOWN else ""
            facts.append(("Packages", f"{len(self.packages)}: {shown}{more}"))
        if self.first_date:
            last = self.last_date or self.first_date
            both = self.first_date if last == self.first_date else f"{self.first_date} to {last}"
            facts.append(("Dates", both))
        return tuple(facts)


def provenance_of(rows: Iterable[Row]) -> Provenance:
    """Gathers what rows say about how they were made."""
    packages: dict[str, str | None] = {}
    versions, dates = set(), set()
    for row in rows:
        packages[row.run.package] = row.run.package_sha256
        versions |= {row.run.scaleqa} if row.run.scaleqa else set()
        dates |= {row.timing.date} if row.timing.date else set()
    return Provenance(
        version=", ".join(sorted(versions)) or None,
        packages=tuple(sorted(packages.items())),
        first_date=min(dates, default=None),
        last_date=max(dates, default=None),
    )


def _named(name: str, sha256: str | None) -> str:
    return f"{name} (sha256 {sha256[:DIGITS]}…)" if sha256 else name
