"""The protocol of data sets.

A data set is one file with a `DataSetDeclaration`, given as `FILE.py:ATTRIBUTE` or registered in
the entry-point group `scaleqa.datasets`. It provides packages: a flat thread, its questions, the
evidence turns of each question, and how answers are graded (`Question.grader`). Fields that a data
set does not have (options, splits, stress labels, reasoning) are left at their defaults. Its origin
(name, hash of the file, number of questions left out) goes into `Package.settings`, for rows and
reports.
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
        """The name that users write."""
        ...

    def threads(self) -> list[Package]:
        """Returns the threads with their questions and evidence; the result is deterministic.

        Raises:
            DataError: The data cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetDeclaration(Generic[Options]):
    """The declaration of a data set.

    Attributes:
        name: The name that users write, and the name of its entry point.
        summary: A one-line description.
        options: The options class.
        make: Opens the data set.
        example: A working specification, for messages and documentation.
    """

    name: str
    summary: str
    options: type[Options]
    make: Callable[[Options], DataSet]
    example: str

    def open(self, options: Mapping[str, str]) -> DataSet:
        """Opens the data set.

        Raises:
            DataError: An option is unknown or its value is not allowed.
        """
        return self.make(read_options(self.options, options, of=self.name))

    def list_options(self) -> list[Option]:
        """Lists the options."""
        return list_options(self.options)
