"""A small authored thread that shows what the project is about."""

from importlib import resources

from tsim import NewTurn
from tsim.turnfile import read_turns

QUESTION = "Which text classifier should I start the Halden reviews project with?"


def thread() -> list[NewTurn]:
    """Returns the turns of the sample thread."""
    data = resources.files(__name__).joinpath("thread.jsonl").read_bytes()
    return read_turns(data.splitlines(), "the sample thread")
