"""Figures of tracks: what never came up is no hit, relevances are judged, tracks are not mixed."""

import json
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from scaleqa.backends import Reply
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.evaluate import Row, RunSettings, run_packages
from scaleqa.evaluate.rowfile import all_rows, read_rows
from scaleqa.evaluate.rows import Run, Timing
from scaleqa.figures.breakdown import by_domain, by_stress, scaling
from scaleqa.figures.comparison import main_table, paired_table
from scaleqa.figures.exchanges import exchange_table
from scaleqa.figures.groups import group
from scaleqa.figures.paired import compare
from scaleqa.figures.relevance import relevance
from scaleqa.figures.retrieval import against, in_context_by, retrieval
from scaleqa.figures.scores import score
from scaleqa.packages import build, write_packages
from scaleqa.report import figures_json, write_report
from scaleqa.report.details import verdict
from scaleqa.report.retrieval import retrieval_page
from scaleqa.report.summaries import retrieval_table, scores_table
from scaleqa.stats import auroc, calibration_error, exact_error
from tests.support.records import ASIDES, NOISE, RECORDS, WORDINGS, settings_of
from tests.support.runs import loop
from tests.support.runs import row as old_row


def test_calibration_error_is_as_computed_by_hand():
    # Two bins of two: |(.1 + .3) / 2 - 0| and |(.6 + .8) / 2 - 1 / 2|, each of half the cases.
    assert calibration_error([0.1, 0.3, 0.6, 0.8], [False, False, True, False], 2) == pytest.approx(
        (0.2 + 0.2) / 2
    )
    # Bins of one, where there are fewer cases than bins: |.25 - 0| and |.75 - 1|.
    assert calibration_error([0.75, 0.25], [True, False]) == pytest.approx(0.25)
    # Bins of equal count, not of equal width: 1, 1 and 2 cases of the four.
    found = calibration_error([0.0, 0.9, 0.92, 0.98], [False, False, True, True], 3)
    assert found == pytest.approx((0 + 0.9 + 0.1) / 4)
    assert calibration_error([1.0] * 5 + [0.0] * 5, [True] * 5 + [False] * 5) == 0


def test_the_order_of_equal_probabilities_does_not_matter():
    outcomes = [True, False] * 10
    one = calibration_error([0.5] * 20, outcomes)
    assert one == pytest.approx(0)
    assert one == calibration_error([0.5] * 20, sorted(outcomes))
    with pytest.raises(ValueError, match="found 1 and 2"):
        calibration_error([0.5, 0.5], [True])
    with pytest.raises(ValueError, match="found 0 and 0"):
        calibration_error([], [])


def test_auroc_is_as_computed_by_hand():
    # Of 3 × 2 pairs the positive is higher in four, equal in one.
    assert auroc([0.9, 0.5, 0.4], [0.5, 0.1]) == pytest.approx(4.5 / 6)
    assert auroc([0.9], [0.1]) == 1
    assert auroc([0.1], [0.9]) == 0
    assert auroc([0.5] * 3, [0.5] * 4) == 0.5
    with pytest.raises(ValueError, match="0 negative"):
        auroc([0.5], [])


def row(number, *, hit=False, present=True, shown=3, value=None, track="absent", **changes):
    """A row of a question; `value` is the relevance."""
    fields = {
        "run": Run(system="mine", package="p", dataset="scaleqa", target=1000, track=track),
        "id": f"q{number}",
        "place": number,
        "question": "Which?",
        "domain": "Legal",
        "stress": ("trap",) if present else ("trap", "absent"),
        "evidence": (2,) if present else (),
        "hit": hit,
        "recalled": hit,
        "evidence_shown": int(hit),
        "turns_shown": shown,
        "context_tokens": 10 * shown,
        "relevance": value,
        "timing": Timing(retrieve_ms=1.0),
    }
    return Row.model_validate(fields | changes)


ROWS = [
    row(0, hit=True, value=0.9),
    row(1, hit=True, value=0.8, shown=5),
    row(2, value=0.3),
    row(3, present=False, value=0.4),
    row(4, present=False, shown=0),
]


def test_figures_are_of_what_came_up_and_silence_of_what_did_not():
    found = retrieval(ROWS)
    assert (found.in_context.found, found.in_context.questions) == (2, 3)
    assert (found.recalled.found, found.questions) == (2, 3)
    assert (found.silent.found, found.silent.questions) == (1, 2)
    assert found.context_tokens == pytest.approx((30 + 50 + 30) / 3)
    scores = score(ROWS)
    assert (scores.questions, scores.hit) == (3, pytest.approx(2 / 3))
    assert scores.silent == found.silent
    assert in_context_by(ROWS, lambda one: one.domain)["Legal"].questions == 3
    assert found.as_json()["silent"]["value"] == 0.5
    assert retrieval(ROWS[:3]).silent is None
    assert retrieval(ROWS[:3]).as_json()["silent"] is None


