"""What an answer backend is, and what a chat model is that a system may use itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

MOST_TOKENS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question with what was retrieved for it, and the prompt made of both.

    Attributes:
        prompt: What a model is sent.
        context: What was retrieved.
        question: What was asked.
        options: The choices by letter; None for a question without choices.
        most_tokens: How long a reply may be.
    """

    prompt: str
    context: str
    question: str
    options: Mapping[str, str] | None
    most_tokens: int = MOST_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function that a model wants called."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back from a backend or a chat model.

    Attributes:
        text: As it is; empty where the model only calls functions.
        calls: Functions that the model wants called.
        prompt_tokens: Tokens the provider counted in, 0 where it does not say.
        completion_tokens: Tokens the provider counted out.
        cached: Whether it was answered before and nobody was asked.
    """

    text: str
    calls: tuple[Call, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False


class Backend(Protocol):
    """Answers requests."""

    @property
    def identity(self) -> str:
        """Names model and settings: equal identities may share cached replies."""
        ...

    @property
    def stand_in(self) -> bool:
        """Whether it answers without a language model."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        content: Its text.
        calls: What an assistant's message wants called.
        answers: The call that a tool's message answers.
    """

    role: str
    content: str
    calls: tuple[Call, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function a model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class ChatModel(Protocol):
    """A language model that a system may use for itself: to summarise, extract, or act."""

    @property
    def identity(self) -> str:
        """Names model and settings."""
        ...

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
    ) -> Reply:
        """Says what comes next, at temperature zero.

        Raises:
            tsim.errors.RemoteError: The model failed for good.
        """
        ...

    def close(self) -> None:
        """Lets go of connections."""
        ...
