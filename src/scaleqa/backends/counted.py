"""A chat model that counts how often it is asked."""

from collections.abc import Sequence

from scaleqa.backends.protocol import ChatModel, Function, Message, Reply


class Counted:
    """Passes everything on to another chat model.

    Attributes:
        identity: The other one's.
        calls: Calls so far; whoever reads it may set it back.
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
        most_tokens: int = 300,
    ) -> Reply:
        """Says what comes next."""
        self.calls += 1
        return self._model.chat(messages, functions, most_tokens=most_tokens)

    def close(self) -> None:
        """Leaves the other model open: it is not ours."""
