"""An agent of the OpenAI Agents SDK with a session that remembers all and shows what fits.

Runs offline: the model follows a script. `python examples/openai_agents_session.py`
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from talk import QUESTION, TALK

from tsim import Memory
from tsim.adapters.openai_agents import TsimSession

# The SDK sends traces of every run, with what was said, to OpenAI unless it is told not to.
set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"31 degrees in {city}"


class Scripted(Model):
    """Calls a tool when it is asked about the weather, and notes what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    async def get_response(
        self, system_instructions: str | None, input: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        """Answers the last item."""
        self.shown = input
        last = input[-1]
        if "weather" in str(last.get("content")):
            call = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call_{len(input)}",
                name="weather",
                arguments='{"city": "Lisbon"}',
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        said = ResponseOutputMessage(
            id="message",
            type="message",
            role="assistant",
            status="completed",
            content=[ResponseOutputText(type="output_text", text="Noted.", annotations=[])],
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Is not used here."""
        raise NotImplementedError


async def main() -> None:
    """Talks for a while, uses a tool, then asks about the beginning."""
    model = Scripted()
    agent = Agent(name="assistant", model=model, tools=[weather])
    with (
        tempfile.TemporaryDirectory() as place,
        Memory.open(Path(place) / "memory.db") as memory,
    ):
        session = TsimSession(memory.thread("alice"), budget=300)
        config = RunConfig(session_input_callback=session.recall)
        for said in [*TALK, "How is the weather?", QUESTION]:
            await Runner.run(agent, said, session=session, run_config=config)
        print(f"{len(memory.thread('alice'))} turns, {len(model.shown)} items shown")
        print(model.shown[0]["content"])
        print(*(item["type"] for item in model.shown if "call_id" in item))


if __name__ == "__main__":
    asyncio.run(main())
