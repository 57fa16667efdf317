"""What an answer backend is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question with what was retrieved for it, and the prompt made of both."""

    prompt: str
    context: str
    question: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back.

    Attributes:
        text: As it is.
        prompt_tokens: Tokens the provider counted in, 0 where it does not tell.
        completion_tokens: Tokens the provider counted out.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Backend(Protocol):
    """Answers requests."""

    @property
    def identity(self) -> str:
        """Names model and settings: equal identities may share cached replies."""
        ...

    def reply(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            tsim.errors.RemoteError: The backend failed for good.
        """
        ...

    def close(self) -> None:
        """Lets go of connections."""
        ...
