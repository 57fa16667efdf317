"""A chat model that counts its calls."""

from collections.abc import Sequence

from scaleqa.backends.protocol import MOST_TOKENS, ChatModel, Function, Message, Reply


class Counted:
    """Forwards calls to another chat model and counts them.

    Attributes:
        identity: The identity of the other model.
        calls: Number of calls so far; may be reset by the caller.
    """

    def __init__(self, model: ChatModel) -> None:
        """Starts at zero."""
        self.identity = model.identity
        self.calls = 0
        self._model = model

    def chat(
        self,
        messages: Sequence[Message],
        functions: Sequence[Function] = (),
        *,
        most_tokens: int = MOST_TOKENS,
    ) -> Reply:
        """Returns the next message of a chat."""
        self.calls += 1
        return self._model.chat(messages, functions, most_tokens=most_tokens)

    def close(self) -> None:
        """Does nothing: the other model belongs to the caller."""
