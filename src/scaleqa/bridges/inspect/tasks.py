"""Data sets as tasks of Inspect: `inspect eval scaleqa/threads -T dataset=…`.

The memory under test is the `setup` of a task, so it also runs before solvers that users put in
place of a plain answer. Answers are not written back to the thread: Inspect runs samples at the
same time, draws, repeats and retries them, and each of these would change what is remembered.
"""

import hashlib
from collections.abc import Sequence

from inspect_ai import Task, task
from inspect_ai.model import GenerateConfig

from scaleqa import __version__
from scaleqa.backends import open_chat
from scaleqa.backends.protocol import MOST_TOKENS
from scaleqa.bridges.inspect.memories import Memories
from scaleqa.bridges.inspect.samples import sample_of
from scaleqa.bridges.inspect.scoring import answers, credited, hits
from scaleqa.bridges.inspect.solving import remember
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.evaluate.grading import check_prompt, chosen_template
from scaleqa.packages import Package
from scaleqa.systems import with_budget
from tsim.embed import open_embedder

EXAMPLE = "scaleqa:target=16k,subset=80"


@task
def threads(  # noqa: PLR0913  # the options of a task are its arguments
    dataset: str | list[str] = EXAMPLE,
    system: str | list[str] = "tsim",
    budget: int | None = None,
    sample: int | None = None,
    prompt: str | None = None,
    embedder: str | None = None,
    assist: str | None = None,
    seed: int = 0,
) -> Task:
    """Questions about long threads, answered from what a memory system retrieves.

    Args:
        dataset: A data set such as `scaleqa:target=16k,subset=80`, or a directory of packages.
        system: The memory system, with options as `name:key=value`.
        budget: Tokens of the context, for systems that can be limited.
        sample: Number of questions, drawn by the seed; smaller draws are part of larger ones.
        prompt: Name of the prompt; by default the one that fits the questions.
        embedder: Embedding model of the system.
        assist: Chat model for systems that use one, such as `openai:MODEL`.
        seed: Seed of the draw.
    """
    # Inspect makes a list of what has commas.
    named, asked = _joined(system), _joined(dataset)
    spec = with_budget(named, budget) if budget else named
    packages = open_threads(asked)
    template = chosen_template(prompt, packages)
    for package in packages:
        check_prompt(template, package)
    memories = Memories(
        packages,
        spec,
        open_embedder(embedder, cached=True),
        open_chat(assist) if assist else None,
    )
    chosen = _drawn(packages, sample, seed)
    return Task(
        dataset=[
            sample_of(package, place)
            for package in packages
            for place, question in enumerate(package.questions)
            if question.id in chosen
        ],
        setup=remember(memories, template),
        scorer=[answers(), *([credited()] if "options" in template.places else []), hits()],
        config=GenerateConfig(temperature=0.0, max_tokens=MOST_TOKENS),
        version=__version__,
        metadata={
            "dataset": asked,
            "system": spec,
            "embedder": memories.embedder.identity,
            "assist": memories.model.identity if memories.model else None,
            "prompt": f"{template.name}/{template.sha256[:12]}",
            "packages": {package.name: package.sha256 for package in packages},
        },
    )


def _joined(given: str | list[str]) -> str:
    return given if isinstance(given, str) else ",".join(map(str, given))


def _drawn(packages: Sequence[Package], count: int | None, seed: int) -> set[str]:
    """Draws questions; returns their ids.

    Raises:
        DataError: The number is none.
    """
    ids = [question.id for package in packages for question in package.questions]
    if count is None:
        return {*ids}
    if count < 1:
        raise DataError(f"sample is {count}; expected the number of questions, at least 1")
    return {*sorted(ids, key=lambda one: hashlib.sha256(f"{seed}:{one}".encode()).digest())[:count]}
