"""The paper's tables on tiny threads: reused, resumed, written down, refused where they must be."""

import json
import re
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from scaleqa.backends import Access, open_backend
from scaleqa.cli.app import app
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.evaluate import Reading, RunSettings, retrieve_together
from scaleqa.evaluate.rowfile import read_rows, row_files, write_rows
from scaleqa.figures.relevance import relevance
from scaleqa.noise import shipped_pool
from scaleqa.packages import BuildSettings, Filler, build, load_packages, track_of
from scaleqa.pages.forms import span
from scaleqa.pages.json import to_json
from scaleqa.pages.markdown import to_markdown
from scaleqa.pages.page import Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table
from scaleqa.products import find_product, install, not_run
from scaleqa.prompts import template
from scaleqa.records import load_talk
from scaleqa.reproduce import (
    TABLES,
    Lab,
    Sources,
    budgets,
    late,
    reproduce,
    resources,
    results,
    splits,
    tracks,
)
from scaleqa.shards import Processes, Recipe
from scaleqa.stats import mcnemar, wilson
from scaleqa.systems.flat import FlatSystem
from tests.support.records import (
    ASIDES,
    NOISE,
    RECORDS,
    SEQUELS,
    TALK,
    WORDINGS,
    follow,
    make,
    write,
)
from tests.support.runs import without_times
from tests.support.servers import JsonServer, completion, serving

SHORT = (2500,)


@contextmanager
def silent(_label):
    yield lambda _done, _total: None


