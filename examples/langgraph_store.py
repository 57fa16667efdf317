"""A graph of LangGraph with a long-term memory and a chat history that chooses by meaning.

Runs offline: the model is one that LangChain ships for tests. `python examples/langgraph_store.py`
"""

import os
import tempfile
from pathlib import Path

# LangSmith receives every run if a project switches it on; this keeps an inherited switch off.
os.environ["LANGSMITH_TRACING"] = "false"

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from talk import QUESTION, TALK

from tsim import Memory
from tsim.adapters.langchain import TsimChatHistory
from tsim.adapters.langgraph import TsimStore


def main() -> None:
    """Puts facts about a user into the store, talks, and asks about the beginning."""
    seen: list[list[BaseMessage]] = []
    model = GenericFakeChatModel(messages=(AIMessage("Noted.") for _ in range(99)))
    with (
        tempfile.TemporaryDirectory() as place,
        Memory.open(Path(place) / "memory.db") as memory,
    ):
        history = TsimChatHistory(memory.thread("alice"), budget=300)

        def respond(state: MessagesState, *, store: BaseStore) -> dict[str, list[BaseMessage]]:
            question = state["messages"][-1]
            facts = store.search(("users", "alice"), query=question.text, limit=2)
            known = "\n".join(item.value["text"] for item in facts)
            instructions = [("system", f"What is known about the user:\n{known}")]
            shown = [*history.messages_for(question.text), question]
            seen.append(shown)
            reply = model.invoke([*instructions, *shown])
            history.add_messages([question, reply])
            return {"messages": [reply]}

        builder = StateGraph(MessagesState)
        builder.add_node("respond", respond)
        builder.add_edge(START, "respond")
        store = TsimStore(memory)
        graph = builder.compile(store=store)
        store.put(("users", "alice"), "city", {"text": "Alice lives in Lisbon."})
        store.put(("users", "alice"), "diet", {"text": "Alice eats no meat."})
        store.put(("users", "alice"), "city", {"text": "Alice lives in Porto."})
        for said in [*TALK, QUESTION]:
            graph.invoke({"messages": [("user", said)]})
        found = store.search(("users",), query="Where does Alice live?", limit=1)
        print(found[0].value["text"])
        print(f"{len(history.messages)} latest messages; before them:\n{seen[-1][0].text}")


if __name__ == "__main__":
    main()
