"""`reproduce main --rows`: answers that came back by file, laid out as the paper does."""

import json

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import all_rows
from scaleqa.figures.scores import score
from scaleqa.packages import BuildSettings, build, write_packages
from scaleqa.reproduce.readings import readings
from tests.support.records import NOISE, RECORDS, WORDINGS
from tests.support.servers import completion

SYSTEMS = ("standard_rag", "tsim:budget=200")
REPLIES = ("ANSWER: A\nRATIONALE: so", "ANSWER: B\nRATIONALE: so", "I cannot say.")


@pytest.fixture(scope="module")
def answered(tiny, tmp_path_factory):
    """Rows in both wordings, read by somebody who answers A, B, nothing, and so on."""
    directory = tmp_path_factory.mktemp("answered")
    model = ["--model", str(tiny)]
    for words in ("own", "other"):
        chosen = BuildSettings(target=2500, wording=words)
        packages = build(RECORDS[:24], NOISE, chosen, (), WORDINGS)
        write_packages(packages, directory / words)
        prompts, answers = directory / f"{words}.jsonl", directory / f"{words}-answers.jsonl"
        batch("export", directory / words, "--system", ",".join(SYSTEMS), "--answer-model", "m",
              "--out", prompts, *model)  # fmt: skip
        lines = [json.loads(line) for line in prompts.read_text("utf-8").splitlines()]
        answers.write_text("".join(_answer(n, line) for n, line in enumerate(lines)), "utf-8")
        batch("import", prompts, answers, "--out", directory / "rows" / words, *model)
    return directory / "rows"


def batch(*arguments):
    ran = CliRunner().invoke(app, ["batch", *map(str, arguments)])
    assert ran.exit_code == 0, ran.exception


def _answer(number, line):
    body = completion(REPLIES[number % len(REPLIES)])
    response = {"status_code": 200, "body": body}
    found = {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}
    return json.dumps(found) + "\n"


def test_settings_stand_side_by_side_with_the_figures_of_their_rows(answered):
    page = readings(answered, (), "Main comparison")
    tables = {table.title: table for table in page.tables}
    side = page.tables[0]
    assert [row["system"] for row in side.rows] == ["tsim:budget=200", "standard_rag"]
    heads = [column.head for column in side.columns if "strict" in column.head]
    assert ["as written" in heads[0], "other words" in heads[1]] == [True, True]
    for row in side.rows:
        for number, words in enumerate(("own", "other")):
            rows = [one for one in all_rows(answered / words) if one.run.system == row["system"]]
            right = sum(one.answered.correct for one in rows)
            assert row[f"strict {number}"] == pytest.approx(right / len(rows))
            assert row[f"hit {number}"] == score(rows).hit
    audit = tables["Hit by correctness, of all questions; only answered ones are right or wrong"]
    for row in audit.rows:
        parts = ("hit_correct", "hit_wrong", "miss_correct", "miss_wrong", "unanswered")
        assert sum(row[part] for part in parts) == pytest.approx(1)
        assert row["unanswered"] > 0
    assert "not written back" in page.introduction[1].text


def copied(answered, out, **changes):
    """Copies rows whose run is said to be another one."""
    for path in answered.rglob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for row in rows:
            row["run"] |= changes
        copy = out / path.relative_to(answered)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_a_system_with_another_model_has_a_line_of_its_own(answered, tmp_path):
    copied(answered / "own", tmp_path / "1", embedder="first@0")
    copied(answered / "own", tmp_path / "2", embedder="second@0")
    copied(answered / "other", tmp_path / "3", embedder="first@0")
    page = readings(tmp_path, ("standard_rag",), "Main comparison")
    side = page.tables[0]
    names = ["standard_rag with first", "standard_rag with second"]
    assert [row["system"] for row in side.rows] == names
    assert len([column for column in side.columns if "strict" in column.head]) == 2
    first, second = side.rows
    assert second["strict 0"] == first["strict 0"]
    assert "strict 1" in first
    assert "strict 1" not in second
    titles = [section.title for section in page.sections[1:]]
    assert [title.endswith(("first", "second")) for title in titles] == [True, True, False]


def test_settings_of_the_same_name_keep_their_figures(answered, tmp_path):
    """The prompt is no part of the name."""
    copied(answered / "own", tmp_path / "1")
    reader = all_rows(answered / "own")[0].run.reader.model_dump(mode="json")
    copied(answered / "own", tmp_path / "2", reader=reader | {"prompt": "other.v1/0"})
    (row,) = readings(tmp_path, ("standard_rag",), "Main comparison").tables[0].rows
    assert {"strict 0", "strict 1"} <= row.keys()


def test_systems_are_chosen_and_one_setting_needs_no_comparison_of_settings(answered):
    page = readings(answered / "own", ("standard_rag",), "Main comparison")
    assert {row["system"] for row in page.tables[0].rows} == {"standard_rag"}
    assert [section.name for section in page.sections] == [""]
    with pytest.raises(DataError, match=r"no rows of raptor that a language model answered"):
        readings(answered, ("raptor",), "Main comparison")


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_the_command_lays_rows_out_and_names_itself(answered, tmp_path):
    out = tmp_path / "out"
    ran = run("main", "--rows", str(answered), "--out", str(out), "--json")
    assert json.loads(ran.stdout)["name"] == "main"
    text = (out / "main.md").read_text("utf-8")
    assert f"`scaleqa reproduce main --rows {answered}`" in text
    assert "batch:m, in place of the paper's GPT-4o-mini" in text
    assert all((out / name).exists() for name in ("main.html", "main.svg", "main-2.svg"))
    assert not (out / "packages").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stress", "--rows", "x"], "stress is not made from rows; --rows is for main"),
        (["main", "--rows", "x", "--subset", "9"], "leave --subset out"),
        (["main", "--rows", "x", "--target", "9k"], "leave --target out"),
    ],
)
def test_what_rows_have_settled_is_refused(arguments, said):
    assert said in str(run(*arguments).exception)