def test_exact_probabilities_have_an_error_by_chance_that_falls_with_the_number_of_cases():
    # A bin of n cases of probability one half: the mean distance is about .4 / √n.
    few, many = (exact_error([0.5] * 10 * n, seed=1) for n in (25, 400))
    assert few == exact_error([0.5] * 250, seed=1)
    apart = [n / 1000 for n in range(1000)]
    assert 0.02 < exact_error(apart, seed=1) < 0.05
    assert exact_error([0.0, 1.0], seed=1) == 0
    assert many < few / 3


def test_relevances_are_judged_over_all_questions():
    found = relevance(ROWS)
    # Five bins of one: .1, .2, .3 of the present, .4 of the absent, 0 where nothing came back.
    assert found.calibration_error == pytest.approx((0.1 + 0.2 + 0.3 + 0.4 + 0) / 5)
    # .9 and .8 beat .4 and 0; .3 beats 0 only.
    assert found.auroc == pytest.approx(5 / 6)
    assert found.questions == 5
    assert found.exact_error > 0
    assert relevance(ROWS[:3]).auroc is None
    assert relevance([row(0), row(1)]) is None
    assert relevance([row(0, value=0.5), row(1)]) is None
    assert retrieval(ROWS).relevance == found


def test_only_absent_questions_are_refused_and_not_divided_by():
    absent = ROWS[3:]
    for figure in (retrieval, score):
        with pytest.raises(DataError, match="none of 2 questions is about something in the thread"):
            figure(absent)


def test_every_figure_of_a_report_leaves_absent_questions_out():
    theirs = [
        one.model_copy(update={"run": one.run.model_copy(update={"system": "other"}), "hit": False})
        for one in ROWS
    ]
    (one,) = group([*ROWS, *theirs])
    assert one.setting.track == "absent"
    first, second = main_table(one)
    assert (first.scores.questions, second.scores.hit) == (3, 0)
    (pair,) = paired_table(one)
    assert pair.questions == 3
    assert {measure.measure: measure.first for measure in pair.measures}["hit"] == pytest.approx(
        2 / 3
    )
    (cells,) = by_stress(one).values()
    assert {name: cell.questions for name, cell in cells.items()} == {"mine": 3, "other": 3}
    assert by_domain(one)["Legal"]["mine"].hit == pytest.approx(2 / 3)
    assert [line.questions for line in exchange_table(one)] == [3, 3]
    assert sum(block.questions for block in exchange_table(one)[0].blocks) == 3
    assert against(theirs, ROWS).second == pytest.approx(2 / 3)
    assert "never came up in the thread; nothing was returned" in verdict(ROWS[4])
    assert "3 turns were returned" in verdict(ROWS[3])


def test_silence_and_relevance_are_columns_where_there_are_any():
    def heads(rows):
        return [column.head for column in retrieval_table([retrieval(rows)]).columns]

    assert {"silent", "cal. error", "AUROC"} <= {*heads(ROWS)}
    bare = [row(n, hit=True) for n in range(3)]
    assert not {"silent", "cal. error", "AUROC"} & {*heads(bare)}
    assert "silent" in [column.head for column in scores_table({"mine": score(ROWS)}).columns]
    assert "silent" not in [column.head for column in scores_table({"m": score(bare)}).columns]
    assert retrieval_table([retrieval(ROWS)]).title == "Track: absent"


def test_tracks_are_not_mixed():
    written = [row(n, hit=True, track="as written") for n in range(3)]
    passing = [row(n, track="asides", id=f"a{n}") for n in range(3)]
    for figure in (retrieval, score):
        with pytest.raises(DataError, match=r"rows of 2 tracks \('as written', 'asides'\)"):
            figure([*written, *passing])
    other = [
        one.model_copy(update={"run": one.run.model_copy(update={"system": "other"})})
        for one in (*written, *passing)
    ]
    with pytest.raises(DataError, match="rows of 2 tracks"):
        compare([*written, *passing, *other], "mine", "other")
    groups = group([*passing, *written])
    assert [one.setting.track for one in groups] == ["as written", "asides"]
    longer = [
        one.model_copy(update={"run": one.run.model_copy(update={"target": 2000})})
        for one in passing
    ]
    lines = scaling(group([*written, *longer]))
    assert lines == []


def test_older_rows_are_as_written():
    (one,) = group([old_row(0), old_row(1)])
    assert one.setting.track == "as written"


