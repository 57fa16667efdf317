"""Processes that others have started, by what the kernel says."""

import ipaddress
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def words(pid: int) -> str:
    """What a process was started as; empty if it has ended."""
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def peers(pids: list[int]) -> set[str]:
    """The addresses that processes listen at or are connected with, over IP."""
    inodes = set()
    for pid in pids:
        with suppress(OSError):  # it has ended meanwhile
            for link in (Path("/proc") / str(pid) / "fd").iterdir():
                inodes.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
    found = set()
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        for line in (Path("/proc/net") / kind).read_text().splitlines()[1:]:
            _, local, remote, *_, inode = line.split()[:10]
            if inode in inodes:
                found |= {_address(end) for end in (local, remote) if not end.endswith(":0000")}
    return found


def _address(text: str) -> str:
    """An address as the kernel lists it: words of four bytes in the order of the machine."""
    digits = bytes.fromhex(text.partition(":")[0])
    words_ = [digits[start : start + 4][::-1] for start in range(0, len(digits), 4)]
    found = ipaddress.ip_address(b"".join(words_))
    return str(getattr(found, "ipv4_mapped", None) or found)


def wait_for(true: Callable[[], object], seconds: float = 90) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def kill(pid: int) -> None:
    """Ends a process without a last word."""
    os.kill(pid, signal.SIGKILL)
