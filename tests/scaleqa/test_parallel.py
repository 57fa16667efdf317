"""Runs in parallel: the rows of one process, whoever is killed meanwhile."""

import importlib.util
import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from scaleqa.backends import Stop
from scaleqa.cli.executors import chosen
from scaleqa.errors import DataError, WorkError
from scaleqa.evaluate.rowfile import all_rows, row_files
from scaleqa.packages import build, write_packages
from scaleqa.shards import Asked, InProcess, Order, Processes, Recipe
from scaleqa.shards.board import Board
from tests.support.processes import descendants, kill, peers, wait_for, words
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.servers import JsonServer, completion, serving
from tsim.cli.shell import progress_bar

SYSTEMS = "standard_rag,zero_shot"
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs pip install 'scaleqa[ray]'"
)
# A system that ends the process that it is in, if a file is there to be removed.
FATAL = """
import os, signal
from pathlib import Path
from scaleqa.systems.zero_shot import SYSTEM

class Fatal:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        return getattr(self.inner, name)
    def ingest(self, turns):
        for shot in sorted(Path(os.environ["SHOTS"]).iterdir()):
            shot.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

def make(options, tools):
    return Fatal(SYSTEM.open({}, tools))
"""


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:24], NOISE, settings_of(1500))


@pytest.fixture(scope="module")
def written(packages, tmp_path_factory):
    out = tmp_path_factory.mktemp("threads") / "packages"
    write_packages(packages, out)
    return out


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def start(tmp_path, written, tiny):
    """Starts `scaleqa` as a process of its own."""
    started = []

    def begin(*given):
        process = subprocess.Popen(
            [sys.executable, "-m", "scaleqa", *map(str, given)],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


class Gate:
    """A server's answers: some at once, the others when it is opened."""

    def __init__(self, free):
        self.left = free
        self.lock = threading.Lock()
        self.waiting = threading.Event()
        self.open = threading.Event()

    def __call__(self, _):
        with self.lock:
            self.left -= 1
            closed = self.left < 0
        if closed:
            self.waiting.set()
            self.open.wait(120)
        return completion("ANSWER: A\nRATIONALE: so")


@pytest.fixture
def loop(written, tiny):
    """The words of a closed loop on a server."""

    def said(server, out, *more):
        return (
            "run", written, "--out", out, "--model", tiny, "--no-cache", "--system", SYSTEMS,
            "--backend", f"openai:m@{server.url}", *more,
        )  # fmt: skip

    return said


@pytest.fixture
def alone(packages, tiny, tmp_path):
    """The same loop in this process, which nobody kills; returns its lines."""

    def run(server):
        recipe = Recipe(
            model=str(tiny), backend=f"openai:m@{server.url}", prompt="answer.v1", cached=False
        )
        threads = tuple((Asked(package=one, out=tmp_path / "alone"),) for one in packages)
        order = Order(recipe=recipe, systems=tuple(SYSTEMS.split(",")), threads=threads)
        InProcess().run([order], bar_to([]))
        return lines(tmp_path / "alone")

    return run


def lines(out: Path) -> dict[str, list[str]]:
    """Every line of a run's files, without the times of its row, which no run repeats."""
    found = {}
    for path in row_files(out):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for row in rows:
            del row["timing"]
        found[str(path.relative_to(out))] = [json.dumps(row) for row in rows]
    return found


def finished(process) -> str:
    said, problems = process.communicate(timeout=180)
    assert process.returncode == 0, problems
    return said


def total(packages, systems=2) -> int:
    return systems * sum(len(package.questions) for package in packages)


def workers_of(process) -> list[int]:
    return [pid for pid in descendants(process.pid) if " work " in words(pid)]


def test_processes_make_the_rows_of_one_process(packages, tiny, tmp_path):
    """Ranges of questions, several packages, and packages that share a thread."""
    recipe = Recipe(model=str(tiny))
    systems = ("tsim", "standard_rag")
    several = tuple((Asked(package=one, out=tmp_path / "one"),) for one in packages)
    order = Order(recipe=recipe, systems=systems, threads=several)
    (alone,) = InProcess().run([order], progress_bar)
    threads = tuple((Asked(package=one, out=tmp_path / "two"),) for one in packages)
    executor = Processes(jobs=2, work=tmp_path / "work")
    seen = []
    order = Order(recipe=recipe, systems=systems, threads=threads)
    (found,) = executor.run([order], bar_to(seen))
    assert lines(tmp_path / "one") == lines(tmp_path / "two")
    assert [(n, len(rows)) for n, rows in found.items()] == [
        (n, len(rows)) for n, rows in alone.items()
    ]
    assert not (tmp_path / "work").exists()
    name, whole = (
        f"{2 * len(packages)} shards",
        sum(2 * (len(one.stream) + len(one.questions)) for one in packages),
    )
    assert {label for label, *_ in seen} == {name}
    assert seen[-1] == (name, whole, whole)


def bar_to(seen):
    """A bar that notes what it is told."""

    @contextmanager
    def bar(label):
        yield lambda done, total: seen.append((label, done, total))

    return bar


def test_one_thread_is_asked_by_ranges_of_questions(packages, tiny, tmp_path):
    recipe, package = Recipe(model=str(tiny)), packages[0]
    for out, executor in (
        ("one", InProcess()),
        ("two", Processes(jobs=2, work=tmp_path / "work")),
    ):
        order = Order(
            recipe=recipe,
            systems=("tsim",),
            threads=((Asked(package=package, out=tmp_path / out),),),
        )
        seen = []
        executor.run([order], bar_to(seen))
    assert seen[-1][0] == "2 shards"
    assert lines(tmp_path / "one") == lines(tmp_path / "two")


@pytest.mark.slow
def test_a_worker_process_that_is_killed_costs_nothing_but_its_call(
    start, loop, alone, packages, tmp_path
):
    gate = Gate(free=4)
    with serving(JsonServer(gate)) as server:
        run = start(*loop(server, "out", "--jobs", "2"))
        assert gate.waiting.wait(120)
        kill(workers_of(run)[0])
        gate.open.set()
        finished(run)
        assert len(server.seen) <= total(packages) + 1
        expected = alone(server)
    assert lines(tmp_path / "out") == expected
    assert not (tmp_path / "out" / ".work").exists()


@pytest.mark.slow
def test_workers_share_a_directory_and_one_is_killed(start, loop, alone, packages, tmp_path):
    gate = Gate(free=4)
    with serving(JsonServer(gate)) as server:
        run = start(*loop(server, "out", "--share", "work", "--jobs", "0", "--lease", "1.5"))
        wait_for((tmp_path / "work").is_dir)
        workers = [start("work", "work", "--threads", "1") for _ in range(2)]
        assert gate.waiting.wait(120)
        board = Board(tmp_path / "work")
        wait_for(lambda: sum(one[-1].end is None for one in board.attempts().values()) == 2)
        workers[0].kill()
        gate.open.set()
        finished(run)
        said = finished(workers[1])
        assert "did" in said
        assert len(server.seen) <= total(packages) + 1
        expected = alone(server)
    assert lines(tmp_path / "out") == expected
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["vectors"]
    assert [*(tmp_path / "work" / "vectors").rglob("*")]


@pytest.mark.slow
def test_a_worker_that_comes_back_does_no_harm(start, loop, alone, packages, tmp_path):
    """It was stopped for longer than its lease, and others have done its work."""
    gate = Gate(free=4)
    with serving(JsonServer(gate)) as server:
        run = start(*loop(server, "out", "--share", "work", "--jobs", "0", "--lease", "1"))
        wait_for((tmp_path / "work").is_dir)
        sleeper = start("work", "work")
        assert gate.waiting.wait(120)
        sleeper.send_signal(signal.SIGSTOP)
        gate.open.set()
        awake = start("work", "work")
        board = Board(tmp_path / "work")
        wait_for(
            lambda: any(
                attempt.end == "lost" for one in board.attempts().values() for attempt in one
            )
        )
        sleeper.send_signal(signal.SIGCONT)
        finished(run)
        finished(awake)
        finished(sleeper)
        expected = alone(server)
    assert lines(tmp_path / "out") == expected


@pytest.mark.slow
@needs_ray
def test_a_process_of_a_ray_cluster_is_killed(start, loop, alone, packages, tmp_path):
    gate = Gate(free=4)
    with serving(JsonServer(gate)) as server:
        run = start(*loop(server, "out", "--ray", "local", "--jobs", "2"))
        assert gate.waiting.wait(120)
        tasks = [pid for pid in descendants(run.pid) if words(pid).startswith("ray::work_on")]
        assert tasks
        heard = peers([run.pid, *descendants(run.pid)])
        told = (Path("/proc") / str(tasks[0]) / "environ").read_bytes()
        kill(tasks[0])
        gate.open.set()
        finished(run)
        expected = alone(server)
    assert lines(tmp_path / "out") == expected
    assert heard == {"127.0.0.1"}  # nobody else can give orders, and nothing is reported
    assert b"RAY_USAGE_STATS_ENABLED=0" in told


@pytest.mark.slow
def test_an_interrupted_run_ends_its_workers_and_goes_on_later(
    start, loop, alone, packages, tmp_path
):
    gate = Gate(free=5)
    with serving(JsonServer(gate)) as server:
        run = start(*loop(server, "out", "--jobs", "2"))
        assert gate.waiting.wait(120)
        workers = workers_of(run)
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert run.poll() is None  # it waits for what is in flight
        gate.open.set()
        _, said = run.communicate(timeout=60)
        assert run.returncode == 130, said
        assert "waiting for the calls in flight" in said
        assert "the same command continues there" in said
        assert not any(words(pid) for pid in workers)
        asked = len(server.seen)
        kept = len(all_rows(tmp_path / "out"))
        assert kept == asked  # everything that was paid for is kept
        finished(start(*loop(server, "out", "--jobs", "2")))
        assert len(server.seen) == total(packages)  # nothing is asked twice
        expected = alone(server)
    assert lines(tmp_path / "out") == expected


@pytest.mark.slow
def test_a_coordinator_that_is_killed_takes_its_workers_along(
    start, loop, alone, packages, tmp_path
):
    gate = Gate(free=5)
    with serving(JsonServer(gate)) as server:
        run = start(*loop(server, "out", "--jobs", "2"))
        assert gate.waiting.wait(120)
        workers = workers_of(run)
        run.kill()
        run.communicate()
        logs = [*(tmp_path / "out" / ".work" / "workers").iterdir()]
        wait_for(lambda: all("has ended" in log.read_text() for log in logs))
        gate.open.set()
        wait_for(lambda: not any(words(pid) for pid in workers))
        assert len(server.seen) < total(packages)
        finished(start(*loop(server, "out")))  # in one process, from where they were
        assert len(server.seen) == total(packages)
        expected = alone(server)
    assert lines(tmp_path / "out") == expected


@pytest.mark.slow
def test_a_failure_in_a_worker_ends_the_run_with_its_reason(start, loop):
    with serving(JsonServer(lambda _: {"choices": []})) as server:
        run = start(*loop(server, "out", "--jobs", "2"))
        _, said = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "without saying anything" in said
    assert "questions 1 to" in said


@pytest.mark.slow
def test_a_shard_on_which_workers_die_is_given_up_and_the_others_are_done(
    packages, tiny, tmp_path, monkeypatch
):
    (tmp_path / "fatal.py").write_text(FATAL)
    shots = tmp_path / "shots"
    shots.mkdir()
    for number in range(3):
        (shots / str(number)).touch()
    monkeypatch.setenv("SHOTS", str(shots))
    order = Order(
        recipe=Recipe(model=str(tiny)),
        systems=(f"{tmp_path}/fatal.py:make", "zero_shot"),
        threads=((Asked(package=packages[0], out=tmp_path / "out"),),),
    )
    executor = Processes(jobs=1, work=tmp_path / "work")
    with pytest.raises(WorkError, match=r"given up after 3 attempts, the last because worker job"):
        executor.run([order], bar_to([]))
    assert [path.parent.name for path in row_files(tmp_path / "out")] == ["zero_shot"]
    (found,) = executor.run([order], bar_to([]))  # nothing is left to shoot with
    assert [len(rows) for rows in found.values()] == [len(packages[0].questions)] * 2


def test_workers_that_cannot_start_say_why(packages, tiny, tmp_path, monkeypatch):
    order = Order(
        recipe=Recipe(model=str(tiny)),
        systems=("zero_shot",),
        threads=((Asked(package=packages[0], out=tmp_path / "out"),),),
    )
    monkeypatch.setattr(
        "scaleqa.shards.board.Board.publish",
        lambda board, plan, _: (
            (board.path / "attempts").mkdir(parents=True)
            or (board.path / "plan.json").write_text(plan.model_dump_json())
        ),
    )
    with pytest.raises(WorkError, match=r"a worker process cannot work: .* contains no package"):
        Processes(jobs=1, work=tmp_path / "work").run([order], bar_to([]))


def test_rows_of_another_run_are_refused_before_anybody_starts(packages, tiny, tmp_path):
    threads = ((Asked(package=packages[0], out=tmp_path / "out"),),)
    order = Order(recipe=Recipe(model=str(tiny)), systems=("zero_shot",), threads=threads)
    InProcess().run([order], bar_to([]))
    answered = Recipe(model=str(tiny), backend="extractive", prompt="answer.v1")
    other = Order(recipe=answered, systems=("zero_shot",), threads=threads)
    with pytest.raises(DataError, match="rows of another run"):
        Processes(jobs=2, work=tmp_path / "work").run([other], bar_to([]))
    assert not (tmp_path / "work" / "plan.json").exists()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"jobs": 2, "workers": 2}, "--workers are threads"),
        ({"jobs": 0}, "--jobs 0 starts nobody"),
        ({"share": Path("s"), "ray": "local"}, "leave out --share"),
        ({"share": Path("out")}, "is for rows"),
    ],
    ids=["threads", "nobody", "both", "rows"],
)
def test_options_that_exclude_each_other_are_refused(given, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=problem), ExitStack() as stack:
        chosen(stack, Path("out"), Stop(), **given)
    assert not [*tmp_path.iterdir()]


def test_one_job_is_this_process(tmp_path):
    with ExitStack() as stack:
        assert isinstance(chosen(stack, tmp_path, Stop(), jobs=1), InProcess)
        assert isinstance(chosen(stack, tmp_path, Stop(), workers=3), InProcess)
