"""The leaderboard: results follow from their rows, or they are refused, with what differs."""

import json
import sys
from pathlib import Path

import pytest

from scaleqa.backends.openai import OpenAI
from scaleqa.cli.app import main
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_systems
from scaleqa.evaluate.batch import sample_ranks
from scaleqa.evaluate.rowfile import all_rows, row_path, write_rows
from scaleqa.evaluate.verdicts import VerdictFile, judgement, verdict_path
from scaleqa.judges import Verdict as Found
from scaleqa.leaderboard import (
    About,
    Claims,
    Entry,
    Receipt,
    State,
    Verdict,
    asked_of,
    check,
    chosen_rows,
    find_results,
    json_schema,
    leaderboard_page,
    make_result,
    read_submission,
    recompute,
    slim,
    write_receipt,
    write_submission,
)
from scaleqa.leaderboard.consistency import contradictions
from scaleqa.leaderboard.standings import boards
from scaleqa.pages.html import to_html
from scaleqa.pages.markdown import drawing_files, to_markdown
from scaleqa.stats import mean_interval, median_interval
from tests.conftest import ROOT
from tests.support.browser import launched, watched
from tests.support.runs import loop
from tests.support.servers import JsonServer, completion, serving

DATA = "scaleqa:split=s2,target=6000,subset=24"
# Packages by data set, which the tests share.
BUILT = {}
SYSTEMS = ("packed_turns:budget=120", "bm25_chunks", "zero_shot")


@pytest.fixture(scope="module")
def packages():
    BUILT[DATA] = tuple(open_threads(DATA))
    return BUILT[DATA]


@pytest.fixture(scope="module")
def run(packages, tiny_embedder, tmp_path_factory):
    """A directory of rows of retrieval."""
    out = tmp_path_factory.mktemp("runs") / "found"
    several = [RunSettings(system=name) for name in SYSTEMS]
    run_systems(packages, several, tiny_embedder, out)
    return out


@pytest.fixture(scope="module")
def answers(packages, tiny_embedder, tmp_path_factory):
    """A directory of rows with answers: always A, which is right for some."""
    out = tmp_path_factory.mktemp("runs") / "answered"
    with serving(JsonServer(lambda _: completion("ANSWER: A\nRATIONALE: so"))) as server:
        backend = OpenAI("model", base_url=server.url)
        several = [loop(backend, name, writeback=False) for name in SYSTEMS[:2]]
        run_systems(packages, several, tiny_embedder, out)
    return out


def made(
    run: Path, out: Path, system: str = SYSTEMS[0], change=None, verdicts=(), seed=None, **claims
):
    """A result as whoever cheats would make it: figures and hashes follow from changed rows."""
    rows = [slim(row) for row in chosen_rows(all_rows(run), system)]
    rows = change(rows) if change else rows
    asked = asked_of(DATA, BUILT[DATA]).model_copy(update={"asked": len(rows), "sample_seed": seed})
    result = make_result(rows, Claims(data=DATA, **claims), verdicts, asked)
    write_submission(out, result, rows, verdicts)
    return out


def edited(path: Path, **changes) -> Path:
    """Changes what result.json says; a dot goes into what is inside."""
    file = path / "result.json"
    content = json.loads(file.read_text("utf-8"))
    for name, value in changes.items():
        *inner, last = name.split("__")
        place = content
        for step in inner:
            place = place[step]
        place[last] = value
    file.write_text(json.dumps(content), "utf-8")
    return path


def differs(path: Path) -> dict[About, str]:
    return {one.about: one.words for one in check(read_submission(path), BUILT).refused}


def command(monkeypatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["scaleqa", "leaderboard", *map(str, words)])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def drawn(count: int, seed: int = 0):
    """Keeps the rows of a sample."""
    ranks = sample_ranks(BUILT[DATA], count, seed)
    return lambda rows: [row for row in rows if row.id in ranks]


def flipped(rows, **changes):
    """The first row that is a miss, changed."""
    place = next(n for n, row in enumerate(rows) if not row.hit)
    found = {name: value(rows[place]) for name, value in changes.items()}
    return [*rows[:place], rows[place].model_copy(update=found), *rows[place + 1 :]]


def test_an_honest_result_follows(run, tmp_path):
    path = made(run, tmp_path / "one", link="https://example.org/one", note="a note")
    found = check(read_submission(path), BUILT)
    assert {one.state for one in found.findings} == {State.HOLDS}
    result = read_submission(path).result
    assert (result.questions.asked, result.questions.of, result.questions.seed) == (24, 1500, 11)
    assert result.data.splits == ("s2",)
    assert result.system.options == {"budget": "120"}


