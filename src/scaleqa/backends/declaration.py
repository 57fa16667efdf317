"""The declaration of a backend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from scaleqa.backends.limit import Pace
from scaleqa.backends.protocol import Backend
from scaleqa.backends.stop import Stop
from scaleqa.errors import DataError
from scaleqa.options import Option, list_options, read_options
from scaleqa.specs import Spec

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How backends are reached.

    Attributes:
        key_variable: The environment variable with the API key. By default it is OPENAI_API_KEY,
            and the key is sent to https addresses only.
        limiter: A rate limiter, shared by all servers.
        cached: Whether replies are cached on disk.
        stop: Ends waiting, and asks nothing more, once it is set.
    """

    key_variable: str | None = None
    limiter: Pace | None = None
    cached: bool = True
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendDeclaration(Generic[OptionsT]):
    """One kind of backend.

    Attributes:
        name: The name that users write, and the name of its entry point.
        summary: A one-line description.
        example: A working specification.
        options: The options class.
        make: Opens the backend from a subject, options and access.
        subject: What users write after the name, such as `MODEL`; empty if nothing follows.
        chats: Whether it is also a chat model that systems can use.
        stand_in: Whether it answers without a language model.
        caches: Whether replies to the same request are kept: those of a model are, not a person's.
    """

    name: str
    summary: str
    example: str
    options: type[OptionsT]
    make: Callable[[str, OptionsT, Access], Backend]
    subject: str = ""
    chats: bool = False
    stand_in: bool = False
    caches: bool = True

    @property
    def form(self) -> str:
        """How a specification is written, without options."""
        return f"{self.name}:{self.subject}" if self.subject else self.name

    def open(self, spec: Spec, access: Access) -> Backend:
        """Opens the backend of a specification.

        Raises:
            DataError: The subject is missing or not expected, or an option is invalid.
        """
        if bool(spec.subject) is not bool(self.subject):
            raise DataError(f"no backend {str(spec)!r}; write {self.form}, such as {self.example}")
        options = read_options(self.options, spec.options, of=self.name)
        return self.make(spec.subject, options, access)

    def list_options(self) -> list[Option]:
        """Lists the options."""
        return list_options(self.options)
