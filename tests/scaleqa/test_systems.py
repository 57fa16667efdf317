"""Every system passes one suite; each then shows what it is for on a small thread.

The suite's thread is long enough for a tree of summaries, an evicted queue and closed episodes. Its
embedder has ten dimensions, which need no reducing before they are clustered.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from scaleqa.evaluate.metrics import score

from scaleqa.backends import open_backend
from scaleqa.errors import DataError
from scaleqa.evaluate import diagnose
from scaleqa.evaluate.loop import LoopSettings, run_package
from scaleqa.packages import StreamTurn, build
from scaleqa.prompts import template
from scaleqa.systems import Asked, Exchange, Tools, open_system, registry, system_names
from scaleqa.systems.summarise import summarise
from tests.support.records import NOISE, RECORDS, settings_of
from tsim import tokens, vectors

ROOT = Path(__file__).parents[2]
TURNS = 400
TOPICS = (
    ("gpu", "project", "team"),
    ("bread", "oven", "baker"),
    ("train", "ticket", "platform"),
    ("budget", "letter", "invoice"),
    ("garden", "hedge", "neighbour"),
)
SAYINGS = (
    "Which rule holds for the {0}?",
    "The rule says only one {0} for a new {1}.",
    "I prefer the old {1}, as the {2} knows.",
    "Then the {2} takes the {0} to the {1}.",
    "The {1} was late again!",
    "Thanks, I never asked the {2} before.",
    "The {0} and the {1} need a budget.",
)


def saying(number):
    """Topics come in blocks of eight turns; the number makes a text the only one of its kind."""
    topic = TOPICS[number // 8 % len(TOPICS)]
    return f"{SAYINGS[number % len(SAYINGS)].format(*topic)} ({number})"


def thread(texts, start=0):
    return [
        StreamTurn(id=start + n, role=("user", "model")[n % 2], text=text)
        for n, text in enumerate(texts)
    ]


def pair(number):
    """An exchange about something that the thread knows nothing of."""
    said = f"Which stripes has the zebra of Nakuru? ({number})"
    answer = "ANSWER: A. RATIONALE: each zebra of Nakuru has brown stripes, and the zebra keeps its"
    return tuple(thread([said, f"{answer} stripes in Nakuru. ({number + 1})"], number))


def ask(question, name="q1"):
    return Asked(id=name, question=question, options=dict.fromkeys("ABCD", "x"))


THREAD = thread([saying(number) for number in range(TURNS)])
ASKED = ask("Which rule holds for the gpu?")
REQUESTS = [ASKED, ask("Who takes the ticket to the platform?", "q2"), ask("yes", "q3")]
NAMES = [name for name in system_names() if name not in registry.CONTROLS]
# How to hold each system's context short: its options, then the most tokens and units they allow.
LIMITS = {
    "bm25_chunks": ("size=40,k=3", None, 3),
    "drift_window": ("k=3", None, 3),
    "fixed_window": ("size=40,k=3", None, 3),
    "full_context": ("cap=300", 300, None),
    "hipporag": ("chunk=60,k=4,cap=300", 300, 4),
    "hybrid_rrf": ("cap=300", 300, None),
    "memgpt": ("window=500,budget=200", 500, None),
    "packed_turns": ("budget=300", 300, None),
    "raptor": ("budget=300", 300, None),
    "standard_rag": ("k=3", None, 3),
    "tsim_official": ("k=4,budget=300", 300, 4),
    "tsim": ("budget=300", 300, None),
    "tuned_hybrid": ("cap=300", 300, None),
    "zero_shot": ("", 0, 0),
}


class WordEmbedder:
    """Each word points somewhere of its own, a text where its words do together."""

    identity = "words"
    dimension = 10

    def embed(self, texts):
        sums = [rows.sum(axis=0) for rows in self.token_vectors(texts)]
        return vectors.unit(np.array(sums).reshape(len(texts), self.dimension))

    def embed_query(self, text):
        return self.embed([text])[0]

    def token_vectors(self, texts):
        return [np.stack([direction(word) for word in text.lower().split()]) for text in texts]


@cache
def direction(word):
    seed = int.from_bytes(hashlib.sha256(word.strip("().,?!:").encode()).digest()[:4], "big")
    return np.random.default_rng(seed).normal(size=WordEmbedder.dimension).astype(np.float32)


class Untouchable(Mapping):
    """Truth that fails whoever looks at it."""

    def __getitem__(self, key):
        raise AssertionError(f"looked up the evidence of {key}")

    def __iter__(self):
        raise AssertionError("went through the evidence")

    def __len__(self):
        raise AssertionError("counted the evidence")


@pytest.fixture
def tools():
    return Tools(embedder=WordEmbedder(), truth={"q1": (3, 5)}, dialogues=((0, 1), (2, 3)))


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def opened(name, tools):
    systems = []

    def make(options="", using=tools):
        systems.append(open_system(f"{name}:{options}" if options else name, using))
        return systems[-1]

    yield make
    for system in systems:
        system.close()


def answers(system):
    return [system.retrieve(asked) for asked in REQUESTS]


def line(turn):
    return f"{turn.role}: {turn.text}"


def test_what_is_shown_was_told_and_stands_in_the_context(opened):
    system = opened()
    system.ingest(THREAD)
    for found in answers(system):
        assert found.shown <= set(range(TURNS))
        assert {turn for unit in found.units for turn in unit.turns} <= set(range(TURNS))
        assert all(THREAD[turn].text in found.context for turn in found.shown)


def test_the_same_thread_gives_the_same_answers_in_any_pieces_whatever_was_asked_before(opened):
    whole, single, mixed = opened(), opened(), opened()
    whole.ingest(THREAD)
    for turn in THREAD:
        single.ingest([turn])
    start = 0
    for size in (1, 20, 0, 2, 100, 77, 150, 50):
        mixed.ingest(THREAD[start : start + size])
        start += size
        mixed.retrieve(REQUESTS[1])
    assert start == TURNS
    assert answers(single) == answers(mixed) == answers(whole)
    assert single.account() == mixed.account() == whole.account()


def test_asking_changes_nothing(opened):
    system, other = opened(), opened()
    system.ingest(THREAD)
    other.ingest(THREAD)
    found, kept = answers(system), system.account()
    assert [other.retrieve(asked) for asked in reversed(REQUESTS)] == found[::-1]
    assert answers(system) == found
    assert system.account() == kept


def test_nothing_is_known_of_turns_or_questions_to_come(opened):
    """Not even by what another system of the same process learned of them."""
    early = opened()
    early.ingest(THREAD[:150])
    before = early.retrieve(ASKED)
    late = opened()
    late.ingest(THREAD)
    answers(late)
    late.observe(Exchange(turns=pair(TURNS)))
    again = opened()
    again.ingest(THREAD[:150])
    assert again.retrieve(ASKED) == before
    assert before.shown <= set(range(150))


def test_a_fresh_system_remembers_nothing(opened):
    system = opened()
    system.ingest(THREAD)
    answers(system)
    fresh = opened()
    found = fresh.retrieve(ASKED)
    assert (found.units, found.shown) == ((), frozenset())
    assert (fresh.account().vectors, fresh.account().indexed_words) == (0, 0)


def test_an_exchange_becomes_part_of_the_thread(opened, name):
    told, watched = opened(), opened()
    for system in (told, watched):
        system.ingest(THREAD)
        system.retrieve(ASKED)
    told.ingest(pair(TURNS))
    watched.observe(Exchange(turns=pair(TURNS)))
    same = ask(pair(TURNS)[0].text)
    assert watched.retrieve(same) == told.retrieve(same)
    assert watched.account() == told.account()
    if name != "zero_shot":
        assert watched.retrieve(same).shown & {TURNS, TURNS + 1}


@pytest.mark.parametrize("writeback", [True, False])
def test_exchanges_of_a_loop_come_back_with_writeback_alone(name, tmp_path, writeback):
    package = build(RECORDS[:12], NOISE, settings_of(1500))[0]
    settings = LoopSettings(system=name, template=template("answer.v1"), writeback=writeback)
    backend = open_backend("extractive")
    rows = run_package(package, settings, backend, WordEmbedder(), tmp_path)
    assert (score(rows).exchange_share > 0) is (writeback and name != "zero_shot")


def test_gold_is_for_the_oracle_alone(tools):
    oracle = open_system("oracle", tools)
    oracle.ingest(THREAD)
    assert oracle.retrieve(ASKED).shown == {3, 5}
    with pytest.raises(AssertionError, match="looked up"):
        open_system("oracle", Tools(embedder=WordEmbedder(), truth=Untouchable())).retrieve(ASKED)


def test_evidence_is_not_even_handed_to_others(name, tools, monkeypatch):
    (point,) = entry_points(group=registry.GROUP, name=name)
    handed = []
    monkeypatch.setattr(f"{point.module}.{point.attr}", lambda options, tools: handed.append(tools))
    open_system(name, tools)
    assert [(dict(one.truth), one.dialogues) for one in handed] == [({}, ())]


def test_neither_evidence_nor_the_name_of_a_question_plays_a_part(opened):
    system = opened(using=Tools(embedder=WordEmbedder(), truth=Untouchable()))
    system.ingest(THREAD)
    found = system.retrieve(ASKED)
    assert system.retrieve(ask(ASKED.question, "another")) == found
    system.observe(Exchange(turns=pair(TURNS)))
    system.views(ASKED)
    system.account()


def test_limits_are_kept_and_used_while_exchanges_come_in(opened, name):
    assert name in LIMITS, f"say in LIMITS which options hold the context of {name} short"
    options, most_tokens, most_units = LIMITS[name]
    system = opened(options)
    system.ingest(THREAD)
    found = answers(system)
    for number in range(TURNS, TURNS + 40, 2):
        system.observe(Exchange(turns=pair(number)))
        found.append(system.retrieve(ask(pair(number)[0].text)))
    lengths = [tokens.estimate(one.context) for one in found]
    assert most_units is None or max(len(one.units) for one in found) <= most_units
    if most_tokens is not None:
        assert max(lengths) <= most_tokens
        assert max(lengths) >= most_tokens / 2


def fingerprints():
    """What each system finds in the whole thread and after an exchange, in a few characters."""
    out = {}
    for name in NAMES:
        system = open_system(name, Tools(embedder=WordEmbedder()))
        system.ingest(THREAD)
        found = answers(system)
        system.observe(Exchange(turns=pair(TURNS)))
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


def test_everything_is_shown_without_a_cap(tools):
    full = open_system("full_context", tools)
    full.ingest(THREAD)
    assert full.retrieve(ASKED).shown == set(range(TURNS))


def test_hybrid_brings_neighbours_and_exact_words(tools):
    system = open_system("hybrid_rrf:cap=60,depth=3", tools)
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
        ("standard_rag:k", "not key=value"),
        ("standard_rag:j=3", "unknown option 'j'"),
        ("standard_rag:k=many", "should be int"),
    ],
)
def test_a_wrong_specification_says_what_is_wrong(tools, spec, message):
    with pytest.raises(DataError, match=message):
        open_system(spec, tools)


def test_diagnosis_of_controls_is_as_it_must_be(tiny_embedder):
    packages = build(RECORDS[:12], NOISE, settings_of(3000))
    oracle = diagnose(packages, "oracle", tiny_embedder)
    nothing = diagnose(packages, "zero_shot", tiny_embedder)
    everything = diagnose(packages, "full_context", tiny_embedder)
    assert (oracle.recall_at_5, nothing.recall_at_5, everything.recall_at_5) == (1, 0, 1)
    assert oracle.questions == 12
    assert nothing.context_tokens == 0
    assert everything.context_tokens > 2500


def test_views_are_diagnosed_for_tsim(tiny_embedder):
    packages = build(RECORDS[:12], NOISE, settings_of(3000))
    found = diagnose(packages, "tsim_official", tiny_embedder)
    assert found.view_hit_rates.keys() == {"raw", "summary", "cluster"}
    assert found.vectors > len(packages[0].stream)


PLUGIN = """
from scaleqa.systems.controls import ZeroShot
from scaleqa.systems.protocol import Unit