def test_figures_are_those_of_the_rows(run, answers, tmp_path):
    rows = chosen_rows(all_rows(answers), SYSTEMS[0])
    result = read_submission(made(answers, tmp_path / "answered")).result
    right = sum(row.gold == "A" for row in rows)
    assert 0 < right < len(rows)
    assert result.figures.strict.value == pytest.approx(right / len(rows), abs=1e-6)
    assert result.figures.strict.low < result.figures.strict.value < result.figures.strict.high
    assert result.figures.in_context.value == pytest.approx(
        sum(row.hit for row in rows) / len(rows), abs=1e-6
    )
    assert [judge.identity for judge in result.judges] == ["letter/1"]
    assert result.judge_sensitivity is None
    assert result.reader.prompt.startswith("answer.v1/")


def test_the_same_rows_give_the_same_bytes_without_texts(run, tmp_path):
    one, two = made(run, tmp_path / "one"), made(run, tmp_path / "two")
    assert [*map(Path.name.fget, sorted(one.iterdir()))] == ["result.json", "rows.jsonl.gz"]
    for file in one.iterdir():
        assert file.read_bytes() == (two / file.name).read_bytes()
    rows = read_submission(one).rows
    assert {row.question for row in rows} == {""}
    assert all(row.detail and not row.detail.context for row in rows)
    assert any(row.detail.shown for row in rows)


def test_a_changed_figure_is_refused(run, tmp_path):
    path = edited(made(run, tmp_path / "one"), figures__in_context__value=0.99)
    assert "figures.in_context.value is 0.99, it follows 0." in differs(path)[About.FIGURES]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("system__spec", "tsim"),
        ("scaleqa", "9.9"),
        ("questions__of", 24),
        ("questions__asked", 25),
        ("embedder", "a better one"),
        ("figures__search_p50_ms__value", 0.001),
        ("data__target", 128_000),
        ("data__track", "other words"),
        ("rows_sha256", "0" * 64),
    ],
)
def test_whatever_else_does_not_follow_is_refused(run, tmp_path, name, value):
    path = edited(made(run, tmp_path / "one"), **{name: value})
    assert name.replace("__", ".") in differs(path)[About.FIGURES]


@pytest.mark.parametrize("last", [True, False])
def test_a_dropped_wrong_row_is_refused(run, tmp_path, last):
    def drop(rows):
        places = [n for n, row in enumerate(rows) if not row.hit]
        place = places[-1] if last else places[0]
        return [row for n, row in enumerate(rows) if n != place]

    found = differs(made(run, tmp_path / "one", change=drop))
    assert "23 rows for 24 questions" in found[About.DATA]


def test_a_dropped_row_in_the_middle_is_seen_without_the_data(run, tmp_path):
    path = made(run, tmp_path / "one", change=lambda rows: [*rows[:4], *rows[5:]])
    edited(path, data__spec=None)
    found = check(read_submission(path), BUILT)
    assert found.state(About.DATA) is State.OPEN
    assert [one.words for one in found.refused] == ["batch-01: no row for the questions at 4"]


def test_a_doubled_row_is_refused(run, tmp_path):
    path = made(run, tmp_path / "one", change=lambda rows: [*rows, rows[0]])
    assert "2 rows for" in differs(path)[About.ROWS]


def test_an_edited_hit_is_refused(run, tmp_path):
    flag = made(run, tmp_path / "one", change=lambda rows: flipped(rows, hit=lambda _: True))
    assert "hit is True, with" in differs(flag)[About.HITS]
    both = made(
        run,
        tmp_path / "two",
        change=lambda rows: flipped(
            rows, hit=lambda _: True, evidence_shown=lambda row: len(row.evidence)
        ),
    )
    assert "by the turns that are named" in differs(both)[About.HITS]


def test_an_answer_that_is_graded_too_well_is_refused(answers, tmp_path):
    def regrade(rows):
        return [
            row.model_copy(update={"answered": row.answered.model_copy(update={"correct": True})})
            for row in rows
        ]

    def other_gold(rows):
        return [row.model_copy(update={"gold": "A"}) for row in regrade(rows)]

    graded = differs(made(answers, tmp_path / "one", change=regrade))
    assert "is graded True" in graded[About.HITS]
    gold = differs(made(answers, tmp_path / "two", change=other_gold))
    assert "gold is 'A', in the package" in gold[About.DATA]


