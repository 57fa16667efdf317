"""Every system passes the suite that is shipped; each then shows what it is for."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from scaleqa.backends import open_backend
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_package, run_packages
from scaleqa.figures.retrieval import retrieval
from scaleqa.figures.scores import score
from scaleqa.options import read_options
from scaleqa.packages import build
from scaleqa.specs import Spec
from scaleqa.systems import (
    Asked,
    FlatSystem,
    Kind,
    Sees,
    Tools,
    colour_of,
    find_system,
    memories,
    open_system,
    ordered,
    rivals,
    system_names,
    systems,
    with_budget,
)
from scaleqa.systems.summarise import summarise
from scaleqa.testing import SystemConformance, WordEmbedder
from scaleqa.testing.thread import (
    ASKED,
    DIALOGUES,
    REQUESTS,
    THREAD,
    TURNS,
    HiddenTruth,
    ask,
    exchange,
    thread,
)
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import loop

ROOT = Path(__file__).parents[2]
# How to hold each system's context short: its options, then the most tokens and units they allow.
LIMITS = {
    "bm25_chunks": ("size=40,k=3", None, 3),
    "bm25_sessions": ("k=3", None, 3),
    "drift_window": ("k=3", None, 3),
    "fixed_window": ("size=40,k=3", None, 3),
    "external": ("budget=300", 300, None),
    "full_context": ("budget=300", 300, None),
    "hipporag": ("chunk=60,k=4,budget=300", 300, 4),
    "hybrid_rrf": ("budget=300", 300, None),
    "memgpt": ("window=500,budget=200", 500, None),
    "oracle": ("", None, 1),
    "packed_turns": ("budget=300", 300, None),
    "perfect_episodes": ("k=3", None, 3),
    "raptor": ("budget=300", 300, None),
    "standard_rag": ("k=3", None, 3),
    "tsim_official": ("k=4,budget=300", 300, 4),
    "tsim": ("budget=300", 300, None),
    "tuned_hybrid": ("budget=300", 300, None),
    "zero_shot": ("", 0, 0),
}
# They show the same whatever comes in: nothing, or the evidence.
FORGETFUL = ("oracle", "zero_shot")
# Two searches page by page, and packing by marginal relevance.
OTHERWISE_SORTED = ("memgpt", "tuned_hybrid")
NAMES = [name for name in system_names() if find_system(name).sees is Sees.NONE]


class TestEverySystem(SystemConformance):
    @pytest.fixture(autouse=True, params=system_names())
    def system(self, request):
        assert request.param in LIMITS, f"say in LIMITS how to keep {request.param} short"
        self.name = request.param
        self.options, self.most_tokens, self.most_units = LIMITS[self.name]
        self.sees = find_system(self.name).sees
        self.finds_exchanges = self.name not in FORGETFUL
        self.sorts_by_score = self.name not in OTHERWISE_SORTED

    def open_system(self, tools):
        return self.made("", tools)

    def open_short(self, tools):
        return self.made(self.options, tools)

    def made(self, options, tools):
        """With all tools, truth included, which the registry would keep from most systems."""
        declared = find_system(self.name)
        given = Spec.parse(f"{self.name}:{options}").options
        return declared.make(read_options(declared.options, given, of=self.name), tools)


@pytest.fixture
def tools():
    return Tools(embedder=WordEmbedder(), truth={"q1": (3, 5)}, dialogues=DIALOGUES)


def answers(system):
    return [system.retrieve(asked) for asked in REQUESTS]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("writeback", [True, False])
def test_exchanges_of_a_loop_come_back_with_writeback_alone(name, tmp_path, writeback):
    package = build(RECORDS[:12], NOISE, settings_of(1500))[0]
    settings = loop(open_backend("extractive"), name, writeback=writeback)
    rows = run_package(package, settings, WordEmbedder(), tmp_path)
    assert (score(rows).exchange_share > 0) is (writeback and name != "zero_shot")


def test_gold_is_for_the_oracle_alone(tools):
    oracle = open_system("oracle", tools)
    oracle.ingest(THREAD)
    assert oracle.retrieve(ASKED).shown == {3, 5}
    with pytest.raises(AssertionError, match="looked up"):
        open_system("oracle", Tools(embedder=WordEmbedder(), truth=HiddenTruth())).retrieve(ASKED)


class Deaf(FlatSystem):
    def retrieve(self, asked):
        return self.show([])


@pytest.mark.parametrize("name", system_names())
def test_truth_is_handed_to_those_alone_that_declare_it(name, tools, monkeypatch):
    handed = []
    declared = find_system(name)
    spied = replace(declared, make=lambda _, tools: handed.append(tools) or Deaf())
    monkeypatch.setattr(import_module(f"scaleqa.systems.{name}"), "SYSTEM", spied)
    open_system(name, tools)
    truth = tools.truth if declared.sees is Sees.EVIDENCE else {}
    dialogues = tools.dialogues if declared.sees is Sees.BOUNDARIES else ()
    assert [(one.truth, one.dialogues) for one in handed] == [(truth, dialogues)]


def fingerprints():
    """What each system finds in the whole thread and after an exchange, in a few characters."""
    out = {}
    for name in NAMES:
        system = open_system(name, Tools(embedder=WordEmbedder()))
        system.ingest(THREAD)
        found = answers(system)
        system.observe(exchange(TURNS))
        found += answers(system)
        system.close()
        content = repr([(one.units, one.context, sorted(one.shown)) for one in found])
        out[name] = hashlib.sha256(content.encode()).hexdigest()
    return out


def test_another_process_with_another_order_of_hashes_gives_the_same():
    code = (
        "import json; from tests.scaleqa.test_systems import fingerprints\n"
        "print(json.dumps(fingerprints()))"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert json.loads(ran.stdout) == fingerprints()


def test_the_thread_brings_out_what_systems_do_with_long_ones(tools):
    """Otherwise the suite above would pass over it."""
    found = {}
    for name in ("raptor", "memgpt", "tsim_official"):
        system = open_system(name, tools)
        system.ingest(THREAD)
        found[name] = system.retrieve(ask("The rule says only one gpu for a new project."))
        system.close()
    assert any(unit.label.startswith("summary") for unit in found["raptor"].units)
    assert {unit.label for unit in found["memgpt"].units} >= {"archival_memory_search", "queue"}
    assert len({unit.label for unit in found["tsim_official"].units}) > 1


def test_everything_is_shown_without_a_budget(tools):
    full = open_system("full_context", tools)
    full.ingest(THREAD)
    assert full.retrieve(ASKED).shown == set(range(TURNS))


def test_hybrid_brings_neighbours_and_exact_words(tools):
    system = open_system("hybrid_rrf:budget=60,depth=3", tools)
    system.ingest(thread(["bread", "train", "kx-204b", "letter", "new", "budget"] * 2))
    found = system.retrieve(Asked(id="q", question="kx-204b", options={}))
    assert {1, 2, 3} <= found.shown


def test_windows_hold_whole_turns_of_about_the_size(tools):
    system = open_system("fixed_window:size=40,k=100", tools)
    system.ingest(THREAD[:48])
    units = system.retrieve(ASKED).units
    assert sorted(turn for unit in units for turn in unit.turns) == list(range(48))
    for unit in units:
        assert list(unit.turns) == list(range(unit.turns[0], unit.turns[0] + len(unit.turns)))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("standrd_rag", "did you mean standard_rag"),
        ("mem00", "did you mean mem0"),
        ("standard_rag:k", "not key=value"),
        ("standard_rag:j=3", "unknown option 'j'"),
        ("standard_rag:k=many", "should be int"),
        ("standard_rag:k=0", "option k=0 of standard_rag should be int, at least 1"),
        ("hipporag:damping=1", "should be float, at least 0 and below 1"),
        ("tuned_hybrid:j=3", r"there are reranker \(str\), depth \(int, at least 1\)"),
        ("zero_shot:k=3", "unknown option 'k' of zero_shot; there are none"),
        ("standard_rag:k=1,k=2", "gives option 'k' twice"),
    ],
)
def test_a_wrong_specification_says_what_is_wrong(tools, spec, message):
    with pytest.raises(DataError, match=message):
        open_system(spec, tools)


@pytest.mark.parametrize("declared", systems(), ids=lambda declared: declared.name)
def test_a_declaration_says_what_can_be_set_and_how(declared):
    assert declared.summary
    assert all(option.meaning for option in declared.list_options())
    assert declared.make
    options = {option.name: option for option in declared.list_options()}
    if declared.budget:
        assert options[declared.budget.option].type == "int"
    assert isinstance(read_options(declared.options, {}, of=declared.name), declared.options)


def test_values_are_of_the_declared_types():
    options = read_options(
        find_system("tuned_hybrid").options, {"mmr": "0.5", "depth": "7"}, of="t"
    )
    assert (options.mmr, options.depth, options.radius) == (0.5, 7, 6)


def test_a_budget_is_given_in_tokens_or_in_units_where_a_system_can_be_held_to_one():
    given = [with_budget(name, 500) for name in system_names()]
    assert given == [
        "bm25_chunks",
        "bm25_sessions",
        "drift_window",
        "external:budget=500",
        "fixed_window:k=3",
        "full_context:budget=500",
        "hipporag:budget=500",
        "hybrid_rrf:budget=500",
        "memgpt",
        "oracle",
        "packed_turns:budget=500",
        "perfect_episodes:budget=500",
        "raptor:budget=500",
        "standard_rag",
        "tsim:budget=500",
        "tsim_official:budget=500",
        "tuned_hybrid:budget=500",
        "zero_shot",
    ]
    assert with_budget("hybrid_rrf:budget=90,depth=9", 500) == "hybrid_rrf:budget=90,depth=9"
    # Windows of another size are of another length.
    assert with_budget("fixed_window:size=256", 500) == "fixed_window:size=256"
    assert with_budget("fixed_window", 10) == "fixed_window:k=1"


def test_systems_are_ordered_and_chosen_by_what_they_declare():
    names = ["zero_shot", "full_context:budget=9", "unheard_of", "perfect_episodes", "oracle",
             "memgpt", "tsim:budget=5", "tsim", "file.py:make"]  # fmt: skip
    assert ordered(names) == [
        "tsim", "tsim:budget=5", "memgpt", "file.py:make", "unheard_of", "perfect_episodes",
        "full_context:budget=9", "oracle", "zero_shot",
    ]  # fmt: skip
    assert rivals(names) == [name for name in names if name not in ("oracle", "zero_shot")]
    assert memories(names) == ["unheard_of", "memgpt", "tsim:budget=5", "tsim", "file.py:make"]
    assert [one.kind for one in systems()] == sorted(
        (one.kind for one in systems()), key=[*Kind].index
    )


def test_colours_are_declared_once_each():
    declared = [one.colour for one in systems() if one.colour]
    assert len({*declared}) == len(declared) == 12
    assert colour_of("tsim") == find_system("tsim").colour
    assert colour_of("tsim:budget=5") is colour_of("unheard_of") is None


def measured(packages, system, embedder):
    return retrieval(run_packages(packages, RunSettings(system=system), embedder))


def test_retrieval_of_controls_is_as_it_must_be(tiny_embedder):
    packages = build(RECORDS[:12], NOISE, settings_of(3000))
    oracle = measured(packages, "oracle", tiny_embedder)
    nothing = measured(packages, "zero_shot", tiny_embedder)
    everything = measured(packages, "full_context", tiny_embedder)
    assert [one.recalled.value for one in (oracle, nothing, everything)] == [1, 0, 1]
    assert oracle.questions == 12
    assert nothing.context_tokens == 0
    assert everything.context_tokens > 2500


def test_views_are_measured_for_the_paper_s_method(tiny_embedder):
    packages = build(RECORDS[:12], NOISE, settings_of(3000))
    found = measured(packages, "tsim_official", tiny_embedder)
    assert found.views.keys() == {"raw", "summary", "cluster"}
    assert found.kept.vectors > len(packages[0].stream)


def test_a_name_is_declared_as_it_is_registered(monkeypatch):
    module = import_module("scaleqa.systems.standard_rag")
    monkeypatch.setattr(module, "SYSTEM", replace(module.SYSTEM, name="dense"))
    with pytest.raises(DataError, match="registered as 'standard_rag' declares the name 'dense'"):
        find_system("standard_rag")


def test_a_summary_is_the_most_central_sentences_in_their_order():
    texts = [
        "The rule is one gpu for new projects. Bread was good today.",
        "New projects keep to one gpu! Trains run late.\nThe gpu rule for projects is new.",
    ]
    short = summarise(texts, 22)
    assert short == "The rule is one gpu for new projects. The gpu rule for projects is new."
    assert summarise([], 20) == summarise(["the of and"], 20) == ""
    assert summarise(texts, 1000).count("gpu") == 3


@pytest.mark.parametrize("name", ["tsim", "tsim_official"])
def test_the_memory_of_a_killed_run_is_gone_after_the_next_start(
    tools, tmp_path, monkeypatch, name
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "scaleqa-memory-0123456789abcdef.part"
    left.mkdir()
    (left / "memory.db").write_text("all that was ever said")
    system = open_system(name, tools)
    other = open_system(name, tools)
    assert not left.exists()
    assert len([*tmp_path.iterdir()]) == 2
    other.close()
    system.close()
    assert not [*tmp_path.iterdir()]
