"""All runs of a thread as columns."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tsim.index import Ranges
from tsim.rank import Values
from tsim.vectors import Vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunTable:
    """All runs of a thread: the closed ones in the order they were added, then the open ones.

    Attributes:
        ranges: Their places.
        opens: Confidence of a new topic before it.
        closes: Confidence of a new topic after it.
        words: Its number of words.
        length: The logarithm of this number.
        open_vectors: The vectors of the open ones: means of their turns' vectors.
        tells: The share of its words by speakers in the first person: the mean of their logarithms.
        excess: The logarithm of the length of the long turn that it is a part of, relative to the
            shortest long turn; 0 if it consists of whole turns.
    """

    ranges: Ranges
    opens: Values
    closes: Values
    words: Values
    length: Values
    open_vectors: Vectors
    tells: Values
    excess: Values

    @property
    def begins(self) -> npt.NDArray[np.int64]:
        """The first place of each."""
        return self.ranges.begins

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """The place after its last."""
        return self.ranges.ends
