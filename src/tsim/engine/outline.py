"""What an engine knows about the shape of a thread, without its texts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """All turns of a thread, in order.

    Attributes:
        turns: Their ids.
        episodes: The episode that each was assigned to.
        times: When each was said, in seconds since the epoch; NaN if that is not known.
        confidences: The probability that a new topic begins with each, 1 for the first; None if
            the method does not estimate it.
        interleaved: Whether conversations are interleaved around each.
        cut: The probability from which an arriving turn begins an episode; None if the method cuts
            by another rule.
    """

    turns: npt.NDArray[np.int64]
    episodes: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    confidences: npt.NDArray[np.float64] | None
    interleaved: npt.NDArray[np.bool_]
    cut: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A turn that may reply to an earlier one.

    Attributes:
        turn: The turn.
        to: The turn that it may reply to.
        probability: How likely it does.
    """

    turn: int
    to: int
    probability: float
