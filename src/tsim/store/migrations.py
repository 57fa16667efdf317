"""Steps of a schema: numbered SQL files, known by their hashes.

The hash of each SQL file is recorded when it is applied. A memory whose recorded hashes differ, or
that was written by a newer version, is rejected.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from tsim.errors import StoreError


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of a schema."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The hash of the SQL."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def shipped(package: str) -> list[Migration]:
    """Reads the steps in the folder `migrations` of a package, in order."""
    folder = resources.files(package) / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [Migration(int(f.name[:4]), f.name, f.read_text("utf-8")) for f in files]


def refuse_strangers(applied: dict[int, str], steps: Sequence[Migration]) -> None:
    """Checks that what was applied is known, and the same.

    Args:
        applied: The hashes of the steps that were applied, by number.
        steps: The steps of this version.

    Raises:
        StoreError: An applied step differs from the known one, or is unknown.
    """
    by_number = {step.number: step for step in steps}
    for number, sha256 in applied.items():
        if number not in by_number:
            raise StoreError(
                f"the memory has schema step {number}, this version knows {len(steps)}: it was "
                "written by a newer version; upgrade to open it"
            )
        if by_number[number].sha256 != sha256:
            raise StoreError(
                f"schema step {by_number[number].name} was applied with sha256 {sha256}, this "
                f"version has {by_number[number].sha256}: the versions have diverged; open the "
                "memory with the version that wrote it, export it there and import it here"
            )
