"""What processes and files take."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
# Fields of /proc/PID/stat behind the name, which may contain anything.
PARENT = 1
GROUP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a program takes.

    Attributes:
        memory: The most bytes of RAM that its processes held; None where that is not known.
        disk: Bytes of its files.
    """

    memory: int | None
    disk: int


def peak_memory(group: int) -> int | None:
    """Returns the most bytes that the processes of a group held, added up; None if unknown.

    What they started in groups of its own, as servers do, belongs to them. Memory that processes
    share counts once for each.
    """
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    counted: set[int] = set()
    for directory in PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):  # it has ended, or is no Linux
            fields = (directory / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            pid = int(directory.name)
            parents[pid] = int(fields[PARENT])
            if int(fields[GROUP]) == group:
                counted.add(pid)
            rows = (directory / "status").read_text("utf-8", "replace").splitlines()
            peaks[pid] = sum(1024 * int(row.split()[1]) for row in rows if row.startswith("VmHWM:"))
    while fresh := {pid for pid, of in parents.items() if of in counted} - counted:
        counted |= fresh
    return sum(peaks.get(pid, 0) for pid in counted) or None


def disk(directory: Path) -> int:
    """Returns the bytes of all files below a directory, as they are on the disk."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):
            about = path.lstat()
            total += getattr(about, "st_blocks", about.st_size // 512) * 512
    return total