@pytest.fixture
def sources(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    return Sources(
        out=tmp_path / "out",
        records=RECORDS,
        noise=NOISE,
        progress=silent,
        backend=open_backend("extractive"),
        model=str(tiny),
        subset=12,
    )


def made(sources, name, **changes):
    changes = {"targets": SHORT, **changes}
    page, files = reproduce(replace(TABLES[name], **changes), Lab(sources), f"command {name}")
    figure = files["figure"].read_text("utf-8")
    ET.fromstring(figure)
    return page, files["table"].read_text("utf-8"), figure


def rows_of(page, number=0):
    return page.tables[number].rows


def test_episodes_are_compared_with_windows_and_the_paper(sources):
    page, text, figure = made(sources, "episodes")
    assert [row["system"] for row in rows_of(page)] == [*TABLES["episodes"].systems]
    for row in rows_of(page):
        hits = round(row["recall_at_5"] * 12)
        assert row["recall_interval"] == wilson(hits, 12)
        assert f"{100 * row['recall_at_5']:.1f}" in figure
        assert f"| {row['system']} | {row['recall_at_5']:.3f} |" in text
    assert "A stratified subset of 12 questions" in text
    assert "in place of the paper's BGE-large" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stress", "results"])
def test_rows_are_made_ahead_in_parallel(sources, name, tmp_path, monkeypatch):
    """All of them, in the closed loop and for tracks that share threads."""
    systems = ("packed_turns:budget=80", "standard_rag")
    sources = replace(sources, wordings=WORDINGS)
    alone, parallel = tmp_path / "alone", tmp_path / "parallel"
    made(replace(sources, out=alone), name, systems=systems)
    monkeypatch.setattr("scaleqa.evaluate.loop.fed_system", None)  # nothing is left to do here
    executor = Processes(jobs=2, work=parallel / ".work")
    recipe = Recipe(backend="extractive")
    made(replace(sources, out=parallel, executor=executor, recipe=recipe), name, systems=systems)
    found = [
        {str(path.relative_to(out)): without_times(read_rows(path)) for path in row_files(out)
         if "packages" not in path.parts}
        for out in (alone, parallel)
    ]  # fmt: skip
    assert found[0] == found[1]
    assert found[0]


def test_the_paper_s_figures_stand_only_beside_its_own_length(sources):
    short, _, _ = made(sources, "views")
    assert all(row["paper"] is None for row in rows_of(short))
    _, text, figure = made(replace(sources, noise=many()), "views", targets=(128_000,))
    for view, printed in (("raw", "0.638"), ("summary", "0.861"), ("cluster", "0.708")):
        assert re.search(rf"\| {view} \| .* \| {printed} \|", text)
    assert "the paper&#x27;s, with BGE-large" in figure


def many():
    """Noise of few, long turns: enough for the paper's length, and quickly read."""
    return [
        replace(NOISE[0], id=f"long{n:03d}", turns=(f"noise{n} says " * 250, f"yes {n} " * 250))
        for n in range(110)
    ]


def kept(sources):
    return {path: path.read_bytes() for path in sorted(sources.out.glob("results/**/*.jsonl"))}


def test_results_are_reused_and_the_page_is_the_same(sources):
    _, first, drawn = made(sources, "episodes")
    rows = kept(sources)
    assert made(sources, "episodes")[1:] == (first, drawn)
    assert kept(sources) == rows


def test_a_stopped_run_continues_with_what_is_missing(sources):
    calls = []

    @contextmanager
    def stopping(_label):
        def advance(done, total):
            calls.append(done)
            if len(calls) == 40:
                raise KeyboardInterrupt

        yield advance

    whole, _, _ = made(replace(sources, out=sources.out / "whole", subset=None), "views")
    stopped = replace(sources, subset=None)
    with pytest.raises(KeyboardInterrupt):
        made(replace(stopped, progress=stopping), "views")
    before = kept(stopped)
    assert any(before.values())
    page, _, _ = made(stopped, "views")
    after = kept(stopped)
    assert sum(map(len, after.values())) > sum(map(len, before.values()))
    assert all(after[path].startswith(content) for path, content in before.items())
    assert page == whole


def test_what_belongs_to_another_run_is_refused(sources, tiny):
    made(sources, "views")
    with pytest.raises(DataError, match="other records, noise or settings"):
        made(replace(sources, noise=NOISE[:100]), "views")
    (path,) = kept(sources)
    rows = read_rows(path)
    other = [
        row.model_copy(update={"run": row.run.model_copy(update={"scaleqa": "0"})}) for row in rows
    ]
    write_rows(path, other)
    with pytest.raises(DataError, match=r"another run \(different: scaleqa\)"):
        made(sources, "views")
    path.write_text("{\n")
    with pytest.raises(DataError, match="is damaged; remove the file"):
        made(sources, "views")


def test_theta_gives_a_line_a_length_and_the_gap_around_the_paper_s_value(sources):
    systems = ("tsim_official:theta=0.66", "tsim_official:theta=0.7")
    page, text, figure = made(sources, "theta", systems=systems, targets=(2000, 2500))
    assert [(row["length"], row["theta"]) for row in rows_of(page)] == [
        ("2k", 0.66), ("2k", 0.7), ("2.5k", 0.66), ("2.5k", 0.7)
    ]  # fmt: skip
    for gap in rows_of(page, 1):
        first, second = (row for row in rows_of(page) if row["length"] == gap["length"])
        assert gap["difference"] == pytest.approx(first["recall_at_5"] - second["recall_at_5"])
    assert figure.count("</title><path") == 4
    assert "θ" in text


def test_embedders_that_are_not_here_are_listed_and_never_measured(sources, tiny):
    page, text, _ = made(
        sources, "embedders", systems=("standard_rag",), models=(str(tiny), "bge-large-en-v1.5")
    )
    assert len(rows_of(page)) == 1
    assert "Not here, so not measured: bge-large-en-v1.5." in text
    assert "`tsim models fetch bge-large-en-v1.5`" in text
    with pytest.raises(
        DataError, match=r"to fetch them: mpnet\+gte: tsim models fetch mpnet\+gte; minilm\+gte: "
    ):
        made(sources, "embedders")


def test_lengths_that_cannot_be_built_are_left_out_and_said(sources):
    page, text, figure = made(
        sources, "scaling", systems=("standard_rag",), targets=(0, 2500, 3_000_000)
    )
    assert [row["length"] for row in rows_of(page)] == ["0", "2.5k"]
    assert re.search(r"Left out: 3M\. Batch 1 needs \d+ tokens of noise and the pool has", text)
    assert "--noise" in text
    assert ">2.5k</text>" in figure
    with pytest.raises(DataError, match="no length can be built"):
        made(sources, "scaling", targets=(3_000_000,))


def test_a_million_is_asked_on_fewer_questions(sources, monkeypatch):
    monkeypatch.setattr(resources, "AT_A_MILLION", 5)
    sizes = []

    class Small(Lab):
        def threads(self, target, count=None):
            sizes.append((target, count))
            return super().threads(2500, count)

    table = replace(TABLES["scaling"], systems=("zero_shot",), targets=(128_000, 1_000_000))
    reproduce(table, Small(sources), "command")
    assert sizes == [(128_000, None), (1_000_000, 5)]


def test_cost_embeds_everything_anew(sources):
    made(sources, "episodes", systems=("standard_rag",))
    page, text, figure = made(sources, "cost", systems=("standard_rag", "tsim_official"))
    flat, ours = rows_of(page)
    assert flat["vectors"] == len(Lab(sources).threads(2500).packages[0].stream)
    dimension = Lab(sources).embedder().dimension
    assert flat["megabytes"] == pytest.approx(flat["vectors"] * dimension * 4 / 1e6)
    assert ours["vectors"] > flat["vectors"]
    assert ours["amplification"] == 2
    assert flat["ingest_ms"] > 0
    assert f"{flat['p50_ms']:.1f} ms" in figure
    assert "none taken from the cache" in text
    assert {path.parts[-3] for path in sources.out.glob("results/**/*.jsonl")} == {
        "cold", "warm"
    }  # fmt: skip


def test_late_asks_about_topics_that_resume_where_there_are_sequels(sources):
    systems = ("tsim", "perfect_episodes", "standard_rag")
    plain, _, _ = made(sources, "late", systems=systems)
    titles = ["", "Without one part", "Matters that never came up"]
    assert [table.title for table in plain.tables] == titles
    page, text, figure = made(replace(sources, sequels=SEQUELS), "late", systems=systems)
    assert page.tables[:3] == plain.tables
    grid = page.tables[3]
    assert grid.title == "Topics that resume"
    assert [row["system"] for row in grid.rows] == [
        "tsim:budget=750", "tsim:budget=750,off=reentry", "perfect_episodes:budget=750",
        "standard_rag",
    ]  # fmt: skip
    heads = [column.head for column in grid.columns]
    assert heads[2:8] == ["named", "unnamed", "s2", "95 %", "s1", "all"]
    assert heads[-3:] == ["ours less this", "95 %", "McNemar p"]
    assert "## Topics that resume" in text
    assert "resumed · standard_rag" in figure
    assert all("difference" in row for row in grid.rows[1:])
    assert "12 questions about 1 thread of 2.5k tokens" in text


def test_topics_that_resume_are_scored_on_the_questions_with_a_sequel_alone(sources, few):
    followed = {record.id: n % 3 == 0 for n, record in enumerate(RECORDS[::4])}
    sequels = [follow(r, named=followed[r.id]) for r in RECORDS[::4]]
    whole = replace(sources, sequels=sequels, subset=None)
    systems = ("tsim", "oracle", "standard_rag")
    page, _, _ = made(whole, "late", systems=systems)
    by_system = {row["system"]: row for row in rows_of(page, 3)}
    told = by_system["oracle"]
    assert [told[key] for key in ("named", "unnamed", "in_context", "s1", "all")] == 5 * [1]
    seen = Lab(whole)
    threads = tracks.RESUMED.threads(seen, 2500)
    assert {q.id for package in threads.packages for q in package.questions} == {*followed}
    assert len(seen.threads(2500, sequels=True).packages[0].questions) > len(
        threads.packages[0].questions
    )
    hits, best = (
        {row.id: row.hit for row in seen.retrieve(spec, threads)}
        for spec in ("standard_rag", "tsim:budget=750")
    )
    row = by_system["standard_rag"]
    for kind, named in (("named", True), ("unnamed", False)):
        some = [hits[key] for key, value in followed.items() if value == named]
        assert row[kind] == pytest.approx(sum(some) / len(some))
    assert row["all"] == pytest.approx(sum(hits.values()) / len(followed))
    held = [key for key in followed if key.startswith("s2:")]
    ours, theirs = ([found[key] for key in held] for found in (best, hits))
    assert 0 < len(held) < len(followed)
    assert row["interval"] == wilson(sum(theirs), len(held))
    assert row["difference"] == pytest.approx((sum(ours) - sum(theirs)) / len(held))
    assert row["mcnemar_p"] == mcnemar(ours, theirs)


@pytest.fixture
def few(monkeypatch):
    """Two budgets and two parts, so that pages are made quickly."""
    monkeypatch.setattr(budgets, "BUDGETS", (300, 1100))
    some = {part: late.PARTS[part] for part in ("words", "links")}
    monkeypatch.setattr(late, "PARTS", some)


@pytest.fixture
def all_tracks(sources):
    return replace(
        sources,
        sequels=SEQUELS,
        wordings=WORDINGS,
        asides=ASIDES,
        talk=TALK,
        reserve=NOISE,
        subset=None,
    )


TRACKS = ["as written", "other words", "asides", "friends", "assistant talk", "long answers",
          "absent", "other words, absent", "braided", "resumed"]  # fmt: skip


def test_every_track_is_built_as_its_name_says_and_as_the_data_set_does(all_tracks):
    lab = Lab(all_tracks)
    groups = [[(one.name, one.threads(lab, 2500)) for one in group] for group in tracks.GROUPS]
    assert [name for group in groups for name, _ in group] == TRACKS
    for group in groups:
        for name, threads in group:
            assert {track_of(package.settings) for package in threads.packages} == {name}
        streams = [
            {package.name: package.stream for package in threads.packages} for _, threads in group
        ]
        for some in streams[1:]:
            assert all(streams[0][name] == stream for name, stream in some.items())
    names = {threads.name for group in groups for _, threads in group}
    assert len(names) == len(TRACKS)
    filler = Filler(noise=NOISE, reserve=NOISE)
    assert [*groups[1][0][1].packages] == build(ASIDES, filler, BuildSettings(target=2500))


def test_threads_that_two_tracks_share_are_ingested_once_and_rows_are_as_if_apart(
    all_tracks, monkeypatch
):
    lab, alone = Lab(all_tracks), Lab(replace(all_tracks, out=all_tracks.out / "alone"))
    fed = []
    ingest = FlatSystem.ingest
    monkeypatch.setattr(
        FlatSystem, "ingest", lambda self, turns: (fed.append(len(turns)), ingest(self, turns))[1]
    )
    for system in ("standard_rag", "oracle", "tsim:budget=100", "memgpt"):
        pair = [one.threads(lab, 2500) for one in (tracks.WRITTEN, tracks.OTHER_WORDS)]
        fed.clear()
        both = lab.retrieve_together(system, pair)
        assert sum(fed) in (0, sum(len(p.stream) for p in pair[0].packages))
        for threads, rows in zip(pair, both, strict=True):
            apart = alone.retrieve(system, threads)
            assert [untimed(row) for row in rows] == [untimed(row) for row in apart]
        assert [{row.run.track for row in rows} for rows in both] == [
            {"as written"}, {"other words"}
        ]  # fmt: skip
        fed.clear()
        assert lab.retrieve_together(system, pair) == both
        assert fed == []


def untimed(row):
    return row.model_copy(update={"timing": None})


def test_a_stopped_shared_run_continues_with_what_is_missing(all_tracks):
    lab = Lab(all_tracks)
    pair = [one.threads(lab, 2500) for one in (tracks.WRITTEN, tracks.OTHER_WORDS)]
    whole = lab.retrieve_together("standard_rag", pair)
    files = sorted((all_tracks.out / "results").rglob("*.jsonl"))
    for path in files:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(lines[0] + lines[1][:20])
    again = lab.retrieve_together("standard_rag", pair)
    assert [[untimed(r) for r in rows] for rows in again] == [
        [untimed(r) for r in rows] for rows in whole
    ]
    files[0].unlink()
    again = lab.retrieve_together("standard_rag", pair)
    assert [len(rows) for rows in again] == [len(rows) for rows in whole]


def test_packages_with_other_threads_do_not_share_a_run(all_tracks, tiny_embedder, tmp_path):
    lab = Lab(all_tracks)
    written, braided = (
        one.threads(lab, 2500).packages[0] for one in (tracks.WRITTEN, tracks.BRAIDED)
    )
    plain = RunSettings(system="standard_rag")
    outs = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(DataError, match="about the same thread"):
        retrieve_together([written, braided], plain, tiny_embedder, outs)
    unasked = replace(braided, questions=())
    with pytest.raises(DataError, match="has another thread than"):
        retrieve_together([written, unasked], plain, tiny_embedder, outs)
    reading = Reading(backend=all_tracks.backend, template=template("answer.v1"))
    with pytest.raises(DataError, match="for retrieval only"):
        retrieve_together([written, written], replace(plain, reading=reading), tiny_embedder, outs)
    assert not any(out.exists() for out in outs)


def test_results_show_every_system_on_the_compared_tracks(all_tracks, few):
    systems = ("tsim:budget=500", "packed_turns:budget=500", "perfect_episodes:budget=500",
               "oracle", "zero_shot")  # fmt: skip
    page, text, figure = made(all_tracks, "results", systems=systems)
    overview, *details = page.tables
    names = [track.name for track in results.COMPARED]
    assert names == ["as written", "other words", "asides", "friends", "assistant talk",
                     "long answers", "braided", "resumed"]  # fmt: skip
    assert [column.head for column in overview.columns] == ["system", *names]
    assert [row["system"] for row in overview.rows] == [*systems]
    lab = Lab(all_tracks)
    for track in results.COMPARED:
        threads = track.threads(lab, 2500)
        for row in overview.rows:
            rows = lab.retrieve(row["system"], threads)
            held = [one for one in rows if one.split == "s2"]
            assert row[f"{track.name} in_context"] == mean(one.hit for one in held)
            other = [one for one in rows if one.split == "s1"]
            assert row[f"{track.name} s1"] == mean(one.hit for one in other)
            used = mean(one.context_tokens for one in held)
            assert row[f"{track.name} context_tokens"] == pytest.approx(used)
    assert [table.title.partition(" (")[0].lower() for table in details[: len(names)]] == names
    assert {"## As written in detail, all questions", "### Retrieval"} <= {*text.splitlines()}
    assert "other words · packed_turns" in figure
    assert "asides · packed_turns" not in figure
    assert "16 questions about 4 threads without noise (48 turns; friends)" in text
    assert re.search(
        r"16 questions about 4 threads of 2.5k tokens \(.* turns; assistant talk", text
    )


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def test_budgets_show_ratios_of_the_first_system_over_the_others(all_tracks, few):
    systems = ("tsim", "packed_turns:long=0", "perfect_episodes")
    page, _, figure = made(all_tracks, "budgets", systems=systems)
    rows = rows_of(page)
    names = [track.name for track in results.COMPARED]
    keys = [(row["track"], row["budget"]) for row in rows]
    assert keys == [(name, budget) for name in names for budget in budgets.BUDGETS]
    assert budgets.at("packed_turns:long=0", 300) == "packed_turns:long=0,budget=300"
    seen = 0
    for row in rows:
        for other in systems[1:]:
            for share, ratio in (("in_context", f"over {other}"), ("s1", f"over {other} s1")):
                ours, theirs = row[f"tsim {share}"], row[f"{other} {share}"]
                assert row[ratio] == (ours / theirs if theirs else None)
                seen += theirs > 0
    assert seen > 5
    assert "asides · packed_turns:long=0" in figure
    page, text, figure = made(all_tracks, "budgets", systems=("tsim",), tracks=("friends",))
    assert "÷" not in text
    assert "friends · tsim" in figure


def test_results_leave_out_tracks_without_questions_and_take_one_length(sources):
    page, _, _ = made(sources, "results", systems=("standard_rag", "oracle"))
    named = {column.head.partition(":")[0] for column in page.tables[0].columns}
    assert named == {"system", "as written", "braided"}
    with pytest.raises(DataError, match="results is about one length"):
        made(sources, "results", targets=(2000, 2500))
    with pytest.raises(DataError, match="budgets is about one length"):
        made(sources, "budgets", targets=(2000, 2500))


def test_results_take_the_tracks_that_are_named(all_tracks):
    page, text, _ = made(all_tracks, "results", systems=("oracle",), tracks=("asides", "friends"))
    assert [column.head for column in page.tables[0].columns] == ["system", "asides", "friends"]
    assert "As written in detail" not in text


def test_of_one_split_nothing_of_another_is_in_any_thread(all_tracks):
    held = all_tracks.of("s2")
    lab = Lab(held)
    for track in results.COMPARED:
        threads = track.threads(lab, 2500)
        assert threads.questions
        assert {question.split for p in threads.packages for question in p.questions} == {"s2"}
    kept = (*held.records, *held.sequels, *held.wordings, *held.asides, *held.talk, *held.reserve)
    assert {one.id.partition(":")[0] for one in kept} == {"s2"}
    with pytest.raises(DataError, match="no record is of split 's9'; there are records of s1, s2"):
        all_tracks.of("s9")


def test_threads_of_talk_have_names_of_their_own_and_friends_have_one_length(all_tracks):
    lab = Lab(all_tracks)
    friends = [tracks.FRIENDS.threads(lab, target) for target in (2500, 3000)]
    assert friends[0] is friends[1]
    assert (friends[0].name, friends[0].target) == ("0-talk-friends", 0)
    noisy = [tracks.ASSISTANT.threads(lab, target) for target in (2500, 3000)]
    assert [one.name for one in noisy] == ["2.5k-talk-assistant", "3k-talk-assistant"]
    assert [one.target for one in noisy] == [2500, 3000]
    for threads in (friends[0], *noisy):
        assert load_packages(all_tracks.out / "packages" / threads.name) == [*threads.packages]
        rows = lab.retrieve("oracle", threads)
        assert [row.split for row in rows] == [row.id[:2] for row in rows]
        assert {row.split for row in rows} == {"s1", "s2"}
    other = [life for life in TALK if life.id != "s1:Talk-01"]
    with pytest.raises(DataError, match="other records, noise or settings"):
        tracks.FRIENDS.threads(Lab(replace(all_tracks, talk=other)), 2500)


def test_threads_of_talk_are_those_of_the_data_set(all_tracks, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    write(own / "mine.jsonl", RECORDS)
    write(own / "talk.jsonl", TALK)
    lab = Lab(replace(all_tracks, talk=load_talk(own), noise=shipped_pool().dialogues, reserve=()))
    for track, options in (
        (tracks.FRIENDS, "talk=friends,target=0"),
        (tracks.ASSISTANT, "talk=assistant,target=2500"),
        (tracks.ANSWERS, "talk=answers,target=2500"),
    ):
        found = open_threads(f"scaleqa:{options},records={own}")
        assert [*track.threads(lab, 2500).packages] == [*found]


def test_talk_is_left_out_without_lives_or_if_a_life_is_too_long(all_tracks):
    both = (tracks.FRIENDS, tracks.ASSISTANT)
    assert tracks.available(all_tracks, 2500, *both) == [*both]
    assert tracks.available(all_tracks, 0, *both) == [*both]
    longest = max(life.tokens for life in TALK if life.kind == "assistant")
    assert tracks.available(all_tracks, longest, *both) == [*both]
    assert tracks.available(all_tracks, longest - 1, *both) == [tracks.FRIENDS]
    friends = [life for life in TALK if life.kind == "friends"]
    assert tracks.available(replace(all_tracks, talk=friends), 2500, *both) == [tracks.FRIENDS]
    assert tracks.available(replace(all_tracks, talk=()), 2500, *both) == []


@pytest.mark.parametrize(("wanted", "numbers"), [(1, [1]), (8, [1]), (9, [1, 2]), (99, [1, 2])])
def test_a_subset_of_talk_is_whole_lives_of_both_splits(all_tracks, wanted, numbers):
    threads = tracks.FRIENDS.threads(Lab(replace(all_tracks, subset=wanted)), 2500)
    assert threads.name == f"0-talk-friends-{wanted}"
    assert [package.name for package in threads.packages] == [
        f"{split}-Talk-0{number}" for split in ("s1", "s2") for number in numbers
    ]
    assert threads.questions == 8 * len(numbers)


def test_a_page_of_a_subset_says_that_lives_are_whole(all_tracks):
    some = replace(all_tracks, subset=12)
    assert "in whole lives" in made(some, "results", systems=("standard_rag",))[1]
    assert "in whole lives" not in made(some, "views")[1]


def test_absences_are_counted_by_split_with_or_without_evidence(all_tracks):
    lab = Lab(all_tracks)
    rows = lab.retrieve("oracle", tracks.ABSENT.threads(lab, 2500))
    given = [row.model_copy(update={"relevance": 0.9 if row.present else 0.2}) for row in rows]
    found = splits.absences(given)
    assert (found["silent"], found["silent s1"]) == (1, 1)
    assert (found["auroc"], found["auroc s1"]) == (1, 1)
    held = [row for row in given if row.split == "s2"]
    quiet = [row for row in held if not row.present]
    assert found["silent_interval"] == wilson(len(quiet), len(quiet))
    assert found["error"] == relevance(held).calibration_error
    alone = splits.absences(quiet)
    assert (alone["silent"], alone["auroc"], "silent s1" in alone) == (1, None, False)
    assert splits.shares(quiet)["in_context"] is None
    assert set(splits.absences(rows)) == {"silent", "silent s1", "silent_interval"}


def test_late_compares_on_tracks_at_the_same_budget(all_tracks, few):
    page, _, figure = made(all_tracks, "late", systems=("tsim", "packed_turns", "oracle"))
    where = [*dict.fromkeys(row["where"] for row in rows_of(page))]
    assert where == ["2.5k", "2.5k, other words", "2.5k, asides", "2.5k, braided"]
    assert {row["where"] for row in rows_of(page, 1)} == {*where}
    told = [row for row in rows_of(page) if row["system"] == "oracle"]
    assert all((row["in_context"], row["s1"]) == (1, 1) for row in told)
    quiet = rows_of(page, 2)
    assert [*dict.fromkeys(row["where"] for row in quiet)] == [
        "2.5k, absent", "2.5k, other words, absent"
    ]  # fmt: skip
    assert all(row["silent"] == 1 for row in quiet if row["system"] == "oracle")
    assert all("difference" in row for row in quiet if row["system"] != "tsim:budget=500")
    assert "other words · packed_turns" in figure


@pytest.mark.parametrize(("wanted", "others"), [(6, 0), (20, 8)])
def test_a_subset_takes_records_with_a_sequel_first(sources, wanted, others):
    threads = Lab(replace(sources, sequels=SEQUELS, subset=wanted)).threads(2500, sequels=True)
    labels = [q.stress[-1].startswith("sequel_") for p in threads.packages for q in p.questions]
    assert (len(labels), labels.count(False)) == (wanted, others)
    assert threads.name == f"2.5k-sequels-{wanted}"


def test_main_ablation_and_stress_share_their_rows(sources):
    systems = ("standard_rag", "tsim_official")
    page, text, figure = made(sources, "main", systems=systems)
    for row in rows_of(page):
        assert row["hit_interval"] == wilson(round(row["hit"] * 12), 12)
        assert f"{100 * row['hit']:.1f}" in figure
    assert "a reader that matches words" in text
    ablation, _, _ = made(sources, "ablation", systems=(*systems, "drift_window"))
    assert [row["stage"] for row in rows_of(ablation)] == ["L0", "L3", "L2"]
    assert rows_of(ablation)[0]["hit"] == rows_of(page)[0]["hit"]
    before = {path: path.stat().st_mtime_ns for path in sources.out.glob("rows/**/*.jsonl")}
    assert len(before) == 3
    stress, text, _ = made(sources, "stress", systems=systems)
    assert {path: path.stat().st_mtime_ns for path in sources.out.glob("rows/**/*.jsonl")} == before
    _, primary, domains = stress.tables
    assert sum(row["questions"] for row in primary.rows) == 12
    assert sum(row["questions"] for row in domains.rows) == 12
    hits = sum(row["questions"] * row["tsim_official"] for row in domains.rows)
    assert hits == pytest.approx(12 * rows_of(page)[1]["hit"])
    assert "## CL hit by domain" in text


@pytest.fixture
def answering(sources):
    """Sources whose backend is a model; it answers A, or nothing where a question is long."""

    def answer(body):
        letter = "none" if len(body["messages"][-1]["content"]) % 3 == 0 else "A"
        return completion(f"ANSWER: {letter}\nRATIONALE: so it is")

    with serving(JsonServer(answer)) as server:
        backend = open_backend(f"openai:m@{server.url}", Access(cached=False))
        yield replace(sources, backend=backend)
        backend.close()


def test_a_model_s_answers_are_scored(answering):
    systems = ("standard_rag", "tsim_official")
    page, text, figure = made(answering, "main", systems=systems)
    for row in rows_of(page):
        assert row["strict"] + row["unanswered"] / 4 == pytest.approx(row["accuracy"])
        assert f"{100 * row['accuracy']:.1f}" in figure
        assert f"| {row['system']} | {row['accuracy']:.3f} |" in text
    stress, text, _ = made(answering, "stress", systems=systems)
    assert stress.tables[-1].title == "Accuracy by domain"
    right = sum(row["questions"] * row.get("tsim_official", 0) for row in stress.tables[-1].rows)
    assert right == pytest.approx(12 * rows_of(page)[1]["accuracy"])


@pytest.mark.parametrize("name", ["main", "ablation", "stress"])
def test_nothing_is_said_about_the_answers_of_a_reader_that_is_no_model(sources, name):
    page, text, figure = made(sources, name, systems=("standard_rag", "tsim_official"))
    html = (sources.out / f"{name}.html").read_text("utf-8")
    told = json.dumps(to_json(page))
    for written in (text, figure, html, told):
        assert not re.search("accura|strict|unanswered|rationale", written, re.IGNORECASE)
    for written in (text, html, told):
        assert "No language model answered" in written


def test_a_page_is_written_for_browsers_too(sources):
    page, _, figure = made(sources, "views")
    html = (sources.out / "views.html").read_text("utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert f"<title>{page.title}</title>" in html
    assert "<code>command views</code>" in html
    assert "<strong>A stratified subset of 12 questions" in html
    assert "<script" not in html
    drawn = figure[figure.index("<title>") :].strip()
    assert drawn in html
    for row in rows_of(page):
        assert f"<td>{row['hit_rate']:.3f}</td>" in html


def test_a_killed_closed_loop_goes_on(sources):
    whole, text, _ = made(sources, "main", systems=("standard_rag",))
    (rows,) = sources.out.glob("rows/**/*.jsonl")
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    assert made(sources, "main", systems=("standard_rag",))[:2] == (whole, text)


def test_the_prompt_is_chosen_on_some_questions_and_frozen_on_others(sources):
    """A server that answers rightly only where the question comes first."""
    gold = {record.question: record.answer for record in RECORDS}

    def answer(body):
        prompt = body["messages"][-1]["content"]
        first = prompt.startswith("You will be asked")
        letter = next((gold[q] for q in gold if q in prompt), "A")
        return completion(f"ANSWER: {letter if first else 'none'}\nRATIONALE: so it is")

    with serving(JsonServer(answer)) as server:
        backend = open_backend(f"openai:m@{server.url}", Access(cached=False))
        systems = ("full_context:budget=600", "standard_rag")
        asking = replace(sources, backend=backend)
        page, text, figure = made(asking, "prompts", systems=systems)
        backend.close()
        assert len(server.seen) == 3 * 2 + 3 * 10
    frozen, choosing = page.tables
    assert [row["questions"] for row in choosing.rows] == [2, 2, 2]
    assert [row["prompt"] for row in frozen.rows] == [
        "full-vanilla.v1", "full-question-first.v1, chosen", "answer.v1"
    ]  # fmt: skip
    assert [row["questions"] for row in frozen.rows] == [10, 10, 10]
    assert [row["unanswered"] for row in frozen.rows] == [1, 0, 1]
    assert frozen.rows[0]["prompt_tokens"] == 11
    assert "question-first.v1" in figure
    assert "m, in place of the paper's GPT-4o-mini" in text
    ids = [
        {
            row.id
            for path in sources.out.glob(f"rows/*-{part}/**/*.jsonl")
            for row in read_rows(path)
        }
        for part in ("choosing", "asked")
    ]
    assert [len(some) for some in ids] == [2, 10]
    assert not ids[0] & ids[1]


def test_no_prompt_reaches_the_extractive_reader(sources):
    with pytest.raises(DataError, match="prompts needs a model that reads them"):
        made(sources, "prompts")


def test_values_that_are_missing_are_dashes_and_bars_do_not_break_a_table():
    columns = (Column(key="a", head="a"), Column(key="b", head="b", form=str))
    table = Table(columns=columns, rows=({"a": 0.5, "b": "x|y"}, {}))
    section = Section(blocks=(table, Notes(items=("N.",))))
    page = Page(title="T", introduction=(Paragraph(text="What."),), sections=(section,))
    text = to_markdown(page, "t")
    assert "| 0.500 | x¦y |\n| – | – |" in text
    assert to_json(page)["tables"][0]["rows"][0] == {"a": 0.5, "b": "x|y"}
    assert span((-0.1, 0.2)) == "-0.100 to 0.200"


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_the_command_makes_a_table_and_tells_programs(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    options = [
        "--subset",
        "6",
        "--target",
        "2k",
        "--model",
        str(tiny),
        "--out",
        str(tmp_path / "o"),
    ]
    ran = run("views", *options, "--json")
    told = json.loads(ran.stdout)
    assert told["name"] == "views"
    assert {row["view"] for row in told["tables"][0]["rows"]} == {"raw", "summary", "cluster"}
    text = (tmp_path / "o" / "views.md").read_text("utf-8")
    assert f"`scaleqa reproduce views --subset 6 --target 2k --model {tiny}`" in text
    assert (tmp_path / "o" / "views.svg").exists()
    assert "Hit rates of the views" in run("views", *options).stdout


@pytest.mark.parametrize("lives", [[], TALK])
def test_the_command_asks_about_lives_where_the_records_have_some(
    tiny, tmp_path, monkeypatch, lives
):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    own, out = tmp_path / "own", tmp_path / "o"
    own.mkdir()
    write(own / "mine.jsonl", [make(n, split=split) for split in ("s1", "s2") for n in (1, 2)])
    if lives:
        write(own / "talk.jsonl", lives)
    ran = run("results", "--records", str(own), "--target", "2k", "--model", str(tiny),
              "--system", "oracle", "--out", str(out), "--json")  # fmt: skip
    (row,) = json.loads(ran.stdout)["tables"][0]["rows"]
    found = {key.removesuffix(" in_context") for key in row if key.endswith(" in_context")}
    talk = ("friends", "assistant talk", "long answers") if lives else ()
    assert found == {"as written", "braided", *talk}
    assert (out / "packages" / "2k-talk-assistant").exists() == bool(lives)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["views", "--backend", "extractive"], "views asks no answer model"),
        (["prompts", "--target", "2k,3k"], "prompts is about one length"),
        (["prompts"], "prompts needs a model"),
        (["views", "--target", "long"], "'long' is no length"),
    ],
)
def test_wrong_wishes_are_refused_with_a_reason(arguments, message):
    error = run(*arguments).exception
    assert isinstance(error, DataError)
    assert message in str(error)


@pytest.mark.slow
def test_products_are_compared_where_they_are_installed(sources, monkeypatch, tmp_path):
    cache = tmp_path / "cache"
    install(find_product("example"), cache)
    given = replace(sources, wordings=WORDINGS, asides=ASIDES, sequels=SEQUELS, talk=TALK)
    systems = ("tsim:budget=200", "packed_turns:budget=200", "example:budget=200", "chroma")
    page, text, _ = made(given, "products", systems=systems)
    first = rows_of(page)
    assert [row["system"] for row in first] == [*systems[:3]]
    assert "Left out because it is not installed here: chroma." in text
    assert {"as written in_context", "other words in_context", "braided in_context"} <= {*first[0]}
    (costs,) = [table for table in page.tables if table.columns[1].key == "ingest"]
    assert [row["system"] for row in costs.rows] == ["tsim:budget=200", "example:budget=200"]
    assert all(row["ingest"] > 0 and row["search"] > 0 for row in costs.rows)
    assert costs.rows[0]["disk"] > 0
    assert all(one.title in text for one in not_run())
    kept_costs = sorted(sources.out.glob("costs/**/*.json"))
    before = [path.read_bytes() for path in kept_costs]
    made(given, "products", systems=systems)
    assert [path.read_bytes() for path in kept_costs] == before


def test_a_subset_in_both_wordings_is_chosen_from_records_that_have_two(sources):
    lab = Lab(replace(sources, wordings=WORDINGS, subset=3))
    own = lab.threads(2500, worded=True)
    other = lab.threads(2500, wording="other", worded=True)
    assert own.questions == other.questions == 3
    assert own.packages[0].stream == other.packages[0].stream
    assert own.name == "2.5k-worded-3"


def test_tracks_are_chosen_by_name(sources):
    given = replace(sources, asides=ASIDES)
    systems = ("packed_turns:budget=200",)
    page, text, figure = made(given, "products", systems=systems, tracks=("asides",))
    assert {key for key in rows_of(page)[0] if key.endswith("in_context")} == {"asides in_context"}
    others = "as written, other words, braided, resumed, friends, assistant talk, long answers"
    assert f"Left out by --track: {others}." in text
    assert "asides · packed_turns" in figure
    with pytest.raises(DataError, match="the records have no questions for other words"):
        made(given, "products", systems=systems, tracks=("other words",))
    for table, track, said in (
        ("products", "nowhere", "there are as written, other words"),
        ("late", "asides", "none to choose from; leave --track out"),
    ):
        failed = CliRunner().invoke(app, ["reproduce", table, "--track", track])
        assert said in str(failed.exception)


def test_both_wordings_stand_in_one_table_and_the_paper_beside_its_own(sources):
    given = replace(sources, wordings=WORDINGS, subset=None, noise=many())
    systems, both = ("standard_rag", "oracle"), ("as written", "other words")
    page, text, figure = made(given, "episodes", systems=systems, targets=(128_000,), tracks=both)
    found = [(row["track"], row["system"], row["questions"]) for row in rows_of(page)]
    sizes = (len(RECORDS), len(WORDINGS))
    assert found == [(t, s, n) for t, n in zip(both, sizes, strict=True) for s in systems]
    assert [row["paper_recall_large"] for row in rows_of(page)] == [0.456, None, None, None]
    assert "other words · standard_rag" in figure
    assert "| standard_rag | other words |" in text
    with pytest.raises(DataError, match="the records have no questions for other words"):
        made(replace(given, wordings=()), "main", systems=systems, tracks=both)