@pytest.mark.parametrize(
    ("evidence", "abstained", "correct"),
    [((), True, True), ((), False, False), ((3,), True, False), ((3,), False, True)],
)
def test_abstaining_is_right_where_it_is_offered_and_the_matter_never_came_up(
    answers, evidence, abstained, correct
):
    row = next(row for row in all_rows(answers) if row.answered)
    reader = row.run.reader.model_copy(update={"abstention": True})
    said = {"abstained": abstained, "answer": None if abstained else row.gold}

    def graded(verdict):
        answered = row.answered.model_copy(update={**said, "correct": verdict})
        return row.model_copy(
            update={
                "run": row.run.model_copy(update={"reader": reader}),
                "answered": answered,
                "evidence": evidence,
                "evidence_shown": 0,
                "hit": False,
                "detail": None,
            }
        )

    assert [*contradictions([graded(correct)])] == []
    (found,) = contradictions([graded(not correct)])
    assert f"is graded {not correct}" in found


def test_another_package_is_refused(run, tmp_path):
    def elsewhere(rows):
        other = {"package_sha256": "0" * 64}
        return [r.model_copy(update={"run": r.run.model_copy(update=other)}) for r in rows]

    found = differs(made(run, tmp_path / "one", change=elsewhere))
    assert f"sha256 {'0' * 64}, rebuilt it is" in found[About.DATA]
    path = edited(made(run, tmp_path / "two"), data__spec=f"{DATA},subset_seed=12")
    assert "rebuilt it is" in differs(path)[About.DATA]


def test_another_version_of_the_schema_is_refused(run, tmp_path):
    path = edited(made(run, tmp_path / "one"), schema_version=2)
    with pytest.raises(DataError, match="schema version 2, and this scaleqa reads version 1"):
        read_submission(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("note", "<script>alert(1)</script>"),
        ("system__link", "javascript:alert(1)"),
        ("system__link", "https://example.org/) [x](y"),
        ("surprise", 1),
    ],
)
def test_what_does_not_follow_the_schema_is_refused(run, tmp_path, name, value):
    path = edited(made(run, tmp_path / "one"), **{name: value})
    with pytest.raises(DataError, match="does not follow the schema"):
        read_submission(path)


