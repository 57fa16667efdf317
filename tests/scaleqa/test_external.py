"""Programs that speak the protocol: well, badly, and in another language."""

import json
import os
import re
import shutil
import sys
import textwrap
import time
from pathlib import Path

import pytest

from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.specs import split_specs
from scaleqa.systems import Asked, Tools, open_system
from scaleqa.systems.external import Child, messages
from scaleqa.systems.external.matching import Matcher
from scaleqa.testing import SystemConformance, WordEmbedder
from scaleqa.testing.thread import ASKED, THREAD
from tests.conftest import ROOT
from tsim.toolkit import tokens

# A child in a few lines; tests put what it does wrong in place of a reply.
CHILD = """
import json, sys, time, os
known = []
def say(message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"id": asked["id"]}
    match asked["op"]:
        case "hello": reply |= {"protocol": 1, "name": "small", "version": "3"}
        case "open": assert os.path.isdir(asked["directory"])
        case "add": known += asked["turns"]
        case "search": reply["results"] = [{"turns": [t["id"]]} for t in known[: asked["limit"]]]
    %s
    say(reply)
"""


@pytest.fixture
def tools():
    return Tools(embedder=WordEmbedder())


@pytest.fixture
def child(tmp_path):
    def write(wrong="pass", options=""):
        path = tmp_path / "child.py"
        path.write_text(CHILD % textwrap.indent(wrong, "    ").strip(), "utf-8")
        return f"external:command={sys.executable} {path}{options}"

    return write


def found(spec, tools, turns=THREAD):
    system = open_system(spec, tools)
    try:
        system.ingest(turns)
        return system.retrieve(ASKED)
    finally:
        system.close()


def test_a_program_is_given_turns_and_its_results_become_a_context(child, tools):
    result = found(child(options=",budget=40,k=50"), tools)
    assert [unit.turns for unit in result.units] == [(0,), (1,), (2,)]
    assert result.context.startswith("user: Which rule holds for the gpu? (0)\n\nmodel: The rule")
    assert tokens.by_words(result.context) <= 40


def test_what_does_not_fit_is_passed_over_and_the_next_is_tried(child, tools):
    long = StreamTurn(id=0, role="user", text="word " * 200)
    short = StreamTurn(id=1, role="user", text="word")
    assert found(child(options=",budget=40"), tools, [long, short]).shown == {1}


def test_windows_are_whole_and_wait_until_they_are_full(child, tools):
    result = found(child(options=",window=3,k=2"), tools, THREAD[:5])
    assert [unit.turns for unit in result.units] == [(0, 1, 2)]
    assert found(child(options=",window=3"), tools, THREAD[:2]).units == ()


