"""Finding judges by name, in the entry-point group `scaleqa.judges`."""

from collections.abc import Callable
from typing import Any

from scaleqa import plugins
from scaleqa.backends import ChatModel
from scaleqa.errors import DataError
from scaleqa.judges.declaration import JudgeDeclaration
from scaleqa.judges.protocol import Judge
from scaleqa.specs import Spec

GROUP = "scaleqa.judges"
# The option of judges that ask a model.
MODEL = "model"


def judge_names() -> list[str]:
    """Returns the names of all registered judges."""
    return [*plugins.points(GROUP)]


def judges() -> list[JudgeDeclaration[Any]]:
    """Returns all registered judges, ordered by name.

    Raises:
        DataError: One of them cannot be loaded.
    """
    return [find_judge(name) for name in judge_names()]


def find_judge(name: str) -> JudgeDeclaration[Any]:
    """Returns the judge with the given name, or from `FILE.py:ATTRIBUTE`.

    Raises:
        DataError: There is no such judge, or it cannot be loaded.
    """
    found = plugins.load(GROUP, name, "judge")
    if not isinstance(found, JudgeDeclaration):
        raise DataError(f"judge {name!r} is {found!r}; expected a JudgeDeclaration")
    return found


def open_judge(
    spec: str,
    model: ChatModel | None = None,
    *,
    chat: Callable[[str], ChatModel] | None = None,
) -> Judge:
    """Opens a judge from `name` or `name:key=value,key=value`.

    Args:
        spec: The judge and its options.
        model: The chat model of a judge that asks one and names none.
        chat: Opens the model that a judge names.

    Raises:
        DataError: There is no such judge, an option is invalid, or it needs a model.
    """
    parsed = Spec.parse(spec)
    declared = find_judge(parsed.name)
    named = parsed.options.get(MODEL) if declared.asks else None
    if named and chat is None:
        raise DataError(
            f"{spec!r} names its own model, which is possible with: scaleqa judge; elsewhere the "
            "model is given by --judge"
        )
    return declared.open(parsed.options, chat(named) if named and chat else model)
