"""The declaration of a judge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from scaleqa.backends import ChatModel
from scaleqa.errors import DataError
from scaleqa.judges.protocol import Judge
from scaleqa.options import Option, list_options, read_options

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeDeclaration(Generic[OptionsT]):
    """One kind of judge.

    Attributes:
        name: The name that users write, and the name of its entry point.
        summary: A one-line description.
        example: A working specification.
        options: The options class. That of a judge that asks a model has an option `model`.
        make: Opens the judge from options and, if it asks one, a chat model.
        asks: Whether it asks a language model.
    """

    name: str
    summary: str
    example: str
    options: type[OptionsT]
    make: Callable[[OptionsT, ChatModel | None], Judge]
    asks: bool = False

    def open(self, options: Mapping[str, str], model: ChatModel | None) -> Judge:
        """Opens the judge.

        Raises:
            DataError: An option is unknown or its value is not allowed, or a model is needed.
        """
        return self.make(read_options(self.options, options, of=self.name), model)

    def list_options(self) -> list[Option]:
        """Lists the options."""
        return list_options(self.options)


def required(model: ChatModel | None) -> ChatModel:
    """Returns the chat model of a judge that asks one.

    Raises:
        DataError: There is none.
    """
    if model is None:
        raise DataError(
            "these questions are graded by a language model, and none was given; name one with "
            "--judge openai:MODEL[@BASE_URL] or gguf:NAME (with `scaleqa judge`: --with)"
        )
    return model
