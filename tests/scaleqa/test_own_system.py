"""A system of one's own: from a file, from the docs, from a package that is installed."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scaleqa.errors import DataError
from scaleqa.packages import build, write_packages
from scaleqa.systems import FlatSystem, Tools, Unit, open_system
from scaleqa.testing import SystemConformance
from tests.support.records import NOISE, RECORDS, settings_of

ROOT = Path(__file__).parents[2]
PLUGIN = """
from scaleqa.systems import FlatSystem, Unit

class Newest(FlatSystem):
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


@pytest.fixture
def command(tiny, tmp_path, monkeypatch):
    """The real command line, beside a small package."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TSIM_MODEL", str(tiny))
    write_packages(build(RECORDS[:12], NOISE, settings_of(1500)), tmp_path / "packages")

    def run(*arguments, code=0):
        script = "from scaleqa.cli.app import main; main()"
        ran = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "80"},
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stderr if code else ran.stdout

    return run


def examples():
    """The files that the page on systems shows, by the name in their first line."""
    page = (ROOT / "docs" / "systems.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```", page, re.M | re.S)
    return dict(blocks)


def test_the_system_in_the_docs_passes_the_suite_and_runs(command, tmp_path):
    for name, text in examples().items():
        (tmp_path / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_overlap.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"^\d+ passed", ran.stdout, re.M), ran.stdout
    found = json.loads(
        command("retrieve", "packages", "--system",
                "overlap.py:SYSTEM,overlap.py:SYSTEM:k=1,zero_shot", "--json")
    )  # fmt: skip
    assert [one["system"] for one in found] == [
        "overlap.py:SYSTEM", "overlap.py:SYSTEM:k=1", "zero_shot",
    ]  # fmt: skip
    five, one, none = (row["context_tokens"] for row in found)
    assert five > one > none == 0
    assert "Turns shown." in command("systems", "overlap.py:SYSTEM")


def test_a_plain_function_in_a_file_is_a_system(command, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    (found,) = json.loads(command("retrieve", "packages", "--system", "mine.py:make", "--json"))
    assert found["system"] == "mine.py:make"
    assert found["context_tokens"] > 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("absent.py:make", "no file absent.py for system 'absent.py:make'"),
        ("mine.py:other", "mine.py has no 'other' for a system; it has FlatSystem, Unit, Newest"),
        ("mine.py:number", "system 'mine.py:number' is 3; expected a SystemDeclaration"),
        ("broken.py:make", "broken.py fails to import: ZeroDivisionError: division by zero"),
        ("wrong.py:make", "wrong.py fails to import: SyntaxError"),
        ("mine.py", "'mine.py' does not say what to open; write mine.py:ATTRIBUTE"),
    ],
)
def test_a_file_that_is_no_system_says_what_is_wrong(tmp_path, monkeypatch, spec, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PLUGIN + "number = 3\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "wrong.py").write_text("def make(\n")
    with pytest.raises(DataError, match=re.escape(message)):
        open_system(spec, Tools(embedder=None))


def test_a_wrong_file_is_told_without_a_traceback(command, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    said = command("retrieve", "packages", "--system", "broken.py:make", code=1)
    assert "broken.py fails to import: ZeroDivisionError" in said
    assert "Traceback" not in said


class Newest(FlatSystem):
    """A system that keeps the rules: the newest two turns."""

    def __init__(self, tools):
        super().__init__()
        self.tools = tools

    def retrieve(self, asked):
        newest = tuple(sorted(self.turns))[-2:]
        return self.show([Unit(turns=newest, score=1.0)] if newest else [])


class Peeking(Newest):
    def retrieve(self, asked):
        return self.show([Unit(turns=self.tools.truth[asked.id], score=1.0)])


class Told(Newest):
    def ingest(self, turns):
        self.home = {turn: block for block in self.tools.dialogues for turn in block}
        super().ingest(turns)


class Forgetful(Newest):
    def observe(self, exchange):
        pass


class Noting(Newest):
    def retrieve(self, asked):
        self.words += 1
        return super().retrieve(asked)


KEPT = {}


class Lasting(Newest):
    def __init__(self, tools):
        super().__init__(tools)
        self.turns = KEPT


class Inventing(Newest):
    def retrieve(self, asked):
        return replace(super().retrieve(asked), shown=frozenset({0}))


class Upside(Newest):
    def retrieve(self, asked):
        return self.show([Unit(turns=(turn,), score=turn) for turn in [*self.turns][:2]])


class Long(Newest):
    def retrieve(self, asked):
        return self.show([Unit(turns=(turn,), score=0.0) for turn in [*self.turns][-9:]])


@pytest.mark.parametrize(
    ("system", "broken"),
    [
        (Peeking, "test_truth_and_the_names_of_questions_play_no_part"),
        (Told, "test_truth_and_the_names_of_questions_play_no_part"),
        (Forgetful, "test_an_exchange_becomes_part_of_the_thread"),
        (Noting, "test_asking_changes_nothing"),
        (Lasting, "test_a_fresh_system_is_empty_and_can_be_asked"),
        (Inventing, "test_what_is_shown_was_told_and_is_in_the_context"),
        (Upside, "test_units_are_best_first_and_hold_their_turns_in_order"),
        (Long, "test_limits_are_kept_and_used_while_exchanges_come_in"),
    ],
)
def test_the_suite_finds_what_breaks_a_rule(system, broken):
    class Suite(SystemConformance):
        most_units = 2

        def open_system(self, tools):
            return self.made(tools)

    suite = Suite()
    suite.made = Newest
    getattr(suite, broken)()
    suite.made = system
    with pytest.raises(AssertionError):
        getattr(suite, broken)()


MISBEHAVING = """
def raising(options, tools):
    raise RuntimeError("no GPU")

def nothing(options, tools):
    return object()
"""


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("raising", r"cannot be opened: RuntimeError: no GPU"),
        ("nothing", r"makes object, which has no ingest\(\)"),
    ],
)
def test_a_system_that_misbehaves_is_named(tmp_path, attribute, message):
    (tmp_path / "mine.py").write_text(MISBEHAVING)
    with pytest.raises(DataError, match=message):
        open_system(f"{tmp_path / 'mine.py'}:{attribute}", Tools(embedder=None))


def test_a_system_that_was_renamed_says_so():
    with pytest.raises(DataError, match="'tsim_late' is called 'tsim' now"):
        open_system("tsim_late", Tools(embedder=None))


def test_what_cannot_be_written_is_named_without_a_traceback(tmp_path):
    (tmp_path / "afile").write_text("x")
    command = [sys.executable, "-c", "from scaleqa.cli.app import main; main()"]
    ran = subprocess.run(
        [*command, "build", "--target", "0", "--subset", "4", "--out", "afile/packages", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    error = json.loads(ran.stdout)["error"]
    assert error["kind"] == "bad_file"
    assert "afile" in error["message"]
