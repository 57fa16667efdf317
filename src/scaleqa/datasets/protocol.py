"""What a data set is.

A data set joins the benchmark with one file: a `DataSetDeclaration`, registered under the
entry-point group `scaleqa.datasets`. It gives packages: a flat thread, its questions, the evidence
turns of each, and how answers are graded (`Question.grader`). What it does not have (options,
splits, stress labels, reasoning) is left out of its questions. Where it came from (its name, the
hash of its file, what was left out) goes into `Package.settings`, so that rows and reports know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from scaleqa.options import Option, list_options, read_options
from scaleqa.packages import Package

Options = TypeVar("Options")


class DataSet(Protocol):
    """Threads with questions."""

    @property
    def name(self) -> str:
        """What users write."""
        ...

    def threads(self) -> list[Package]:
        """Returns the threads, each with its questions and their evidence; always the same ones.

        Raises:
            DataError: The data cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetDeclaration(Generic[Options]):
    """A data set as it is registered.

    Attributes:
        name: What users write; the name of its entry point.
        summary: What it is, in a line.
        options: The class of its options.
        make: Opens it.
        example: A specification that works, for messages and documentation.
    """

    name: str
    summary: str
    options: type[Options]
    make: Callable[[Options], DataSet]
    example: str

    def open(self, options: Mapping[str, str]) -> DataSet:
        """Opens the data set.

        Raises:
            DataError: An option is unknown or has a value that is not allowed.
        """
        return self.make(read_options(self.options, options, of=self.name))

    def list_options(self) -> list[Option]:
        """Lists its options."""
        return list_options(self.options)
