"""The examples run as they are, and use no network."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
# What each program needs, and what it prints.
PROGRAMS = {
    "chat_messages": ("tsim", "One consumer GPU, as you said."),
    "langgraph_store": ("langgraph", "Alice lives in Porto."),
    "llamaindex_block": ("llama_index", "From May on, new projects run on one consumer GPU."),
    "openai_agents_session": ("agents", "function_call function_call_output"),
    "pydantic_ai_memory": ("pydantic_ai", "tool-call tool-return"),
}
RULE = "new projects run on one consumer GPU"

# Ends a program that looks up a name or connects to anything but a file. A filter of the kernel, as
# for our own commands, would be too strict: urllib3 opens a socket to see whether there is IPv6.
OFFLINE = """
import os, runpy, sys
def watch(event, given):
    outside = event == "socket.getaddrinfo" or (
        event in ("socket.connect", "socket.sendto") and not isinstance(given[1], (str, bytes))
    )
    if outside:
        os.write(2, f"{event} {given}".encode())
        os._exit(99)
sys.addaudithook(watch)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(book)
NotebookClient(book, timeout=120, resources={"metadata": {"path": sys.argv[2]}}).execute()
nbformat.write(book, sys.argv[3])
"""


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PROGRAMS, "talk"}
    assert [path.name for path in EXAMPLES.glob("*.ipynb")] == ["explore.ipynb"]


def test_programs_that_use_the_network_would_be_noticed(tmp_path):
    (tmp_path / "x.py").write_text("import socket; socket.create_connection(('127.0.0.1', 9))")
    ran = subprocess.run([sys.executable, "-c", OFFLINE, str(tmp_path / "x.py")], check=False)
    assert ran.returncode == 99


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_without_the_network(name, minilm):
    package, printed = PROGRAMS[name]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    command = [sys.executable, "-c", OFFLINE, str(EXAMPLES / f"{name}.py")]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    assert printed in ran.stdout
    assert name == "chat_messages" or RULE in ran.stdout


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_was_found(tmp_path, minilm):
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    source, out = EXAMPLES / "explore.ipynb", tmp_path / "out.ipynb"
    places = {name: str(tmp_path) for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    ran = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, str(source), str(EXAMPLES), str(out)],
        capture_output=True,
        text=True,
        env={**os.environ, **places},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    cells = json.loads(out.read_text("utf-8"))["cells"]
    shown = [one for cell in cells for one in cell.get("outputs", [])]
    pages = [
        "".join(one["data"]["text/html"]) for one in shown if "text/html" in one.get("data", {})
    ]
    assert len(pages) == 2
    assert all(RULE in page for page in pages)


def test_the_notebook_is_stored_without_outputs():
    for cell in json.loads((EXAMPLES / "explore.ipynb").read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
