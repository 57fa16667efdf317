"""Secrets that need not be hashed again."""

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict


class Seen:
    """Secrets that were found to be right, as digests that mean nothing to other processes."""

    def __init__(self, most: int) -> None:
        """Begins without any; forgets the longest unused ones when there are more than `most`."""
        self._most = most
        self._salt = secrets.token_bytes(32)
        self._guard = threading.Lock()
        self._digests: OrderedDict[str, bytes] = OrderedDict()

    def knows(self, key: str, hashed: str, secret: str) -> bool:
        """Returns whether this was found to be the secret of a key, which has this hash."""
        digest = self._digest(hashed, secret)
        with self._guard:
            found = self._digests.get(key)
            if found is None or not hmac.compare_digest(found, digest):
                return False
            self._digests.move_to_end(key)
            return True

    def add(self, key: str, hashed: str, secret: str) -> None:
        """Remembers that this is the secret of a key."""
        digest = self._digest(hashed, secret)
        with self._guard:
            self._digests[key] = digest
            self._digests.move_to_end(key)
            while len(self._digests) > self._most:
                self._digests.popitem(last=False)

    def forget(self, key: str) -> None:
        """Forgets the secret of a key."""
        with self._guard:
            self._digests.pop(key, None)

    def __len__(self) -> int:
        return len(self._digests)

    def _digest(self, hashed: str, secret: str) -> bytes:
        # With the stored hash, so that a key that was exchanged in the file is checked again.
        text = f"{hashed}\0{secret}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._salt).digest()