@dataclass
class Stuck:
    """A language model that always says A."""

    identity = "stuck"
    stand_in = False

    def reply(self, request):
        return Reply(text="ANSWER: A\nRATIONALE: so", prompt_tokens=7, completion_tokens=2)

    def close(self):
        pass


@pytest.fixture(scope="module")
def absent():
    return build(RECORDS[:12], NOISE, settings_of(2500, absent=True))


def test_rows_know_what_never_came_up(absent, tiny_embedder, tmp_path):
    asked = [question for package in absent for question in package.questions]
    for system, hit, silent in (("oracle", 1, 1), ("zero_shot", 0, 1), ("full_context", 1, 0)):
        rows = run_packages(absent, RunSettings(system=system), tiny_embedder, tmp_path)
        assert [one.present for one in rows] == [bool(q.evidence) for q in asked]
        assert not any(one.hit or one.recalled for one in rows if not one.present)
        found = retrieval(rows)
        assert (found.in_context.value, found.silent.value) == (hit, silent)
        assert (found.questions, found.silent.questions) == (6, 6)
        assert {one.run.track for one in rows} == {"absent"}
    assert read_rows(next(tmp_path.glob("oracle/*.jsonl")))
    text = str(retrieval_page({"oracle": all_rows(tmp_path / "oracle")}, absent, "scaleqa"))
    assert "Results: absent" in text
    assert "Silent: nothing is returned" in text
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "silent on absent" in page
    assert "2.5k, absent, retrieval alone, 12 questions" in page
    (setting,) = figures_json(tmp_path)["settings"]
    assert setting["setting"]["track"] == "absent"
    assert {line["system"]: line["silent"]["value"] for line in setting["retrieval"]} == {
        "oracle": 1,
        "zero_shot": 1,
        "full_context": 0,
    }


def test_answers_count_where_there_is_something_to_answer_from(absent, tiny_embedder):
    rows = run_packages(absent, loop(Stuck(), "oracle"), tiny_embedder)
    scores = score(rows)
    right = sum(one.gold == "A" for one in rows if one.present)
    assert scores.answers.strict_accuracy == pytest.approx(right / 6)
    assert scores.answers.prompt_tokens == 7 * 12
    (one,) = group(rows)
    assert main_table(one)[0].scores == scores


SYSTEM = """
from scaleqa.options import NoOptions
from scaleqa.systems import Accounting, Retrieved, SystemDeclaration, Unit

class Sure:
    def __init__(self, options, tools): pass
    def ingest(self, turns): pass
    def retrieve(self, asked):
        return Retrieved(units=(Unit(turns=(0,), score=1.0),), context="hm", shown=frozenset({0}),
                         relevance=0.25)
    def observe(self, exchange): pass
    def account(self): return Accounting()
    def views(self, asked): return {}
    def close(self): pass

SURE = SystemDeclaration(name="sure", summary="Sure.", options=NoOptions, make=Sure)
"""


def test_a_system_may_say_how_relevant_its_best_unit_is(absent, tiny_embedder, tmp_path):
    (tmp_path / "sure.py").write_text(SYSTEM)
    spec = f"{tmp_path / 'sure.py'}:SURE"
    rows = run_packages(absent, RunSettings(system=spec), tiny_embedder)
    assert {one.relevance for one in rows} == {0.25}
    found = retrieval(rows).relevance
    assert found.auroc == 0.5
    plain = run_packages(absent, RunSettings(system="oracle"), tiny_embedder)
    assert {one.relevance for one in plain} == {None}
    assert "relevance" not in plain[0].model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("cases", "changes", "track"),
    [
        (RECORDS[:12], {}, "as written"),
        (RECORDS[:12], {"wording": "other"}, "other words"),
        (ASIDES[:6], {}, "asides"),
        (RECORDS[:12], {"mix": "braid"}, "braided"),
    ],
)
def test_commands_name_the_track(cases, changes, track, tmp_path, minilm):
    made = build(cases, NOISE, settings_of(2500, **changes), wordings=WORDINGS)
    write_packages(made, tmp_path / "packages")
    out = tmp_path / "rows"
    base = ["retrieve", str(tmp_path / "packages"), "--system", "oracle,zero_shot"]
    shown = CliRunner().invoke(app, [*base, "--out", str(out)])
    assert f"Track: {track}" in shown.stdout
    found = json.loads(CliRunner().invoke(app, [*base, "--json"]).stdout)
    assert {one["track"] for one in found} == {track}
    paired = CliRunner().invoke(app, ["compare", str(out), "oracle", "zero_shot"])
    assert f"Track: {track}" in paired.stdout
    ran = ["run", str(tmp_path / "packages"), "--system", "oracle", "--out", str(tmp_path / "runs")]
    assert f"Track: {track}" in CliRunner().invoke(app, ran).stdout
