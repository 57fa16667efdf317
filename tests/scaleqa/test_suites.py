"""The page about suites of others: budgets, boundaries, and several sets on the same threads."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from scaleqa.backends import open_backend
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import row_files
from scaleqa.reproduce import TABLES, Lab, Sources, reproduce
from scaleqa.reproduce.suites import same_threads, systems_for
from tests.scaleqa.test_locomo import ERRORS, conversation
from tests.support.records import NOISE, RECORDS

SYSTEMS = ("packed_turns", "bm25_sessions", "oracle")


@contextmanager
def silent(_label):
    yield lambda _done, _total: None


@pytest.fixture
def locomo(tmp_path):
    (tmp_path / "locomo10.json").write_text(json.dumps([conversation(), conversation("conv-2")]))
    (tmp_path / "errors.json").write_text(json.dumps(ERRORS))
    plain = f"locomo:file={tmp_path / 'locomo10.json'}"
    listed = f"errors={tmp_path / 'errors.json'}"
    return plain, f"{plain},abstention=true,{listed}", f"{plain},{listed},mend=correct"


@pytest.fixture
def sources(tiny, tmp_path, monkeypatch, locomo):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    return Sources(
        out=tmp_path / "out",
        records=RECORDS,
        noise=NOISE,
        progress=silent,
        backend=open_backend("extractive"),
        model=str(tiny),
        datasets=locomo,
    )


def test_each_suite_has_figures_with_the_sessions_and_what_is_absent(sources, locomo):
    table = replace(TABLES["suites"], systems=SYSTEMS)
    page, files = reproduce(table, Lab(sources), "command")
    plain, _, mended, types, *_ = page.tables
    packed = [f"packed_turns:budget={n}" for n in (500, 1082, 2000, 4000)]
    assert [row["system"] for row in plain.rows] == [*packed, "bm25_sessions", "oracle"]
    assert [row["sees"] for row in plain.rows] == ["none"] * 4 + ["given", "none"]
    assert "silent" not in {column.key for column in plain.columns}
    assert {row["in_context"] for row in plain.rows if row["system"] != "bm25_sessions"} == {1.0}
    assert {row["silent"] for row in mended.rows if row["system"] == "oracle"} == {1.0}
    assert [column.head for column in types.columns[1:]] == ["multi-hop (1)", "single-hop (2)",
                                                            "temporal (1)"]  # fmt: skip
    text = files["table"].read_text("utf-8")
    assert "run after each of several designs" in text
    assert "2 questions with listed errors of the key left out" in text
    assert f"{locomo[0]}: 6 questions with evidence" in text


def test_sets_about_the_same_threads_are_ingested_together(sources, monkeypatch):
    lab = Lab(sources)
    sets = [lab.dataset(spec) for spec in sources.datasets]
    assert same_threads(sets) == [sets[:2], sets[2:]], "the last has other evidence"
    assert same_threads([sets[0], replace(sets[1], packages=sets[1].packages[:1])]) == [
        [sets[0]], [replace(sets[1], packages=sets[1].packages[:1])]
    ]  # fmt: skip
    table = replace(TABLES["suites"], systems=("oracle",))
    first = reproduce(table, lab, "command")[0]
    made = len(row_files(sources.out / "results"))
    monkeypatch.setattr("scaleqa.evaluate.loop.fed_system", None)  # nothing is left to do
    again = reproduce(table, Lab(sources), "command")[0]
    assert again.tables == first.tables
    assert made == 6


def test_systems_have_the_budgets_of_the_suite_and_the_adaptation_is_for_its_own():
    names = systems_for(TABLES["suites"], "longmemeval")
    assert [one for one in names if one.startswith("tsim:")] == [
        f"tsim:budget={n}" for n in (500, 1100, 2400, 4700)
    ]
    assert "packed_turns:budget=500,long=0" in names or "packed_turns:long=0,budget=500" in names
    assert "tsim_official:preset=longmemeval" in names
    assert "tsim_official:preset=longmemeval" not in systems_for(TABLES["suites"], "locomo")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["suites"], "suites is about data sets of others; name at least one"),
        (["suites", "--dataset", "locomo:file=x", "--subset", "5"], "as options of its data sets"),
        (["episodes", "--dataset", "locomo:file=x"], "about our own records; leave --dataset out"),
    ],
)
def test_data_sets_are_named_where_they_are_used(words, message, tmp_path):
    ran = CliRunner().invoke(app, ["reproduce", *words, "--out", str(tmp_path / "out")])
    assert isinstance(ran.exception, DataError)
    assert message in str(ran.exception)
    assert not (tmp_path / "out").exists()