def test_damaged_rows_are_refused(run, tmp_path):
    path = made(run, tmp_path / "one")
    rows = path / "rows.jsonl.gz"
    rows.write_bytes(rows.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged or incomplete"):
        read_submission(path)


def test_data_that_is_not_here_is_said_to_be_unchecked(run, tmp_path, monkeypatch, capsys):
    path = made(run, tmp_path / "one")
    for spec in ("longmemeval:file=nowhere.json", "program.py:make"):
        edited(path, data__spec=spec)
        found = check(read_submission(path), BUILT)
        assert found.state(About.DATA) is State.OPEN
        assert not found.refused
    assert command(monkeypatch, "check", path) == 3
    assert "data: not checked here" in capsys.readouterr().out


def test_several_judges_give_a_sensitivity(answers, tmp_path):
    rows = chosen_rows(all_rows(answers), SYSTEMS[0])
    verdicts = [
        Verdict(judge="judge/j.v1/abc/strict", package=r.run.package, id=r.id, correct=False)
        for r in rows
    ]
    path = made(answers, tmp_path / "one", verdicts=verdicts)
    found = read_submission(path)
    assert not check(found, BUILT).refused
    own, other = found.result.judges
    assert (other.prompt, other.strict.value) == ("j.v1/abc", 0)
    assert found.result.judge_sensitivity.highest == own.strict.value
    with pytest.raises(DataError, match=r"23 verdicts for 24 answers"):
        made(answers, tmp_path / "two", verdicts=verdicts[1:])


def test_a_sample_follows_and_says_of_how_many(answers, packages, tiny_embedder, tmp_path):
    path = made(answers, tmp_path / "one", change=drawn(10), seed=0)
    found = read_submission(path)
    checked = check(found, BUILT)
    assert {one.state for one in checked.findings} == {State.HOLDS}
    asked = found.result.questions
    assert (asked.asked, asked.of, asked.seed, asked.sample_seed) == (10, 1500, 11, 0)
    assert found.result.figures.questions == 10
    text = to_markdown(leaderboard_page([Entry(submission=found, checked=checked)]), "board")
    assert "10 of 1,500, seed 11, sample seed 0" in text
    again = recompute(found, packages, tiny_embedder, questions=3)
    assert again.state is State.HOLDS


def test_results_without_a_sample_do_not_mention_one(run, tmp_path):
    path = made(run, tmp_path / "one")
    assert "sample" not in (path / "result.json").read_text("utf-8")


def last_of(count: int) -> str:
    """The question that a sample of one fewer does not have."""
    return list(sample_ranks(BUILT[DATA], count, 0))[-1]


@pytest.mark.parametrize("counted", [True, False])
def test_a_row_dropped_from_a_sample_is_refused(answers, tmp_path, counted):
    def drop(rows):
        kept = drawn(10)(rows)
        wrong = next(r for r in kept if not r.answered.correct and r.id != last_of(10))
        return [row for row in kept if row is not wrong]

    path = made(answers, tmp_path / "one", change=drop, seed=0)
    if not counted:
        edited(path, questions__asked=10)
    found = differs(path)
    assert "of the sample" in found[About.DATA]
    assert (About.FIGURES in found) is not counted


def test_other_questions_than_those_of_the_sample_are_refused(answers, tmp_path):
    def swap(rows):
        kept = drawn(10)(rows)
        (other,) = [row for row in rows if row.id == last_of(11)]
        return sorted([*kept[1:], other], key=lambda row: (row.run.package, row.place))

    found = differs(made(answers, tmp_path / "swapped", change=swap, seed=0))
    assert "no row for" in found[About.DATA]
    assert f"rows for {last_of(11)}, not of the sample" in found[About.DATA]
    for seed in (1, None):
        other = differs(made(answers, tmp_path / f"seed{seed}", change=drawn(10), seed=seed))
        assert About.DATA in other


def test_rows_added_to_a_sample_are_refused(answers, tmp_path):
    path = made(answers, tmp_path / "one", change=drawn(11), seed=0)
    assert not differs(path)
    found = differs(edited(path, questions__asked=10))
    assert f"rows for {last_of(11)}, not of the sample" in found[About.DATA]
    assert "questions.asked is 10, there are 11 rows" in found[About.FIGURES]
    twice = made(answers, tmp_path / "two", change=lambda rows: [*drawn(10)(rows), rows[0]], seed=0)
    assert differs(twice)


@pytest.mark.parametrize("count", [0, -1, 25])
def test_a_sample_that_cannot_be_drawn_is_refused(answers, tmp_path, count):
    path = made(answers, tmp_path / "one", change=drawn(10), seed=0)
    found = differs(edited(path, questions__asked=count))
    assert f"a sample of {count} was asked for; there are 24" in found[About.DATA]


@pytest.mark.parametrize("place", [-1, 24, 10**6])
def test_a_place_that_no_question_has_hides_nothing(answers, tmp_path, place):
    def move(rows):
        kept = drawn(10)(rows)
        chosen = 0 if place < 0 else -1
        return [
            row.model_copy(update={"place": place, "gold": "A"}) if row is kept[chosen] else row
            for row in kept
        ]

    found = differs(made(answers, tmp_path / "one", change=move, seed=0))
    assert f"place {place}, of " in found[About.DATA]


def test_a_sample_without_its_data_is_said_to_be_unchecked(answers, tmp_path):
    path = made(answers, tmp_path / "one", change=drawn(10), seed=0)
    found = check(read_submission(edited(path, data__spec="longmemeval:file=nowhere.json")), {})
    assert found.state(About.DATA) is State.OPEN
    assert not found.refused


def test_the_command_takes_a_sample_with_the_verdicts_beside_it(
    answers, tmp_path, monkeypatch, capsys
):
    rows = drawn(10)(chosen_rows(all_rows(answers), SYSTEMS[0]))
    run, judge = tmp_path / "run", "judge/j.v1/abc/strict"
    for package in sorted({row.run.package for row in rows}):
        own = [row for row in rows if row.run.package == package]
        file = row_path(run, SYSTEMS[0], package)
        write_rows(file, own)
        beside = VerdictFile(verdict_path(file, judge), judge)
        for row in own:
            beside.append(judgement(row, Found(correct=False, answer=None), None))
        beside.close()
    out = tmp_path / "results" / "one"
    words = ("add", run, "--out", out, "--sample", 10)
    assert command(monkeypatch, *words) == 1
    assert "name the data set with --data" in capsys.readouterr().err
    # The sample of the seed that exports have by default is another one.
    assert command(monkeypatch, *words, "--data", DATA) == 1
    assert "of the sample" in capsys.readouterr().err
    assert not out.exists()
    assert command(monkeypatch, *words, "--data", DATA, "--seed", 0) == 0
    assert command(monkeypatch, "check", out) == 0
    found = read_submission(out)
    assert [one.identity for one in found.result.judges] == ["letter/1", judge]
    assert found.result.judge_sensitivity.lowest == 0
    assert not any(row.judged for row in found.rows)


def test_a_system_that_runs_again_does_the_same_and_a_forger_is_found(
    run, packages, tiny_embedder, tmp_path
):
    path = made(run, tmp_path / "one")
    again = recompute(read_submission(path), packages, tiny_embedder, questions=6)
    assert again.state is State.HOLDS

    def forge(rows):
        """Everything in a row that says so is changed, as carefully as one can."""
        return [
            row.model_copy(
                update={
                    "hit": True,
                    "evidence_shown": len(row.evidence),
                    "turns_shown": len({*row.detail.shown, *row.evidence}),
                    "detail": row.detail.model_copy(
                        update={"shown": tuple(sorted({*row.detail.shown, *row.evidence}))}
                    ),
                }
            )
            for row in rows
        ]

    forged = read_submission(made(run, tmp_path / "two", change=forge))
    assert not check(forged, BUILT).refused
    found = recompute(forged, packages, tiny_embedder, questions=24)
    assert found.state is State.DIFFERS
    assert "hit is True, run again False" in found.words


def test_a_receipt_counts_for_the_rows_that_it_is_about(run, tmp_path):
    path = made(run, tmp_path / "one")
    kept = read_submission(path).rows_sha256
    for rows, refused in ((kept, False), ("0" * 64, True)):
        write_receipt(path, Receipt(rows_sha256=rows, scaleqa="1", questions=5, seed=1))
        assert bool(differs(path)) is refused


def test_systems_that_a_result_must_not_start_are_not_run(run, packages, tiny_embedder, tmp_path):
    def program(rows):
        other = {"system": "external:command=touch started"}
        return [r.model_copy(update={"run": r.run.model_copy(update=other)}) for r in rows]

    path = made(run, tmp_path / "one", change=program)
    found = recompute(read_submission(path), packages, tiny_embedder, questions=2)
    assert found.state is State.OPEN
    assert "no system that runs in this process" in found.words


def test_tables_are_ranked_and_ties_are_marked(run, answers, tmp_path):
    paths = [made(run, tmp_path / f"r{n}", name) for n, name in enumerate(SYSTEMS)]
    paths += [made(answers, tmp_path / f"a{n}", name) for n, name in enumerate(SYSTEMS[:2])]
    submissions = [read_submission(path) for path in paths]
    entries = [Entry(submission=one, checked=check(one, BUILT)) for one in submissions]
    retrieval, answered = boards(entries)
    values = [line.entry.figure.value for line in retrieval.lines]
    assert values == sorted(values, reverse=True)
    assert retrieval.lines[0].best
    assert retrieval.lines[-1].entry.submission.result.system.name == "zero_shot"
    assert retrieval.lines[-1].told_apart
    # Both answer A to everything, so no test can tell them apart.
    assert answered.lines[1].told_apart is False
    text = to_markdown(leaderboard_page(entries), "leaderboard")
    assert "not distinguishable from the best" in text
    assert "one judge" in text
    assert text.index(": retrieval") < text.index(": answers")


def test_a_sample_of_easy_questions_does_not_make_others_lower(run, tmp_path):
    def hitting(count, keep):
        """Hits for the first questions of a sample of 12, and for no others."""
        ranks = sample_ranks(BUILT[DATA], count, 0)
        return lambda rows: [
            row.model_copy(update={"hit": row.id in ranks}) for row in drawn(keep)(rows)
        ]

    # Half of the questions each; of the 12 questions of both, the second has all and not half.
    part = made(run, tmp_path / "a", change=hitting(6, 12), seed=0)
    whole = made(run, tmp_path / "b", change=hitting(12, 24))
    submissions = [read_submission(path) for path in (part, whole)]
    entries = [Entry(submission=one, checked=check(one, BUILT)) for one in submissions]
    text = to_markdown(leaderboard_page(entries), "leaderboard")
    assert "| best |" in text
    assert "| higher on the questions of both |" in text
    assert "| lower |" not in text


def test_the_command_makes_checks_and_shows_results(run, tmp_path, monkeypatch, capsys):
    out = tmp_path / "results" / "one"
    words = ("add", run, "--data", DATA, "--out", out)
    assert command(monkeypatch, *words) == 1
    assert "choose one with --system" in capsys.readouterr().err
    assert not out.exists()
    assert command(monkeypatch, *words, "--system", SYSTEMS[0]) == 0
    assert command(monkeypatch, *words, "--system", SYSTEMS[0]) == 1
    assert "exists already" in capsys.readouterr().err
    assert command(monkeypatch, "check", tmp_path / "results", "--json") == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["result"], said["refused"]) == ("one", False)
    for ending in ("html", "md", "json"):
        page = tmp_path / f"board.{ending}"
        assert command(monkeypatch, "page", tmp_path / "results", "--out", page) == 0
        assert SYSTEMS[0] in page.read_text("utf-8").replace("<wbr>", "")
    edited(out, figures__in_context__value=1.0)
    assert command(monkeypatch, "check", out) == 1
    assert "figures.in_context.value is 1.0" in capsys.readouterr().err
    page = tmp_path / "refused.html"
    assert command(monkeypatch, "page", tmp_path / "results", "--out", page) == 1
    assert not page.exists()


