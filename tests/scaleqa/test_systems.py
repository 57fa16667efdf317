"""Every system passes one suite; each then shows what it is for on a small thread."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scaleqa.errors import DataError
from scaleqa.evaluate import diagnose
from scaleqa.packages import StreamTurn, build
from scaleqa.systems import Asked, Exchange, Tools, open_system, system_names
from scaleqa.systems.summarise import summarise
from tests.scaleqa.test_packages import NOISE, RECORDS, settings_of

THREAD = [
    "the rule says one gpu only",
    "bread and train",
    "for new projects",
    "budget letter budget letter",
    "train the bread",
    "only one letter",
    "the gpu rule",
    "projects says new",
] * 6


def thread(texts=THREAD, start=0):
    return [
        StreamTurn(id=start + n, role=("user", "model")[n % 2], text=f"{text} {start + n}")
        for n, text in enumerate(texts)
    ]


ASKED = Asked(id="q1", question="which gpu rule?", options=dict.fromkeys("ABCD", "x"))
NAMES = [name for name in system_names() if name != "oracle"]


@pytest.fixture
def tools(tiny_embedder):
    return Tools(embedder=tiny_embedder, truth={"q1": (3, 5)})


@pytest.fixture(params=NAMES)
def opened(request, tools):
    systems = []

    def make():
        systems.append(open_system(request.param, tools))
        return systems[-1]

    yield make
    for system in systems:
        system.close()


def test_turns_found_are_turns_that_were_told(opened):
    system = opened()
    system.ingest(thread())
    found = system.retrieve(ASKED)
    told = set(range(len(THREAD)))
    assert found.shown <= told
    assert {turn for unit in found.units for turn in unit.turns} <= told
    for turn in found.shown:
        assert THREAD[turn] in found.context


def test_the_same_thread_gives_the_same_answer_in_any_pieces(opened):
    whole, pieces = opened(), opened()
    whole.ingest(thread())
    for turn in thread():
        pieces.ingest([turn])
    assert pieces.retrieve(ASKED) == whole.retrieve(ASKED)
    assert whole.retrieve(ASKED) == whole.retrieve(ASKED)


def test_nothing_is_known_of_turns_to_come(opened):
    early, late = opened(), opened()
    early.ingest(thread()[:20])
    late.ingest(thread()[:20])
    before = late.retrieve(ASKED)
    late.ingest(thread()[20:])
    assert early.retrieve(ASKED) == before


def test_a_fresh_system_remembers_nothing(opened):
    system = opened()
    system.ingest(thread())
    fresh = opened()
    assert fresh.retrieve(ASKED).shown == frozenset()


def test_an_exchange_becomes_part_of_the_thread(opened, request):
    system = opened()
    system.ingest(thread())
    number = len(THREAD)
    pair = tuple(thread(["which gpu rule?", "which gpu rule? one"], start=number))
    system.observe(Exchange(turns=pair))
    shown = system.retrieve(ASKED).shown
    if "zero_shot" not in request.node.name:
        assert shown & {number, number + 1}


def test_gold_is_for_the_oracle_alone(tools):
    system = open_system("oracle", tools)
    system.ingest(thread())
    assert system.retrieve(ASKED).shown == {3, 5}
    for name in NAMES:
        other = open_system(name, tools)
        assert not getattr(other, "_truth", None)
        other.close()


def test_caps_are_kept(tools):
    for spec, cap in (("hybrid_rrf:cap=40", 40), ("full_context:cap=50", 50)):
        system = open_system(spec, tools)
        system.ingest(thread())
        found = system.retrieve(ASKED)
        assert 0 < len(found.context.split()) * 1.3 <= cap + 5
    full = open_system("full_context", tools)
    full.ingest(thread())
    assert full.retrieve(ASKED).shown == set(range(len(THREAD)))


def test_hybrid_brings_neighbours_and_exact_words(tools):
    system = open_system("hybrid_rrf:cap=60,depth=3", tools)
    system.ingest(thread(["bread", "train", "kx-204b", "letter", "new", "budget"] * 2))
    found = system.retrieve(Asked(id="q", question="kx-204b", options={}))
    assert {1, 2, 3} <= found.shown


def test_windows_hold_whole_turns_of_about_the_size(tools):
    system = open_system("fixed_window:size=40,k=100", tools)
    system.ingest(thread())
    units = system.retrieve(ASKED).units
    assert sorted(turn for unit in units for turn in unit.turns) == list(range(len(THREAD)))
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
    found = diagnose(packages, "tsim", tiny_embedder)
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
        cwd=Path(__file__).parents[2],
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
