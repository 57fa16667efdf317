"""A chat loop over plain messages, as the APIs of OpenAI and Anthropic take them.

Runs offline: `answer` stands for the call of a model. `python examples/chat_messages.py`
"""

import tempfile
from pathlib import Path

from talk import QUESTION, TALK

from tsim import Memory
from tsim.adapters.messages import Chat, Message


def answer(messages: list[Message]) -> str:
    """Stands for a model: `client.chat.completions.create(model=…, messages=messages)`."""
    memory = messages[0]["content"] if messages[0]["role"] == "system" else ""
    return "One consumer GPU, as you said." if "consumer GPU" in memory else "Noted."


def main() -> None:
    """Talks for a while, then asks about the beginning."""
    with (
        tempfile.TemporaryDirectory() as place,
        Memory.open(Path(place) / "memory.db") as memory,
    ):
        chat = Chat(memory.thread("alice"), budget=300)
        for said in [*TALK, QUESTION]:
            question = {"role": "user", "content": said}
            messages = [*chat.messages_for(said), question]
            reply = answer(messages)
            chat.remember([question, {"role": "assistant", "content": reply}])
        print(f"{len(memory.thread('alice'))} turns, {len(messages)} messages shown: {reply}")


if __name__ == "__main__":
    main()
