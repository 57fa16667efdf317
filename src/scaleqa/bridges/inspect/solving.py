"""The memory as a step of Inspect: it retrieves, and puts question and context into the prompt."""

from anyio import to_thread
from inspect_ai.solver import Generate, Solver, TaskState, solver

from scaleqa.bridges.inspect.memories import Memories
from scaleqa.bridges.inspect.samples import retrieved
from scaleqa.evaluate.grading import filled
from scaleqa.prompts import Template


@solver
def remember(memories: Memories, prompt: Template) -> Solver:
    """Replaces the question by the prompt with what the memory retrieves for it.

    Args:
        memories: The systems under test.
        prompt: The prompt.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        package, place = state.metadata["package"], state.metadata["place"]
        row, found = await to_thread.run_sync(memories.ask, package, place)
        state.user_prompt.text = filled(prompt, row, found.context)
        state.metadata |= retrieved(row) | {
            "context": found.context,
            "shown": sorted(found.shown),
            "may_abstain": prompt.offers_abstention,
        }
        return state

    return solve