class Newest(ZeroShot):
    def retrieve(self, asked):
        return self.show([Unit(turns=tuple(sorted(self.turns))[-2:], score=1.0)])

def make(options, tools):
    return Newest()
"""


def test_an_outside_package_with_one_file_joins_the_benchmark(tmp_path):
    """A real installation, seen through entry points by a fresh process."""
    site = tmp_path / "site"
    info = site / "newest_memory-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "newest_memory.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: newest-memory\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scaleqa.systems]\nnewest = newest_memory:make\n")
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from scaleqa.systems import *\n"
        "from scaleqa.packages import StreamTurn\n"
        "system = open_system('newest', Tools(embedder=None))\n"
        "system.ingest([StreamTurn(id=n, role='user', text=str(n)) for n in range(5)])\n"
        "found = system.retrieve(Asked(id='q', question='?', options={}))\n"
        "print(json.dumps([sorted(found.shown), 'newest' in system_names()]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(site)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(ran.stdout) == [[3, 4], True]


def test_a_summary_is_the_most_central_sentences_in_their_order():
    texts = [
        "The rule is one gpu for new projects. Bread was good today.",
        "New projects keep to one gpu! Trains run late.\nThe gpu rule for projects is new.",
    ]
    short = summarise(texts, 22)
    assert short == "The rule is one gpu for new projects. The gpu rule for projects is new."
    assert summarise([], 20) == summarise(["the of and"], 20) == ""
    assert summarise(texts, 1000).count("gpu") == 3
