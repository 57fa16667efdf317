"""Runs from the command line: checked before they begin, alone in their directory, stoppable."""

import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from scaleqa.backends import Stop, StoppedError, open_backend
from scaleqa.backends.openai import OpenAI
from scaleqa.cli.app import main
from scaleqa.cli.arguments import typed_command
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_packages, run_systems
from scaleqa.evaluate.batch import BatchSettings, export_batch
from scaleqa.evaluate.lock import locked
from scaleqa.evaluate.rowfile import all_rows, read_rows
from scaleqa.packages import build, write_packages
from scaleqa.pages.table import listing
from scaleqa.pages.terminal import print_tables
from scaleqa.prompts import template
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import loop
from tests.support.servers import JsonServer, completion, serving
from tsim.errors import RemoteError
from tsim.http import Patience

COMMAND = [sys.executable, "-c", "from scaleqa.cli.app import main; main()"]


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:24], NOISE, settings_of(1500))


@pytest.fixture(scope="module")
def written(packages, tmp_path_factory):
    out = tmp_path_factory.mktemp("threads") / "packages"
    write_packages(packages, out)
    return out


@pytest.fixture
def start(written, tiny, tmp_path):
    """Starts `scaleqa run` as a process of its own."""

    def begin(url, *more):
        words = [
            "run", str(written), "--out", "out", "--model", str(tiny), "--no-cache",
            "--backend", f"openai:m@{url}", "--system", "zero_shot", *more,
        ]  # fmt: skip
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return begin


class Gate:
    """A server that answers while it is open, and tells when somebody waits."""

    def __init__(self, free):
        self.left = free
        self.waiting = threading.Event()
        self.open = threading.Event()

    def __call__(self, _):
        self.left -= 1
        if self.left < 0:
            self.waiting.set()
            self.open.wait(60)
        return completion("ANSWER: A\nRATIONALE: so")


def test_an_interrupted_run_ends_with_its_calls_in_flight(start, packages, tmp_path):
    gate = Gate(free=4)
    with serving(JsonServer(gate)) as server:
        run = start(server.url, "--workers", "2")
        assert gate.waiting.wait(60)
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert run.poll() is None  # it waits for what is in flight
        gate.open.set()
        _, said = run.communicate(timeout=60)
        assert run.returncode == 130, said
        asked = len(server.seen)
    assert "waiting for the calls in flight" in said
    assert "the same command continues there" in said
    rows = all_rows(tmp_path / "out")
    assert len(rows) == asked  # everything that was paid for is kept
    assert len(rows) <= 6
    assert len(packages) > 1


def test_a_second_interruption_does_not_wait(start):
    gate = Gate(free=2)
    with serving(JsonServer(gate)) as server:
        run = start(server.url, "--workers", "2")
        assert gate.waiting.wait(60)
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
        gate.open.set()
    assert run.returncode in (130, -signal.SIGINT), said  # a shell reports both as 130


def test_without_workers_an_interruption_waits_for_nothing(start):
    gate = Gate(free=2)
    with serving(JsonServer(gate)) as server:
        run = start(server.url)
        assert gate.waiting.wait(60)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
        gate.open.set()
    assert run.returncode == 130, said
    assert "the same command continues there" in said


def test_a_second_run_into_a_directory_is_refused_at_once(start, packages, tmp_path):
    gate = Gate(free=3)
    with serving(JsonServer(gate)) as server:
        first = start(server.url)
        assert gate.waiting.wait(60)
        second = start(server.url)
        _, said = second.communicate(timeout=60)
        assert second.returncode == 1
        assert "another run is writing to out; wait until it ends" in said
        assert len(server.seen) == 4
        gate.open.set()
        _, said = first.communicate(timeout=60)
        assert first.returncode == 0, said
    assert len(all_rows(tmp_path / "out")) == sum(len(one.questions) for one in packages)


def test_the_lock_dies_with_its_process(start, tmp_path):
    gate = Gate(free=1)
    with serving(JsonServer(gate)) as server:
        run = start(server.url)
        assert gate.waiting.wait(60)
        with pytest.raises(DataError, match="another run is writing"), locked(tmp_path / "out"):
            pass
        run.kill()
        run.communicate()
        gate.open.set()
    with locked(tmp_path / "out"):
        pass


def test_a_server_that_says_nothing_fails_the_run(start, tmp_path):
    with serving(JsonServer(lambda _: {"choices": [], "usage": None})) as server:
        run = start(server.url)
        _, said = run.communicate(timeout=60)
        assert run.returncode == 1
        assert "without saying anything" in said
        assert len(server.seen) == 3
    assert not any(read_rows(path) for path in tmp_path.rglob("*.jsonl"))


def test_a_failure_ends_the_waiting_of_other_packages(packages, tiny_embedder):
    """One package is rejected while another waits for an overloaded server to recover."""
    stop, waiting, ended = Stop(), threading.Event(), []

    def answer(body):
        waiting.wait(60)
        return {"no": "completion"}

    def sleep(_):
        waiting.set()
        try:
            stop.sleep(60)
        except StoppedError:
            ended.append(True)
            raise

    with serving(JsonServer(answer)) as server:
        server.script = [None, (503, {}, {})]
        backend = OpenAI("m", base_url=server.url, patience=Patience(sleep=sleep), stop=stop)
        settings = loop(backend, "zero_shot")
        with pytest.raises(RemoteError, match="something else than a completion"):
            run_packages(packages[:2], settings, tiny_embedder, workers=2, stop=stop)
        backend.close()
    assert ended == [True]


