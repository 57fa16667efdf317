"""A small authored thread that shows what the project is about."""

import json
from importlib import resources


def thread() -> list[dict[str, str]]:
    """Returns the turns of the sample thread, each with `role` and `content`."""
    lines = resources.files(__name__).joinpath("thread.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


QUESTION = "Which text classifier should I start the Halden reviews project with?"