def test_rows_of_the_wrong_data_are_not_made_a_result(run, tmp_path, monkeypatch, capsys):
    other = "scaleqa:split=s2,target=6000,subset=24,subset_seed=12"
    words = ("add", run, "--system", SYSTEMS[0], "--data", other, "--out", tmp_path / "one")
    assert command(monkeypatch, *words) == 1
    assert "rebuilt it is" in capsys.readouterr().err
    assert not (tmp_path / "one").exists()


def test_answers_of_a_stand_in_are_no_result(run):
    rows = chosen_rows(all_rows(run), SYSTEMS[0])
    reader = {"backend": "extractive", "prompt": "p", "writeback": False, "stand_in": True}
    changed = [
        row.model_copy(update={"run": type(row.run)(**{**row.run.model_dump(), "reader": reader})})
        for row in rows
    ]
    with pytest.raises(DataError, match="no language model answered"):
        make_result(changed, Claims(data=DATA))


def test_the_schema_is_printed_and_names_every_part(monkeypatch, capsys):
    assert command(monkeypatch, "schema") == 0
    assert json.loads(capsys.readouterr().out) == json_schema()
    assert {"system", "data", "judges", "figures", "rows_sha256"} <= {*json_schema()["properties"]}


def test_intervals_of_means_and_medians():
    low, high = mean_interval([1, 2, 3, 4])
    assert (low + high) / 2 == pytest.approx(2.5)
    assert high - low == pytest.approx(2 * 1.959964 * (5 / 3) ** 0.5 / 2, rel=1e-6)
    assert median_interval([5.0]) == (5.0, (5.0, 5.0))
    # Of 100 values, the ranks 40 and 60.
    assert median_interval([*range(100)]) == (49.5, (40, 60))


