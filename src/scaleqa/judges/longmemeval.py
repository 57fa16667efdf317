"""LongMemEval's own judge: a prompt for each type of question, as its authors published them.

The prompts are files of the package and never edited. As in the authors' evaluation, a question
whose matter never came up has a prompt of its own, whatever its type, the model may say up to ten
tokens, and an answer is correct if "yes" is among them.
"""

from scaleqa.backends import ChatModel
from scaleqa.errors import DataError
from scaleqa.judges.declaration import JudgeDeclaration, required
from scaleqa.judges.model import ModelJudge, ModelOptions, Rubric
from scaleqa.judges.protocol import Task
from scaleqa.prompts import Template, template

FOLDER = "longmemeval"
GENERAL = "general.v1"
ABSTENTION = "abstention.v1"
# The prompt of each type of question.
TYPES = {
    "single-session-user": GENERAL,
    "single-session-assistant": GENERAL,
    "multi-session": GENERAL,
    "temporal-reasoning": "temporal-reasoning.v1",
    "knowledge-update": "knowledge-update.v1",
    "single-session-preference": "single-session-preference.v1",
}


def prompts() -> dict[str, Template]:
    """Returns the prompts by name."""
    return {name: template(name, FOLDER) for name in sorted({*TYPES.values(), ABSTENTION})}


def prompt_of(task: Task) -> str:
    """Returns the name of the prompt for a question.

    Raises:
        DataError: LongMemEval has no such type of question.
    """
    if task.absent:
        return ABSTENTION
    if task.kind not in TYPES:
        raise DataError(
            f"longmemeval grades questions of the types {', '.join(TYPES)}, and found one of type "
            f"{task.kind!r:.80}; choose another judge for other data sets"
        )
    return TYPES[task.kind]


def _make(options: ModelOptions, model: ChatModel | None) -> ModelJudge:
    known = prompts()

    def write(task: Task, answer: str) -> str:
        # Places are empty braces, which texts may hold as well.
        first, second, third, last = known[prompt_of(task)].text.split("{}")
        return f"{first}{task.question}{second}{task.gold}{third}{answer}{last}"

    rubric = Rubric(
        name="longmemeval/1",
        prompts=tuple(known.values()),
        write=write,
        right=lambda said: "yes" in said.lower(),
        forms=False,
    )
    return ModelJudge(rubric, required(model))


JUDGE = JudgeDeclaration(
    name="longmemeval",
    summary="A language model with LongMemEval's published prompts, by type of question.",
    example="longmemeval:model=openai:gpt-4o-2024-08-06",
    options=ModelOptions,
    make=_make,
    asks=True,
)
