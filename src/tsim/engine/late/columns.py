"""What the features of runs and turns are computed from: one value per candidate.

The names are those of `tsim.rank.fitted`. A column that is 0 everywhere is left out.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tsim.engine.late.following import follow
from tsim.engine.late.index import ThreadIndex
from tsim.engine.late.relevance import TINY, Asked
from tsim.engine.late.runs import RunTable
from tsim.rank import SpanSettings
from tsim.rank.fitted import Columns
from tsim.vectors import Vector

Number = TypeVar("Number", np.float32, np.float64)


def run_columns(index: ThreadIndex, asked: Asked, table: RunTable, cosines: Vector) -> Columns:
    """Returns the columns of runs.

    Args:
        index: The thread.
        asked: The scores of every turn for the question.
        table: The runs.
        cosines: The cosine of each run with the question.
    """
    return {
        "run": np.ones(len(cosines), dtype=np.float32),
        "cosine": cosines,
        # The share of the question's word weight that it contains.
        "words": index.postings.run_coverage(asked.weights, table.ranges),
        # The highest combined score of its turns, relative to the best of the thread.
        "best turn's score": table.ranges.highest(relative(asked.relevant)),
        "length": table.length,
        "new topic before": table.opens,
        "new topic after": table.closes,
        "tells": table.tells,
        "excess length": table.excess,
    }


def turn_columns(
    span: SpanSettings,
    index: ThreadIndex,
    asked: Asked,
    highest: Vector,
    interleaved: npt.NDArray[np.bool_],
) -> Columns:
    """Returns the columns of turns.

    Args:
        span: Constants of values and lengths.
        index: The thread.
        asked: The scores of every turn for the question.
        highest: The highest cosine among each turn and the runs that contain it.
        interleaved: Which turns are in interleaved stretches: they inherit along their
            conversation, and runs are not candidates there.
    """
    similar, words = asked.similar, asked.words
    inherited = follow(span, index, asked)
    inherited = relative(np.divide(inherited, index.long(), out=inherited))
    columns: dict[str, npt.NDArray[np.floating]] = {
        "cosine": similar,
        "cosine before": np.concatenate([similar[:1], similar[:-1]]),
        "run above turn": highest - similar,
        "words": words,
        "words beside": _beside(words),
        # Cosine and words combined, relative to the best of the thread.
        "own score": relative(asked.own),
        # The value by combined score and inheritance, relative to the best of the thread.
        "inherited": inherited,
        "inherited²": inherited**2,
        **index.columns(),
    }
    if interleaved.any():
        lane = np.where(interleaved, inherited, 0.0)
        columns |= {
            "interleaved inherited": lane,
            "interleaved inherited²": lane**2,
            "interleaved words": np.where(interleaved, words, 0.0),
        }
    if asked.resumed is not None and asked.resumed.values.any():
        columns["resumes"] = asked.resumed.values
    if asked.naming.speaker is not None:
        named = index.speakers.numbers == asked.naming.speaker
        columns["named speaker"] = named * asked.naming.certainty
    return columns


def relative(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Returns values relative to the highest; negative ones become 0."""
    positive = np.maximum(values, 0)
    positive /= max(float(positive.max()), TINY)
    return positive


def _beside(values: Vector) -> Vector:
    """Returns the higher one of the values before and after each."""
    out = np.zeros_like(values)
    out[:-1] = values[1:]
    np.maximum(out[1:], values[:-1], out=out[1:])
    return out