@pytest.fixture(scope="module")
def committed():
    built = {}
    found = [read_submission(path) for path in find_results(ROOT / "results")]
    return [Entry(submission=one, checked=check(one, built)) for one in found]


def test_committed_results_pass(committed):
    assert [
        (one.checked.name, one.checked.refused) for one in committed if one.checked.refused
    ] == []
    assert [one.checked.name for one in committed if one.checked.open] == []


def test_committed_results_are_small():
    """Rows and raw answers of thousands of readings ship; contexts, which are large, do not."""
    files = [file for file in (ROOT / "results").rglob("*") if file.is_file()]
    assert max(file.stat().st_size for file in files) < 500_000
    assert sum(file.stat().st_size for file in files) < 8_000_000


def test_the_committed_page_is_what_the_command_writes(committed):
    page = leaderboard_page(committed)
    docs = ROOT / "docs"
    expected = {"leaderboard.md": to_markdown(page, "leaderboard")}
    expected |= drawing_files(page, "leaderboard")
    for name, text in expected.items():
        assert (docs / name).read_text("utf-8") == text, (
            "write it again: scaleqa leaderboard page results --out docs/leaderboard.md"
        )
    assert {file.name for file in docs.glob("leaderboard*")} == {*expected}


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_is_readable_on_a_phone_and_a_screen(committed, tmp_path, width):
    file = tmp_path / "leaderboard.html"
    file.write_text(to_html(leaderboard_page(committed)), "utf-8")
    with launched() as browser, watched(browser, file.as_uri()) as opened:
        page = opened(viewport={"width": width, "height": 900})
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        whole = page.locator("abbr").first.get_attribute("title")
        assert whole
        tables = page.locator("tbody").count()
        assert tables == 2 * len(boards(committed))