def test_who_is_stopped_neither_waits_nor_asks():
    stop = Stop()
    stop.set()
    with pytest.raises(StoppedError):
        stop.sleep(60)
    with serving(JsonServer(lambda _: completion("x"))) as server:
        model = OpenAI("m", base_url=server.url, stop=stop)
        with pytest.raises(StoppedError):
            model.chat([])
        model.close()
        assert not server.seen


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ("no_such_system", "no system"),
        ("standard_rag:k=none", "should be int"),
        ("standard_rag:q=1", "unknown option"),
    ],
)
def test_all_systems_are_checked_before_the_first_runs(
    packages, tiny_embedder, tmp_path, second, problem
):
    several = [RunSettings(system="zero_shot"), RunSettings(system=second)]
    with pytest.raises(DataError, match=problem):
        run_systems(packages, several, tiny_embedder, tmp_path)
    assert not [*tmp_path.rglob("*.jsonl")]


def test_rows_of_every_system_are_checked_before_the_first_runs(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    run_packages(packages[:1], RunSettings(system="oracle"), tiny_embedder, tmp_path)
    several = [loop(backend, "zero_shot"), loop(backend, "oracle")]
    with pytest.raises(DataError, match=r"different: reader\); choose another --out, or go on"):
        run_systems(packages[:1], several, tiny_embedder, tmp_path)
    assert [path.parent.name for path in tmp_path.rglob("*.jsonl")] == ["oracle"]


def test_a_changed_package_is_refused_for_every_system(packages, tiny_embedder, tmp_path):
    run_packages(packages, RunSettings(system="oracle"), tiny_embedder, tmp_path)
    changed = [replace(packages[0], questions=packages[0].questions[:-1]), *packages[1:]]
    with pytest.raises(DataError, match=r"have changed since; choose another --out, or use"):
        run_packages(changed, RunSettings(system="zero_shot"), tiny_embedder, tmp_path)
    assert not (tmp_path / "zero_shot").exists()


def test_versions_do_not_mix(packages, tiny_embedder, tmp_path):
    run_packages(packages[:1], RunSettings(system="oracle"), tiny_embedder, tmp_path)
    (path,) = tmp_path.rglob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["run"]["scaleqa"] = "0.0.9"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match=r"written by scaleqa 0\.0\.9, and this is .* or go on"):
        run_packages(packages[:1], RunSettings(system="zero_shot"), tiny_embedder, tmp_path)
    path.write_text("".join(json.dumps({**line, "version": 3}) + "\n" for line in lines))
    with pytest.raises(DataError, match="a row of version 3, and this scaleqa reads versions up"):
        run_packages(packages[:1], RunSettings(system="zero_shot"), tiny_embedder, tmp_path)


def test_a_file_is_no_directory_of_rows(packages, tiny_embedder, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="is no directory; choose another --out"):
        run_packages(packages, RunSettings(system="oracle"), tiny_embedder, tmp_path / "file")


def test_a_batch_checks_all_systems_before_the_first(packages, tiny_embedder, tmp_path):
    asked = BatchSettings(
        systems=("zero_shot", "nobody"), answer_model="m", template=template("answer.v1")
    )
    steps = []
    with pytest.raises(DataError, match="no system 'nobody'"):
        export_batch(
            packages,
            asked,
            tiny_embedder,
            tmp_path / "p.jsonl",
            progress=lambda *n: steps.append(n),
        )
    assert not steps
    assert not [*tmp_path.iterdir()]


def test_commands_are_noted_without_credentials(monkeypatch):
    given = ["retrieve", "/some/where/packages", "--assist", "openai:m@http://me:hunter2@h:1/v1"]
    monkeypatch.setattr(sys, "argv", ["scaleqa", *given])
    assert typed_command() == "scaleqa retrieve packages --assist openai:m@http://h:1/v1"


def test_tables_show_what_would_act_on_a_terminal(capsys):
    print_tables(listing([{"package": "\x1b[2J[/red]", "turns": 3}], title="\x9b[bold]"))
    printed = capsys.readouterr().out
    assert "\\x1b[2J[/red]" in printed
    assert "\\x9b[bold]" in printed
    assert "\x1b" not in printed
    assert "\x9b" not in printed


@pytest.mark.parametrize(
    "words",
    [
        ("retrieve", "[/red]\x1b[2J"),
        ("retrieve", "scaleqa:target=16k,subset=2", "--system", "[/red]\x1b[2J"),
        ("run", "scaleqa:target=\x1b[2J", "--out", "x", "--backend", "[/red]"),
        ("report", "[/red]\x1b[2J"),
        ("compare", "[/red]\x1b[2J", "a", "b"),
        ("systems", "[/red]\x1b[2J"),
        ("backends", "[/red]\x1b[2J"),
        ("datasets", "[/red]\x1b[2J"),
        ("data", "show", "[/red]\x1b[2J"),
        ("data", "validate", "[/red]\x1b[2J"),
        ("noise", "report", "[/red]\x1b[2J"),
        ("build", "--out", "x", "--dataset", "[/red]\x1b[2J"),
        ("batch", "import", "[/red]\x1b[2J", "b", "--out", "c"),
        ("cuts", "[/red]\x1b[2J"),
    ],
)
def test_no_command_takes_names_for_anything_else(words, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["scaleqa", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "[/red]" in printed.err or "x1b" in printed.err
