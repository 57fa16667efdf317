"""Rows as logs that the real Inspect reads, counts and shows."""

import http.server
import threading
import zipfile
from contextlib import contextmanager
from functools import partial

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai.log import (
    bundle_log_dir,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    recompute_metrics,
)

from scaleqa.bridges.inspect.files import export_logs
from scaleqa.bridges.inspect.logs import NO_MODEL, UNKNOWN, log_of
from scaleqa.cli.app import main
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import all_rows, read_rows, row_path
from scaleqa.figures.scores import score
from tests.support.bridging import SYSTEMS, Drawing, answered, found, two_packages
from tests.support.runs import row


@pytest.fixture(scope="module")
def packages():
    return two_packages()


@pytest.fixture(scope="module")
def run(packages, tmp_path_factory):
    return answered(packages, tmp_path_factory.mktemp("run") / "rows", Drawing())


@pytest.fixture(scope="module")
def logs(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("logs") / "logs"
    return export_logs(run, out)


def measured(log) -> dict[str, dict[str, float]]:
    return {
        one.name: {name: metric.value for name, metric in one.metrics.items()}
        for one in log.results.scores
    }


def test_there_is_a_log_for_each_system_and_package(logs, packages):
    listed = list_eval_logs(str(logs[0].parent))
    assert len(listed) == len(logs) == len(SYSTEMS) * len(packages)
    read = [read_eval_log(str(path), header_only=True) for path in logs]
    assert {(log.eval.solver, log.eval.task_args["package"]) for log in read} == {
        (system, package.name) for system in SYSTEMS for package in packages
    }
    assert {log.eval.model for log in read} == {"drawing/1"}
    assert len({log.eval.task_id for log in read}) == len(logs)
    assert len({log.eval.run_id for log in read}) == 1
    hashes = {package.name: package.sha256 for package in packages}
    for log in read:
        assert log.eval.metadata["package_sha256"] == hashes[log.eval.task_args["package"]]


@pytest.mark.parametrize("form", ["eval", "json"])
def test_inspect_counts_what_we_count(form, run, packages, tmp_path):
    for path in export_logs(run, tmp_path, form):
        log = read_eval_log(str(path))
        asked = log.eval.task_args
        rows = read_rows(row_path(run, asked["system"], asked["package"]))
        ours, theirs = score(rows), measured(log)
        assert theirs["answers"]["accuracy"] == pytest.approx(ours.answers.strict_accuracy)
        assert theirs["credited"]["mean"] == pytest.approx(ours.answers.accuracy)
        assert theirs["hits"]["accuracy"] == pytest.approx(ours.hit)
        for domain in {one.domain for one in rows}:
            of_domain = score([one for one in rows if one.domain == domain])
            assert theirs["hits"][domain] == pytest.approx(of_domain.hit)
            assert theirs["answers"][domain] == pytest.approx(of_domain.answers.strict_accuracy)
        before = log.results.model_dump()
        recompute_metrics(log)
        assert log.results.model_dump() == before


def test_a_sample_has_everything_that_its_row_has(logs, run):
    log = read_eval_log(str(logs[0]))
    asked = log.eval.task_args
    rows = read_rows(row_path(run, asked["system"], asked["package"]))
    by_id = {sample.id: sample for sample in log.samples}
    assert {*by_id} == {row.id for row in rows}
    assert {None} < {row.answered.answer for row in rows}
    for one in rows:
        sample = by_id[one.id]
        assert sample.target == one.gold
        assert sample.choices == [*one.options.values()]
        assert sample.scores["answers"].answer == one.answered.answer
        assert (sample.scores["answers"].value == "C") == one.answered.correct
        assert (sample.scores["answers"].value == "N") == (one.answered.answer is None)
        assert (sample.scores["hits"].value == "C") == one.hit
        assert sample.metadata["evidence"] == [*one.evidence]
        assert sample.metadata["evidence_texts"] == [*one.evidence_texts]
        assert sample.metadata["context"] == one.detail.context
        assert sample.metadata["context_tokens"] == one.context_tokens
        asked, said = sample.messages
        assert one.detail.context in asked.text
        assert asked.text.startswith("Below are excerpts")  # the prompt, to the letter
        assert said.text == sample.output.completion == one.detail.reply
        assert sample.output.usage.input_tokens == 20
        assert sample.started_at.startswith(one.timing.date)
    single = read_eval_log_sample(str(logs[0]), rows[0].id)
    assert single.metadata["hit"] == rows[0].hit


@pytest.mark.parametrize("form", ["eval", "json"])
def test_the_same_rows_make_the_same_bytes(form, run, tmp_path):
    first = [path.read_bytes() for path in export_logs(run, tmp_path / "a", form)]
    again = [path.read_bytes() for path in export_logs(run, tmp_path / "b", form)]
    assert first == again
    replaced = export_logs(run, tmp_path / "a", form)
    assert [path.read_bytes() for path in replaced] == first
    assert sorted((tmp_path / "a").iterdir()) == sorted(replaced)
    if form == "eval":
        dates = {member.date_time for member in zipfile.ZipFile(replaced[0]).infolist()}
        assert dates == {(1980, 1, 1, 0, 0, 0)}


def test_retrieval_alone_is_scored_by_its_hits(packages, tmp_path):
    run = found(packages, tmp_path / "rows")
    logs = [read_eval_log(str(path)) for path in export_logs(run, tmp_path / "logs")]
    assert {log.eval.model for log in logs} == {NO_MODEL}
    assert all([*measured(log)] == ["hits"] for log in logs)
    rows = {row.id: row for row in all_rows(run)}
    for log in logs:
        for sample in log.samples:
            assert (sample.scores["hits"].value == "C") == rows[sample.id].hit
            assert rows[sample.id].detail.context in sample.messages[0].text


def test_what_stands_in_for_a_model_has_no_accuracy(packages, tmp_path):
    run = answered(packages, tmp_path / "rows", Drawing(stand_in=True))
    log = read_eval_log(str(export_logs(run, tmp_path / "logs")[0]))
    assert [*measured(log)] == ["hits"]
    assert log.eval.metadata["reader"]["stand_in"]
    assert any(sample.output.completion.startswith("ANSWER") for sample in log.samples)


def test_a_matter_that_never_came_up_is_not_scored():
    absent = row(1).model_copy(update={"evidence": (), "evidence_texts": (), "hit": False})
    log = log_of([row(0), absent])
    assert measured(log)["hits"]["accuracy"] == 1.0
    assert [one.unscored_samples for one in log.results.scores] == [1, 1, 1]
    assert log.samples[1].scores["answers"].reason == "absent"


def test_rows_without_a_date_are_of_no_day():
    assert log_of([row(0)]).eval.created.startswith(UNKNOWN)


def test_rows_of_several_runs_are_no_log():
    with pytest.raises(DataError, match="2 rows of 2 runs cannot be one log"):
        log_of([row(0), row(1, "zero_shot")])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--out", "logs"], "nowhere holds no rows"),
        (["nowhere", "--out", "logs", "--format", "xml"], "no format 'xml'"),
    ],
)
def test_the_command_says_what_is_missing(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["scaleqa", "export", "inspect", *words])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert message in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


@contextmanager
def serving(directory):
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler = partial(quiet, directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_the_viewer_shows_the_logs(logs, browser, tmp_path):
    bundle_log_dir(str(logs[0].parent), str(tmp_path / "bundle"))
    asked = []
    with serving(tmp_path / "bundle") as address, browser.new_context() as context:
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.get_by_text("scaleqa/bm25_chunks").first.wait_for()
        page.get_by_text("scaleqa/bm25_chunks").first.click()
        page.get_by_text("Which ").first.click()
        page.get_by_text("Below are excerpts").first.wait_for()
        assert page.get_by_text("s1:").first.is_visible()
    elsewhere = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert elsewhere == []
