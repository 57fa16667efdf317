"""An agent of Pydantic AI that remembers its runs and shows the model what fits the prompt.

Runs offline: the model is a function. `python examples/pydantic_ai_memory.py`
"""

import asyncio
import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from talk import QUESTION, TALK

from tsim import Memory
from tsim.adapters.pydantic_ai import TsimMemory


async def main() -> None:
    """Talks for a while, uses a tool, then asks about the beginning."""
    shown: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        shown[:] = messages
        if "weather" in str(messages[-1].parts[-1].content):
            return ModelResponse(parts=[ToolCallPart("weather", {"city": "Lisbon"})])
        return ModelResponse(parts=[TextPart("Noted.")])

    with (
        tempfile.TemporaryDirectory() as place,
        Memory.open(Path(place) / "memory.db") as memory,
    ):
        agent = Agent(
            FunctionModel(answer),
            capabilities=[TsimMemory(memory.thread("alice"), budget=400)],
        )

        @agent.tool_plain
        def weather(city: str) -> str:
            """Returns the weather of a city."""
            return f"31 degrees in {city}"

        for said in [*TALK, "How is the weather?", QUESTION]:
            await agent.run(said)
        print(f"{len(memory.thread('alice'))} turns, {len(shown)} messages shown")
        print(shown[0].parts[0].content)
        print(*(part.part_kind for one in shown for part in one.parts if "tool" in part.part_kind))


if __name__ == "__main__":
    asyncio.run(main())
