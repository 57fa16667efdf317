"""The protocols of answer backends and of chat models that systems can use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

MOST_TOKENS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question, the context retrieved for it, and the prompt built from both.

    Attributes:
        prompt: The prompt for a model.
        context: The retrieved context.
        question: The text of the question.
        options: The options by letter; None for a question without options.
        most_tokens: Maximum tokens of the reply.
    """

    prompt: str
    context: str
    question: str
    options: Mapping[str, str] | None
    most_tokens: int = MOST_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call requested by a model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply of a backend or a chat model.

    Attributes:
        text: The text; empty if the model only calls functions.
        calls: Function calls requested by the model.
        prompt_tokens: Prompt tokens as counted by the provider; 0 if unknown.
        completion_tokens: Completion tokens as counted by the provider.
        cached: Whether the reply came from the cache.
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
        """Model and settings; backends with equal identities share cached replies."""
        ...

    @property
    def stand_in(self) -> bool:
        """Whether it answers without a language model."""
        ...

    def reply(self, request: Request) -> Reply:
        """Answers one request.

        Raises:
            tsim.errors.RemoteError: The backend failed, after any retries.
        """
        ...

    def close(self) -> None:
        """Closes connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        content: The text.
        calls: Function calls requested by an assistant message.
        answers: The id of the call that a tool message answers.
    """

    role: str
    content: str
    calls: tuple[Call, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function that a model can call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class ChatModel(Protocol):
    """A language model that a system can use to summarise, extract or act."""

    @property
    def identity(self) -> str:
        """Model and settings."""
        ...

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Returns the next message of a chat, at temperature 0.

        Args:
            messages: The chat so far.
            functions: Functions that the model can call.
            most_tokens: Maximum tokens of the reply.
            response_format: The form of the reply, as in the API of OpenAI: any JSON object, or
                one that fits a schema. It is passed on only if it is given.

        Raises:
            tsim.errors.RemoteError: The model failed, after any retries.
        """
        ...

    def close(self) -> None:
        """Closes connections."""
        ...
