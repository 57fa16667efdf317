"""Nothing is sent anywhere and nothing is written that was not asked for.

ONNX Runtime keeps a device id and a database of events in the user's home, and looks up its maker's
collector, unless it is told not to before it is imported.
"""

import json
import re

import pytest

from tests.support.watching import Sandbox, compare, trace

MAIN = "from {0}.cli.app import main; main()"
MEMORY = r"memory\.db(-wal|-shm|-journal)?"
CACHE = r"cache|cache/(graphs(/.*)?|embeddings\.db(-wal|-shm|-journal)?)"
# A measured memory, SQLite's temporary files, and Python's trial of the directory.
# Files and directories that are being written.
UNFINISHED = r"\.tsim-\w+\.(part|ready)(/.*)?"
SCRATCH = r"tmp|tmp/scaleqa-memory-\w+\.part(/.*)?|tmp/etilqs_\w+|tmp/\w{8}"
# Python's own, between processes.
SEMAPHORES = r"/dev/shm/sem\.[\w-]+"

LIBRARY = """
import subprocess, sys
from tsim import Memory
with Memory.open("memory.db", model=sys.argv[1]) as memory:
    thread = memory.thread("alice")
    thread.add("user", "only one gpu for new projects")
    assert thread.search("how many gpu", min_relevance=0)
import onnxruntime
subprocess.run([sys.executable, "-c", "import onnxruntime"], check=True)
"""
WORKERS = """
import multiprocessing, sys
from tsim.embed import open_embedder
def work(model):
    return len(open_embedder(model).embed(["one gpu"]))
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, [sys.argv[1]] * 2) == [1, 1]
"""
# An assistant in the process of the command, at the other ends of its pipes.
ASSISTANT = """
import json, os, sys, threading
from tsim.cli.app import main
asked, answered = os.pipe(), os.pipe()
os.dup2(asked[0], 0)
os.dup2(answered[1], 1)
failures = []
about = {"protocolVersion": "2025-11-25", "capabilities": {}}
about["clientInfo"] = {"name": "assistant", "version": "1"}
def call(tool, **arguments):
    return "tools/call", {"name": tool, "arguments": arguments}
def assist():
    requests, answers = os.fdopen(asked[1], "w"), os.fdopen(answered[0])
    calls = [
        ("initialize", about),
        ("tools/list", {}),
        call("remember", text="only one gpu for new projects"),
        call("recall", query="how many gpu", min_relevance=0),
        call("context", query="how many gpu"),
        call("forget", turns=[0]),
        ("resources/read", {"uri": "tsim://threads"}),
    ]
    for number, (method, params) in enumerate(calls):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        print(json.dumps(message), file=requests, flush=True)
        answer = json.loads(answers.readline())
        if "result" not in answer or answer["result"].get("isError"):
            failures.append(answer)
    requests.close()
thread = threading.Thread(target=assist)
thread.start()
sys.argv[:] = ["tsim", "mcp", "--model", sys.argv[1]]
try:
    main()
finally:
    thread.join()
    assert not failures, failures
"""


@pytest.fixture(params=[compare, trace], ids=["listing and socket filter", "strace"])
def watch(request):
    return request.param


@pytest.fixture
def sandbox(tmp_path) -> Sandbox:
    root = tmp_path / "sandbox"
    root.mkdir()
    lines = ["only one gpu for new projects", "noted", "the budget letter"]
    turns = [json.dumps({"role": "user", "text": line}) for line in lines]
    (root / "chat.jsonl").write_text("\n".join(turns))
    return Sandbox(root=root)


def surplus(seen, *allowed: str) -> list[str]:
    """What was touched and matches none of the patterns."""
    return sorted(path for path in seen.files if not re.fullmatch("|".join(allowed), path))


@pytest.mark.slow
def test_adding_and_searching_touch_the_memory_and_the_cache(watch, sandbox, tiny):
    main, model = MAIN.format("tsim"), ("--model", str(tiny))
    for command in (("add", "chat.jsonl"), ("search", "one gpu"), ("context", "one gpu")):
        seen = watch(sandbox, main, *command, *model)
        assert not seen.sockets
        assert surplus(seen, MEMORY, CACHE) == []
    assert (sandbox.root / "memory.db").is_file()
    seen = watch(sandbox, main, "export", "out.jsonl")
    assert surplus(seen, MEMORY, r"out\.jsonl|\.tsim-\w+\.(part|ready)") == []
    assert not seen.sockets


@pytest.mark.slow
def test_a_run_and_its_report_touch_what_they_were_told_to(watch, sandbox, tiny):
    main = MAIN.format("scaleqa")
    build = ("build", "--target", "0", "--subset", "3", "--out", "package")
    run = ("run", "package", "--out", "runs", "--model", str(tiny))
    report = ("report", "runs", "--out", "report.html")
    for command, allowed in (
        (build, rf"package(/.*)?|{UNFINISHED}"),
        (run, rf"runs(/.*)?|{CACHE}|{SCRATCH}"),
        (report, rf"report\.html|{UNFINISHED}"),
    ):
        seen = watch(sandbox, main, *command)
        assert not seen.sockets
        assert surplus(seen, allowed) == []
    assert (sandbox.root / "report.html").is_file()


def test_the_library_is_as_quiet_as_the_commands(watch, sandbox, tiny):
    """Also where a program imports ONNX Runtime after tsim, itself or in a child process."""
    seen = watch(sandbox, LIBRARY, str(tiny))
    assert not seen.sockets
    assert surplus(seen, MEMORY, CACHE) == []


def test_workers_are_quiet_too(watch, sandbox, tiny):
    seen = watch(sandbox, WORKERS, str(tiny))
    assert not seen.sockets
    assert surplus(seen, CACHE, SEMAPHORES) == []


@pytest.mark.slow
def test_an_assistant_is_served_without_a_network(watch, sandbox, tiny):
    """The SDK has OpenTelemetry in it, which must find nobody to report to."""
    seen = watch(sandbox, ASSISTANT, str(tiny))
    assert not seen.sockets
    assert surplus(seen, MEMORY, CACHE) == []
    assert (sandbox.root / "memory.db").is_file()


def test_the_watch_notices_what_it_is_there_for(watch, sandbox):
    told = watch(sandbox, "import onnxruntime")
    assert [path for path in told.files if path.startswith("home/")]
    lookup = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
    assert watch(sandbox, lookup).sockets
