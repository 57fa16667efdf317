"""Finding judges by name, in the entry-point group `scaleqa.judges`."""

import difflib
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from scaleqa.backends import ChatModel
from scaleqa.errors import DataError
from scaleqa.judges.exact import ExactJudge
from scaleqa.judges.letter import LetterJudge
from scaleqa.judges.model import ModelJudge
from scaleqa.judges.protocol import Judge

GROUP = "scaleqa.judges"
Factory = Callable[[ChatModel | None], Judge]


def judge_names() -> list[str]:
    """Returns the names of all registered judges."""
    return sorted(_points())


def open_judge(name: str, model: ChatModel | None = None) -> Judge:
    """Opens a judge.

    Args:
        name: `letter`, `exact`, `judge`, or the name of an installed judge.
        model: A chat model, for judges that use one.

    Raises:
        DataError: There is no such judge, or it needs a model.
    """
    points = _points()
    if name not in points:
        near = difflib.get_close_matches(name, points, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise DataError(f"no judge {name!r}{hint} (there are {', '.join(sorted(points))})")
    factory: Factory = points[name].load()
    return factory(model)


def letter(model: ChatModel | None) -> LetterJudge:
    """Opens the judge for multiple choice."""
    return LetterJudge()


def exact(model: ChatModel | None) -> ExactJudge:
    """Opens the judge that compares texts."""
    return ExactJudge()


def judge(model: ChatModel | None) -> ModelJudge:
    """Opens the judge that uses a chat model.

    Raises:
        DataError: No model was given.
    """
    if model is None:
        raise DataError(
            "these questions are graded by a language model, and none was given; name one with "
            "--judge openai:MODEL[@BASE_URL] or gguf:NAME"
        )
    return ModelJudge(model)


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
