"""Programs and products that ask the benchmark's language model, through the pipe."""

import json
import re
import shutil
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from scaleqa.backends import Message, Reply
from scaleqa.backends.cache import CachedChat
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.products.product import read_product
from scaleqa.systems import Tools, check_turns, open_system
from scaleqa.testing import WordEmbedder
from scaleqa.testing.thread import ASKED, THREAD
from tests.scaleqa.test_products import ready
from tsim.errors import RemoteError

# A child that answers every search with what the model says; tests change what it asks for.
CHILD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"id": asked["id"]}
    match asked["op"]:
        case "hello": reply |= {"protocol": 1, "name": "small", "model": asked["model"]}
        case "search":
            print(json.dumps(%s), flush=True)
            said = json.loads(sys.stdin.readline())
            reply["results"] = [{"text": json.dumps(said)}]
    print(json.dumps(reply), flush=True)
"""
# The same in JavaScript, which reads lines as they come.
NODE = """
const lines = require("readline").createInterface({ input: process.stdin });
let waiting = null;
const say = (message) => console.log(JSON.stringify(message));
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  if ("said" in asked) return say({ id: waiting, results: [{ text: asked.said }] });
  if (asked.op === "hello") return say({ id: asked.id, protocol: 1, name: "small" });
  if (asked.op !== "search") return say({ id: asked.id });
  waiting = asked.id;
  say({ chat: [{ role: "user", content: asked.query }] });
});
"""


class Scripted:
    """A model that says what a function makes of the last message and the wanted form."""

    identity = "scripted"

    def __init__(self, script):
        self.asked = []
        self._script = script

    def chat(self, messages, functions=(), *, most_tokens=300, response_format=None):
        self.asked.append((messages, most_tokens, response_format))
        text = self._script(messages[-1].content, response_format)
        return Reply(text=text, prompt_tokens=7, completion_tokens=3)

    def close(self):
        pass


def found(spec, model, turns=THREAD[:6]):
    system = open_system(spec, Tools(embedder=WordEmbedder(), model=model))
    try:
        system.ingest(turns)
        return system.retrieve(ASKED), system.account()
    finally:
        system.close()


@pytest.fixture
def child(tmp_path):
    def write(asking):
        path = tmp_path / "child.py"
        path.write_text(CHILD % asking, "utf-8")
        return f"external:command={sys.executable} {path}"

    return write


def test_a_program_is_told_what_the_model_said_and_its_calls_are_counted(child):
    model = Scripted(lambda said, _: f"you said {said}")
    asking = (
        '{"chat": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],'
        ' "most_tokens": 9, "response_format": {"type": "json_object"}}'
    )
    result, kept = found(child(asking), model)
    said = {"said": "you said hi", "prompt_tokens": 7, "completion_tokens": 3}
    assert json.loads(result.context) == said
    ((messages, most, form),) = model.asked
    assert [(one.role, one.content) for one in messages] == [("system", "be brief"), ("user", "hi")]
    assert (most, form) == (9, {"type": "json_object"})
    assert kept.llm_calls == 1
    assert not result.rewritten  # which is known of products alone


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js here")
def test_a_program_in_another_language_may_chat(tmp_path):
    path = tmp_path / "chat.js"
    path.write_text(NODE, "utf-8")
    model = Scripted(lambda said, _: said.upper())
    result, _ = found(f"external:command=node {path}", model)
    assert result.context == ASKED.question.upper()


@pytest.mark.parametrize(
    ("asking", "message"),
    [
        ('{"chat": []}', "chat: Tuple should have at least 1 item"),
        ('{"chat": [{"role": "tool", "content": "x"}]}', "chat.0.role"),
        ('{"chat": [{"role": "user", "content": "x"}], "most_tokens": 0}', "most_tokens"),
        ('{"chat": [{"role": "user"}]}', "chat.0.content"),
    ],
    ids=["nothing", "a tool", "no tokens", "no text"],
)
def test_a_request_that_is_no_chat_ends_the_program(asking, message, child):
    model = Scripted(lambda said, _: said)
    with pytest.raises(DataError, match=re.escape(message)):
        found(child(asking), model)
    assert not model.asked


def test_a_program_that_chats_without_a_model_is_told_what_is_missing(child):
    asking = '{"chat": [{"role": "user", "content": "hi"}]}'
    with pytest.raises(DataError, match=r"at search: it asks for a language model.*--assist"):
        found(child(asking), None)


def test_a_model_that_fails_ends_the_run_with_its_own_error(child):
    def fail(said, form):
        raise RemoteError("the server is gone")

    with pytest.raises(RemoteError, match="the server is gone"):
        found(child('{"chat": [{"role": "user", "content": "hi"}]}'), Scripted(fail))


def test_the_example_notes_turns_with_a_model_and_shows_the_notes():
    model = Scripted(lambda said, _: f"NOTE {said.split()[-1]} gpu")
    result, kept = found("external:mode=notes", model)
    assert kept.llm_calls == 6
    assert "NOTE (5) gpu" in result.context
    assert result.rewritten
    assert not result.shown
    plain, _ = found("external", None)
    assert plain.shown
    assert not plain.rewritten


def test_replies_are_cached_by_their_form(tmp_path):
    model = Scripted(lambda said, form: f"{said} {form}")
    cached = CachedChat(model, tmp_path / "cache.db")
    asked = [Message(role="user", content="hi")]
    plain = cached.chat(asked)
    formed = cached.chat(asked, response_format={"type": "json_object"})
    assert plain.text != formed.text
    assert cached.chat(asked) == replace(plain, cached=True)
    assert cached.chat(asked, response_format={"type": "json_object"}) == replace(
        formed, cached=True
    )
    assert len(model.asked) == 2
    cached.close()


def test_modes_that_need_a_model_are_refused_without_one():
    with pytest.raises(DataError, match=r"mem0 asks a language model in mode memories.*--assist"):
        open_system("mem0:mode=memories", Tools(embedder=WordEmbedder()))
    with pytest.raises(DataError, match="graphiti asks a language model in mode facts"):
        open_system("graphiti", Tools(embedder=WordEmbedder()))


def test_texts_of_a_systems_own_are_not_judged_by_turns():
    check_turns(["tsim", "mem0", "mem0:mode=sources", "graphiti:mode=sources"])
    for spec in ("mem0:mode=memories", "graphiti", "example:mode=notes"):
        with pytest.raises(DataError, match="shows texts of its own"):
            check_turns([spec])
    ran = CliRunner().invoke(app, ["retrieve", "no-such-place", "--system", "graphiti"])
    assert "use scaleqa run" in str(ran.exception)


def test_the_listing_says_which_products_need_a_model():
    ran = CliRunner().invoke(app, ["products", "list", "--json"])
    rows = {row["name"]: row["model"] for row in json.loads(ran.stdout)}
    assert rows["graphiti"] == "needed"
    assert rows["mem0"] == "for mode=memories, sources"
    assert rows["chroma"] == ""


def test_modes_of_models_and_texts_are_modes(tmp_path):
    (tmp_path / "x.toml").write_text('title = "x"\nsummary = "y"\nrewrites = ["z"]\n', "utf-8")
    with pytest.raises(DataError, match="'z' is no mode"):
        read_product(tmp_path / "x.toml")


def memories(said, form):
    """What mem0 asks for: memories of the new messages, here each as it is, marked."""
    new = said.partition("## New Messages\n")[2].partition("\n\n")[0].strip()
    return json.dumps({"memory": [{"text": f"It was noted: {new}", "attributed_to": "user"}]})


def filled(schema, root):
    """The least value that fits a schema."""
    if "$ref" in schema:
        return filled(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return None
    if schema["type"] == "object":
        return {name: filled(one, root) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "string": "", "integer": 0, "number": 0.0, "boolean": False}[
        schema["type"]
    ]


def facts(said, form):
    """What Graphiti asks for: two entities and a fact about them, and nothing else."""
    wanted = form["json_schema"]
    match wanted["name"]:
        case "ExtractedEntities":
            names = [{"name": name, "entity_type_id": 0} for name in ("user", "gpu")]
            return json.dumps({"extracted_entities": names})
        case "ExtractedEdges":
            fact = {"source_entity_name": "user", "target_entity_name": "gpu"}
            fact |= {"relation_type": "ASKS", "fact": "The user asks which rule holds for the gpu"}
            return json.dumps({"edges": [fact]})
        case _:
            return json.dumps(filled(wanted["schema"], wanted["schema"]))


@pytest.mark.slow
def test_mem0_keeps_what_a_model_extracts_and_leads_back_to_the_turns():
    ready("mem0")
    model = Scripted(memories)
    result, kept = found("mem0:mode=memories,budget=200", model, THREAD[:4])
    assert "It was noted: user: Which rule holds for the gpu? (0)" in result.context
    assert result.rewritten
    assert kept.llm_calls == 4
    assert {form["type"] for _, _, form in model.asked} == {"json_object"}
    sources, _ = found("mem0:mode=sources,budget=200", Scripted(memories), THREAD[:4])
    assert {0, 1} <= sources.shown
    assert not sources.rewritten


@pytest.mark.slow
def test_graphiti_keeps_facts_of_a_model_and_leads_back_to_the_turns():
    ready("graphiti")
    result, kept = found("graphiti:budget=200", Scripted(facts), THREAD[:2])
    assert result.context == "The user asks which rule holds for the gpu"
    assert result.rewritten
    assert kept.llm_calls >= 4
    sources, _ = found("graphiti:mode=sources,budget=200", Scripted(facts), THREAD[:2])
    assert sources.shown == {0, 1}
