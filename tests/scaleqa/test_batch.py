"""Batches: requests go out as one file, answers come back as another."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa.backends import Price
from scaleqa.backends.openai import OpenAI
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.evaluate import run_packages
from scaleqa.evaluate.batch import BatchSettings, export_batch
from scaleqa.evaluate.imported import import_batch
from scaleqa.evaluate.rowfile import all_rows, read_rows
from scaleqa.figures.scores import score
from scaleqa.packages import build, write_packages
from scaleqa.prompts import template
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import loop, without_times
from tests.support.servers import JsonServer, completion, serving

SYSTEMS = ("standard_rag", "fixed_window:size=64,k=2")


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:24], NOISE, settings_of(2500))


@pytest.fixture
def chat():
    reply = completion("ANSWER: B\nRATIONALE: so")
    with serving(JsonServer(lambda _: reply)) as server:
        yield server


def batch(*systems: str) -> BatchSettings:
    return BatchSettings(systems=systems, answer_model="m", template=template("answer.v1"))


def answered(line: str, content: str = "ANSWER: B\nRATIONALE: so") -> dict:
    key = json.loads(line)["custom_id"]
    response = {"status_code": 200, "body": completion(content)}
    return {"id": "x", "custom_id": key, "response": response, "error": None}


def write_lines(path: Path, lines: list[dict]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def exported(packages, tiny_embedder, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    count = export_batch(packages, batch(*SYSTEMS), tiny_embedder, prompts)
    lines = prompts.read_text().splitlines()
    assert len(lines) == count == 2 * sum(len(package.questions) for package in packages)
    return prompts, lines


def test_a_batch_gives_the_rows_of_a_run_without_writeback(
    exported, packages, tiny_embedder, tmp_path, chat
):
    prompts, lines = exported
    answers = write_lines(tmp_path / "answers.jsonl", [answered(line) for line in lines[::-1]])
    imported = import_batch(prompts, [answers], tmp_path / "batch", tiny_embedder)
    model = OpenAI("m", base_url=chat.url)
    asked = [
        row
        for system in SYSTEMS
        for row in run_packages(
            packages, loop(model, system, writeback=False), tiny_embedder, tmp_path / "run"
        )
    ]
    model.close()
    expected = without_times(asked)
    for row in expected:
        row["run"]["reader"]["backend"] = "batch:m"
    assert without_times(imported) == expected
    sent = [{k: v for k, v in body.items() if k not in ("path", "auth")} for body in chat.seen]
    requests = [json.loads(line) for line in lines]
    by_text = partial(sorted, key=json.dumps)
    assert by_text(request["body"] for request in requests) == by_text(sent)
    assert {(r["method"], r["url"]) for r in requests} == {("POST", "/v1/chat/completions")}
    files = sorted(p.relative_to(tmp_path / "batch") for p in (tmp_path / "batch").rglob("*.jsonl"))
    assert files == sorted(
        p.relative_to(tmp_path / "run") for p in (tmp_path / "run").rglob("*.jsonl")
    )
    assert [row for file in files for row in read_rows(tmp_path / "batch" / file)]


def test_keys_stay_as_they_are_when_rows_say_more(
    exported, packages, tiny_embedder, tmp_path, monkeypatch
):
    def keys(name: str, settings: BatchSettings) -> set[str]:
        out = tmp_path / name
        export_batch(packages, settings, tiny_embedder, out)
        return {json.loads(line)["custom_id"] for line in out.read_text().splitlines()}

    before = {json.loads(line)["custom_id"] for line in exported[1]}
    monkeypatch.setattr("scaleqa.evaluate.loop.__version__", "99")
    assert keys("later.jsonl", batch(*SYSTEMS)) == before
    other = replace(batch(*SYSTEMS), template=template("choice-or-absent.v1"))
    assert not keys("other-prompt.jsonl", other) & before


def test_answers_that_do_not_fit_are_refused(exported, tiny_embedder, tmp_path):
    prompts, lines = exported
    out = tmp_path / "rows"
    good = [answered(line) for line in lines]

    def bring(*answers: dict, **settings):
        return import_batch(
            prompts, [write_lines(tmp_path / "a.jsonl", [*answers])], out, tiny_embedder, **settings
        )

    stranger = {**good[0], "custom_id": "standard_rag/batch-01/x#00000000"}
    with pytest.raises(DataError, match="'standard_rag/batch-01/x#00000000', which was not asked"):
        bring(*good, stranger)
    with pytest.raises(DataError, match="a second time"):
        bring(*good, good[3])
    with pytest.raises(DataError, match=r"line 1 is no answer of a batch"):
        bring({"custom_id": good[0]["custom_id"], "response": {"body": "text"}}, *good[1:])
    with pytest.raises(DataError, match=r"other\.jsonl is missing"):
        import_batch(prompts, [tmp_path / "other.jsonl"], out, tiny_embedder)
    with pytest.raises(DataError, match=r"prompts2\.rows\.jsonl is missing"):
        import_batch(tmp_path / "prompts2.jsonl", [], out, tiny_embedder)
    assert not out.exists()


def test_missing_and_failed_answers_are_counted_and_can_follow(exported, tiny_embedder, tmp_path):
    prompts, lines = exported
    out = tmp_path / "rows"
    good = [answered(line) for line in lines]
    failed = [
        {**good[0], "response": None, "error": {"code": "expired"}},
        {**good[1], "response": {"status_code": 429, "body": {"error": "later"}}},
    ]
    first = write_lines(tmp_path / "first.jsonl", [*failed, *good[3:]])
    with pytest.raises(DataError, match=f"3 of {len(lines)} requests have no answer"):
        import_batch(prompts, [first], out, tiny_embedder)
    assert len(import_batch(prompts, [first], out, tiny_embedder, partial=True)) == len(lines) - 3
    second = write_lines(tmp_path / "second.jsonl", good[:3])
    price = Price(prompt=1, completion=1)
    again = import_batch(prompts, [second], out, tiny_embedder, partial=True)
    assert len(again) < len(lines)  # of the files that it touches
    assert len(all_rows(out)) == len(lines)  # and nothing that was there is lost
    rows = import_batch(prompts, [first, second], out, tiny_embedder, price=price)
    assert len(rows) == len(lines)
    assert score(rows).answers.cost_usd == pytest.approx(18e-6 * len(rows))
    with pytest.raises(DataError, match="no answer"):
        import_batch(
            prompts, [write_lines(tmp_path / "none.jsonl", [])], out, tiny_embedder, partial=True
        )


def test_damaged_files_of_a_batch_are_named(exported, tiny_embedder, tmp_path):
    prompts, _ = exported
    beside = prompts.with_suffix(".rows.jsonl")
    beside.write_text("{\n" + beside.read_text())
    with pytest.raises(DataError, match="line 1 is damaged; export the batch again"):
        import_batch(prompts, [], tmp_path / "rows", tiny_embedder)


def test_a_batch_does_not_write_over_another(exported, packages, tiny_embedder):
    prompts, _ = exported
    with pytest.raises(DataError, match="there already"):
        export_batch(packages, batch("tsim_official"), tiny_embedder, prompts)


def test_the_batch_commands_go_together(packages, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TSIM_MODEL", str(tiny))
    write_packages(packages, tmp_path / "packages")

    def scaleqa(*arguments: object):
        ran = CliRunner().invoke(app, [*map(str, arguments), "--json"])
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.stdout)

    prompts = tmp_path / "prompts.jsonl"
    scaleqa(
        *("batch", "export", tmp_path / "packages", "--system", "standard_rag"),
        *("--answer-model", "m", "--out", prompts),
    )
    lines = prompts.read_text().splitlines()
    answers = write_lines(tmp_path / "answers.jsonl", [answered(line) for line in lines])
    found = scaleqa("batch", "import", prompts, answers, "--out", tmp_path / "d")
    assert found[0]["questions"] == sum(len(package.questions) for package in packages)