# What a child does wrong at a search, and what is said about it.
WRONG = {
    "garbage": ('print("Loading model...", flush=True)', "no JSON: 'Loading model...'"),
    "no object": ("reply = [1]", r"wrote '\[1\]'; expected a JSON object"),
    "error": ('reply = {"id": asked["id"], "error": "out of cheese"}', "reports: out of cheese"),
    "another request": ('reply["id"] = 99', "answered request 99, and was asked 4"),
    "no id": ('del reply["id"]', "id: Field required"),
    "no results": ('reply.pop("results", 0)', "results: Field required"),
    "a turn that is none": ('reply["results"] = [{"turns": ["x"]}]', "results.0.turns.0"),
    "an unknown turn": ('reply["results"] = [{"turns": [9999]}]', "small found turn 9999"),
    "both forms": ('reply["results"] = [{"turns": [1], "text": "a"}]', "either turns or a text"),
    "not a number": ('reply["results"] = [{"turns": [1], "score": float("nan")}]', "finite number"),
    "death": ('print("no memory left", file=sys.stderr); sys.exit(3)', "ended with exit code 3"),
    "signal": ("os.kill(os.getpid(), 9)", "ended by signal 9"),
    "closed output": ("os.close(1); time.sleep(60)", "ended its output"),
    "silence": ("time.sleep(60)", "said nothing for 0.5 s"),
    "wrong vectors": ('say({"embed": [1]})', "embed.0"),
    "nesting": ('sys.stdout.write("[" * 100000 + "\\n")', "no JSON"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_child_that_misbehaves_is_named_with_what_it_did(name, child, tools):
    wrong, message = WRONG[name]
    options = ",timeout=0.5" if name == "silence" else ",timeout=30"
    spec = child(f'if asked["op"] == "search":\n    {wrong}', options)
    system = open_system(spec.replace(",timeout=0.5", ",timeout=30"), tools)
    system._child._timeout = float(options.partition("=")[2])  # starting may take longer
    system.ingest(THREAD[:9])
    with pytest.raises(DataError, match=message) as raised:
        system.retrieve(ASKED)
    assert name != "death" or "no memory left" in str(raised.value)
    if name != "an unknown turn":  # the child itself is well then
        with pytest.raises(DataError, match="its process has ended"):
            system.retrieve(ASKED)
    system.close()


def test_a_line_without_end_is_not_read_to_its_end(child, tools, monkeypatch):
    monkeypatch.setattr("scaleqa.systems.external.child.MOST_BYTES", 1000)
    endless = 'if asked["op"] == "search":\n    while True: sys.stdout.write("x" * 9999)'
    with pytest.raises(DataError, match="a line of more than 1,000 bytes"):
        found(child(endless), tools)


def test_a_child_that_does_not_read_is_not_waited_for(tmp_path, tools):
    """What it is told is more than a pipe holds."""
    child = Child(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        name="deaf",
        directory=tmp_path,
        serve=lambda wanted: {},
        timeout=0.5,
    )
    with pytest.raises(DataError, match="deaf: at add: it said nothing"):
        child.ask(messages.Reply, "add", turns=["x" * 1_000_000])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('reply["protocol"] = 2', "small speaks protocol 2; expected 1"),
        ('reply["protocol"] = "one"', "protocol: Input should be a valid integer"),
        ("sys.exit(1)", "at hello: it ended with exit code 1"),
    ],
    ids=["later", "word", "death"],
)
def test_a_child_that_cannot_be_spoken_to_is_refused_when_it_is_opened(
    wrong, message, child, tools
):
    with pytest.raises(DataError, match=message):
        open_system(child(wrong), tools)


def test_everything_that_a_child_started_ends_with_it(child, tools, tmp_path):
    mark = tmp_path / "pid"
    starting = (
        'if asked["op"] == "open":\n    import subprocess\n'
        '    sleeper = subprocess.Popen(["sleep", "600"])\n'
        f'    open({str(mark)!r}, "w").write(str(sleeper.pid))'
    )
    found(child(starting), tools)
    pid = int(mark.read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.05)
    pytest.fail("it is still running")


def test_what_a_child_kept_is_removed_and_costs_are_known_before(child, tools, tmp_path):
    keeping = (
        'if asked["op"] == "open":\n    open(asked["directory"] + "/kept", "wb").write(bytes(9999))'
    )
    system = open_system(child(keeping), tools)
    system.ingest(THREAD)
    costs = system.costs()
    assert costs.disk >= 9999
    assert costs.memory is None or costs.memory > 1_000_000
    where = system._data
    assert where.is_dir()
    system.close()
    assert not where.exists()


def test_the_memory_of_servers_that_a_child_starts_is_counted(child, tools, tmp_path):
    holding = "x = bytearray(200_000_000); print(flush=True); input()"
    starting = (
        'if asked["op"] == "add":\n    import subprocess\n'
        f"    server = subprocess.Popen([sys.executable, '-c', {holding!r}],\n"
        "        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)\n"
        "    server.stdout.readline()"
    )
    system = open_system(child(starting), tools)
    before = system.costs().memory
    if before is None:
        pytest.skip("there is no /proc")
    system.ingest(THREAD[:1])
    assert system.costs().memory > before + 200_000_000
    system.close()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program-anywhere x", "names no program"),
        ("python 'unfinished", "cannot be read: No closing quotation"),
    ],
    ids=["missing", "quote"],
)
def test_a_command_that_cannot_be_run_is_refused(command, message, tools):
    with pytest.raises(DataError, match=message):
        open_system(f"external:command={command}", tools)


