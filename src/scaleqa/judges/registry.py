"""Finding judges by name, in the entry-point group `scaleqa.judges`."""

from scaleqa import plugins
from scaleqa.backends import ChatModel
from scaleqa.errors import DataError
from scaleqa.judges.exact import ExactJudge
from scaleqa.judges.letter import LetterJudge
from scaleqa.judges.model import ModelJudge
from scaleqa.judges.protocol import Judge

GROUP = "scaleqa.judges"


def judge_names() -> list[str]:
    """Returns the names of all registered judges."""
    return [*plugins.points(GROUP)]


def open_judge(name: str, model: ChatModel | None = None) -> Judge:
    """Opens a judge.

    Args:
        name: `letter`, `exact`, `judge`, or the name of an installed judge.
        model: A chat model, for judges that use one.

    Raises:
        DataError: There is no such judge, or it needs a model.
    """
    factory = plugins.load(GROUP, name, "judge")
    if not callable(factory):
        raise DataError(
            f"judge {name!r} is {factory!r}; expected a function of a chat model or None that "
            "returns a judge"
        )
    opened: Judge = factory(model)
    return opened


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
