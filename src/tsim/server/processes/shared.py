"""What the processes of a server have in common."""

import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from tsim.server.processes.rates import SharedRates
from tsim.server.rates import Buckets, Rates


def _new_secret() -> bytes:
    return secrets.token_bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the processes of a server have in common; by default there is one.

    Attributes:
        processes: How many there are.
        directory: Where they count together; None if there is one alone.
        secret: What forms, receipts and confirmations are signed with; lives as long as the server.
    """

    processes: int = 1
    directory: Path | None = None
    secret: bytes = field(default_factory=_new_secret, repr=False)

    def secret_for(self, purpose: str) -> bytes:
        """Returns a secret of its own for each purpose, so that nothing signed serves another."""
        return hmac.digest(self.secret, purpose.encode(), "sha256")

    def rates(self, name: str, rate: float, burst: int) -> Buckets:
        """Returns buckets that hold for all processes together.

        Args:
            name: What is counted.
            rate: Tokens per second.
            burst: Tokens of a full bucket.
        """
        if self.directory is None:
            return Rates(rate, burst)
        return SharedRates(self.directory / f"{name}.rates", rate, burst)
