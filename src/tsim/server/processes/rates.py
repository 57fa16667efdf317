"""Token buckets of several processes, in a file that all of them map."""

import hashlib
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tsim import private

# Whose bucket it is, its tokens, and since when.
BUCKET = struct.Struct("=16sdd")
# A sender has one of these buckets in one of these groups. Where all of a group are taken, the
# least recently used one is dropped, and is full when it comes back.
WAYS, GROUPS = 8, 2_048
GROUP = WAYS * BUCKET.size


class SharedRates:
    """A bucket for each sender, whichever process it is taken from.

    Groups are locked by the system, which ends the lock of a process with the process, however it
    ends.
    """

    def __init__(
        self, path: Path, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Opens the file; who is first makes it, with full buckets.

        Args:
            path: The file, the same for all processes.
            rate: Tokens per second.
            burst: Tokens of a full bucket.
            clock: Returns the time in seconds, the same for all processes of this machine.
        """
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        # The system's locks are those of a process, not of its threads.
        self._guard = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, private.FILE)
        os.ftruncate(self._file, GROUPS * GROUP)
        self._map = mmap.mmap(self._file, GROUPS * GROUP)

    def take(self, sender: Hashable) -> bool:
        """Returns whether the sender may send a request now."""
        whose = _digest(sender)
        now = self._clock()
        with self._locked(whose) as start:
            place, tokens, since = self._find(whose, start, now)
            tokens = min(self._burst, tokens + (now - since) * self._rate)
            admitted = tokens >= 1
            BUCKET.pack_into(self._map, place, whose, tokens - admitted, now)
        return admitted

    def give_back(self, sender: Hashable) -> None:
        """Returns the token of a request that is not to count."""
        whose = _digest(sender)
        with self._locked(whose) as start:
            place, tokens, since = self._find(whose, start, self._clock())
            BUCKET.pack_into(self._map, place, whose, tokens + 1, since)

    def _find(self, whose: bytes, start: int, now: float) -> tuple[int, float, float]:
        """Returns where a bucket is, its tokens, and since when; a new one is full."""
        oldest, place = float("inf"), start
        for at in range(start, start + GROUP, BUCKET.size):
            owner, tokens, since = BUCKET.unpack_from(self._map, at)
            if owner == whose:
                return at, tokens, since
            if since < oldest:  # 0 if it is nobody's
                oldest, place = since, at
        return place, self._burst, now

    @contextmanager
    def _locked(self, whose: bytes) -> Iterator[int]:
        """Yields where the group of a sender begins, which nobody else changes meanwhile."""
        import fcntl  # not on every system

        start = int.from_bytes(whose[:4]) % GROUPS * GROUP
        with self._guard:
            fcntl.lockf(self._file, fcntl.LOCK_EX, GROUP, start)
            try:
                yield start
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, GROUP, start)


def _digest(sender: Hashable) -> bytes:
    return hashlib.blake2b(repr(sender).encode("utf-8", "replace"), digest_size=16).digest()