def test_commands_stand_in_lists_of_systems(child):
    listed = f"tsim,{child()};budget=300"
    assert split_specs(listed) == ["tsim", f"{child()},budget=300"]


def test_a_child_may_ask_for_vectors_of_passages_and_queries(child, tools):
    asking = """
if asked["op"] in ("add", "search"):
    say({"embed": ["a gpu", "bread"], "query": asked["op"] == "search"})
    rows = json.loads(sys.stdin.readline())["vectors"]
    assert len(rows) == 2 and len(rows[0]) == 10, rows
    reply["note"] = "fields that nobody knows are ignored"
"""
    system = open_system(child(asking), tools)
    system.ingest(THREAD[:4])
    system.retrieve(ASKED)
    assert system.account().vectors == 2  # queries are not kept
    system.close()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js here")
class TestTheProgramOfTheDocumentation(SystemConformance):
    most_tokens = 300

    @pytest.fixture(autouse=True)
    def script(self, tmp_path):
        self.path = tmp_path / "overlap.js"
        text = (ROOT / "docs" / "systems.md").read_text("utf-8")
        self.path.write_text(re.search(r"^```js\n(.*?)^```", text, re.M | re.S)[1], "utf-8")

    def open_system(self, tools):
        return open_system(f"external:command=node {self.path},budget=500", tools)

    def open_short(self, tools):
        return open_system(f"external:command=node {self.path},budget=300", tools)


def test_texts_are_matched_with_the_turns_that_they_contain(child, tools):
    """Of a program that keeps no ids: an exchange, a piece of a turn, a summary, a repetition."""
    results = [
        {"text": "> " + THREAD[0].text + "\n " + THREAD[1].text, "score": 3},
        {"text": THREAD[2].text[:-4]},
        {"text": "They talked about rules."},
        {"text": THREAD[2].text},
        {"text": THREAD[2].text},
    ]
    replying = (
        f'if asked["op"] == "search":\n    reply["results"] = json.loads({json.dumps(results)!r})'
    )
    result = found(child(replying), tools)
    assert [unit.turns for unit in result.units] == [(0, 1), (), (), (2,)]
    assert result.shown == {0, 1, 2}
    assert "They talked about rules." in result.context


def test_short_turns_inside_of_longer_ones_do_not_count():
    def turn(number, text):
        return StreamTurn(id=number, role="user", text=text)

    matcher = Matcher()
    matcher.add([turn(0, "Yes."), turn(1, "Yes. I do"), turn(2, "Yes."), turn(3, " ")])
    assert matcher.find("user: Yes.  I\ndo") == [1]
    assert matcher.find("Yes. Yes. Yes. I do!") == [0, 2]
    assert matcher.find("Yes.", taken={0}) == [2]
    assert matcher.find("Yes.", taken={0, 2}) == [0]
    assert matcher.find("Yesterday") == []


def test_a_child_runs_with_the_user_s_environment_and_products_with_little_of_it(
    child, tools, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    looking = 'if asked["op"] == "open":\n    assert os.environ["OPENAI_API_KEY"] == "secret"'
    found(child(looking), tools)
    system = open_system("external", tools)
    names = Path(f"/proc/{system._child.pid}/environ")
    if not names.exists():
        pytest.skip("this system does not show the environment of processes")
    text = names.read_bytes()
    system.close()
    assert b"secret" not in text
    assert b"HTTPS_PROXY=http://127.0.0.1:9" in text
    assert f"HOME={os.environ.get('HOME')}\0".encode() not in text


def test_a_question_has_its_time(child, tools):
    looking = (
        'if asked["op"] == "search":\n    assert asked["at"] == 5.0 and asked["query"] == "when?"'
    )
    system = open_system(child(looking), tools)
    system.ingest(THREAD[:3])
    system.retrieve(Asked(id="q", question="when?", at=5.0))
    system.close()
