"""What a proxy is started with, beside what every server is."""

from dataclasses import dataclass

from tsim.arguments import positive
from tsim.assemble import CONTEXT_BUDGET
from tsim.errors import InputError
from tsim.http import public_url
from tsim.server.settings import Limits

RECENT = 10
SECONDS = 5.0
# Histories with images are large, models take their time, and so do the programs that read them.
LIMITS = Limits(body=64 << 20, bodies=512 << 20, send_seconds=300.0)

ROLES = ("user", "system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxied:
    """Which server is asked, and how much of a conversation it is shown.

    Attributes:
        upstream: The base URL of a server with the OpenAI chat API, up to and including `/v1`.
        budget: Maximum number of tokens of what is retrieved.
        recent: Messages that are kept at least.
        role: The role of the message with what is retrieved. As a user's it has no more authority
            than what users and tools said.
        seconds: How long a request waits for the memory before it is sent unchanged.
        field: Whether answers have what the memory did as a field, too.
    """

    upstream: str
    budget: int = CONTEXT_BUDGET
    recent: int = RECENT
    role: str = "user"
    seconds: float = SECONDS
    field: bool = False

    def __post_init__(self) -> None:
        public_url(self.upstream)
        positive(budget=self.budget, recent=self.recent)
        if self.role not in ROLES:
            raise InputError(f"role={self.role!r:.40} is unknown; expected {', '.join(ROLES)}")
        if not 0 < self.seconds < float("inf"):
            raise InputError(f"seconds={self.seconds!r} is no time to wait; expected more than 0")

    @property
    def shown(self) -> str:
        """The upstream without credentials."""
        return public_url(self.upstream)
