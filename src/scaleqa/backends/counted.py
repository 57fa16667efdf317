"""A chat model that counts its calls."""

from collections.abc import Mapping, Sequence
from typing import Any

from scaleqa.backends.protocol import MOST_TOKENS, ChatModel, Function, Message, Reply


class Counted:
    """Forwards calls to another chat model and counts them.

    Attributes:
        identity: The identity of the other model.
        calls: Number of calls so far; may be reset by the caller.
        prompt_tokens: Prompt tokens of all calls, as the provider counted them.
        completion_tokens: Completion tokens of all calls.
    """

    def __init__(self, model: ChatModel) -> None:
        """Starts at zero."""
        self.identity = model.identity
        self.calls = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._model = model

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
        response_format: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Returns the next message of a chat."""
        self.calls += 1
        form = {"response_format": response_format} if response_format else {}
        reply = self._model.chat(messages, functions, most_tokens=most_tokens, **form)
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        return reply

    def close(self) -> None:
        """Does nothing: the other model belongs to the caller."""
