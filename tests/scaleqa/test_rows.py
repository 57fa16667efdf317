"""Rows: one family for retrieval and the closed loop, versions, files."""

import json
import time
from dataclasses import replace

import pytest

from scaleqa.backends import open_backend
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_package, run_packages
from scaleqa.evaluate.rowfile import all_rows, iterate, read_rows, row_path, write_rows
from scaleqa.figures.groups import group
from scaleqa.figures.paired import compare
from scaleqa.figures.retrieval import retrieval
from scaleqa.packages import Block, Package, Question, StreamTurn, build
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import former_row, loop, row, without_times


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:12], NOISE, settings_of(2500))


def test_rows_keep_every_character_of_a_reply(tmp_path):
    rows = [row(0, raw="a\u2028b\x85c\x0bd\r\ne"), row(1, raw="plain")]
    write_rows(tmp_path / "rows.jsonl", rows)
    assert read_rows(tmp_path / "rows.jsonl") == rows


def test_what_is_absent_is_not_written(tmp_path, packages, tiny_embedder):
    run_package(
        packages[0], RunSettings(system="standard_rag", detail=False), tiny_embedder, tmp_path
    )
    path = row_path(tmp_path, "standard_rag", packages[0].name)
    second = json.loads(path.read_text().splitlines()[1])
    assert not {"detail", "answered", "account"} & {*second}
    assert "reader" not in second["run"]
    assert None not in second.values()


def test_rows_of_version_1_are_read_under_the_present_names(tmp_path):
    path = tmp_path / "old.jsonl"
    old = [former_row(n, name) for n, name in enumerate(("tsim", "tsim_late", "tsim_late:k=3"))]
    for one in old:
        del one["place"]
    path.write_text("".join(json.dumps(one) + "\n" for one in old))
    rows = read_rows(path)
    assert [one.run.system for one in rows] == ["tsim_official", "tsim", "tsim:k=3"]
    assert [one.place for one in rows] == [0, 1, 2]
    first = rows[0]
    assert (first.hit, first.recalled, first.together) == (True, True, True)
    assert (first.turns_shown, first.evidence_shown) == (3, 2)
    assert first.answered.answer == first.gold == "A"
    assert first.detail.reply == "ANSWER"
    assert first.run.reader.stand_in is False
    assert first.run.package_sha256 is None


def test_a_run_of_version_1_is_continued(packages, tiny_embedder, tmp_path):
    """Whatever rows of version 1 do not say does not stand in the way."""
    backend = open_backend("extractive")
    whole = run_package(packages[0], loop(backend, "oracle"), tiny_embedder, tmp_path / "whole")
    path = row_path(tmp_path / "old", "oracle", packages[0].name)
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(_as_first(one)) + "\n" for one in whole[:4]))
    rows = run_package(packages[0], loop(backend, "oracle"), tiny_embedder, tmp_path / "old")
    assert [one.id for one in rows] == [one.id for one in whole]
    assert without_times(rows)[4:] == without_times(whole)[4:]
    assert [one.detail for one in rows] == [one.detail for one in whole]


def _as_first(row):
    """A row as version 1 wrote it."""
    reader = row.run.reader
    return {
        "run": {
            "system": row.run.system, "package": row.run.package, "backend": reader.backend,
            "records_sha256": row.run.records_sha256, "prompt": reader.prompt,
            "writeback": reader.writeback, "model": None,
        },
        "target": row.run.target, "stream_turns": row.run.stream_turns,
        "embedder": row.run.embedder, "id": row.id, "domain": row.domain, "split": row.split,
        "stress": list(row.stress), "question": row.question, "options": dict(row.options),
        "reasoning": row.reasoning, "gold": row.gold, "evidence": list(row.evidence),
        "evidence_texts": list(row.evidence_texts), "hit": row.hit,
        "units": [unit.model_dump(mode="json") for unit in row.detail.units],
        "shown": list(row.detail.shown), "shown_from_exchanges": row.exchanges_shown,
        "context": row.detail.context, "context_tokens": row.context_tokens, "retrieve_ms": 1.0,
        "llm_calls": 0, "answer": row.answered.answer, "correct": row.answered.correct,
        "rationale": row.detail.rationale, "rationale_similarity": 0.5, "raw": row.detail.reply,
        "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": None, "cached": False,
        "answer_ms": 1.0,
    }  # fmt: skip


def test_retrieval_and_the_loop_write_the_same_kind_of_rows(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    alone = run_packages(packages, RunSettings(system="oracle"), tiny_embedder, tmp_path / "a")
    looped = run_packages(
        packages, loop(backend, "oracle", writeback=False), tiny_embedder, tmp_path / "b"
    )
    for one, other in zip(without_times(alone), without_times(looped), strict=True):
        assert other["answered"]
        other["answered"] = other["run"]["reader"] = None
        other["detail"] |= {"reply": None, "rationale": None}
        assert one == other


def test_rows_of_retrieval_are_compared_like_those_of_a_run(packages, tiny_embedder, tmp_path):
    for system in ("oracle", "zero_shot"):
        run_packages(packages, RunSettings(system=system), tiny_embedder, tmp_path)
    questions, found = compare(all_rows(tmp_path, detail=False), "oracle", "zero_shot")
    assert questions == 12
    assert {one.measure: one.difference.difference for one in found} == {"hit": 1, "recalled": 1}


def test_a_stopped_retrieval_continues_and_asks_nothing_twice(packages, tiny_embedder, tmp_path):
    settings = RunSettings(system="standard_rag")
    whole = run_package(packages[0], settings, tiny_embedder, tmp_path / "a")
    path = row_path(tmp_path / "b", "standard_rag", packages[0].name)
    write_rows(path, whole[:5])
    with path.open("ab") as file:
        file.write(b'{"torn": "')
    assert without_times(
        run_package(packages[0], settings, tiny_embedder, tmp_path / "b")
    ) == without_times(whole)
    assert read_rows(path)[:5] == whole[:5]


def test_rows_say_whether_every_session_with_evidence_is_there_in_part(tiny_embedder):
    texts = ["gpu rule", "bread", "train gpu", "letter", "new", "budget only"]
    package = Package(
        name="sessions",
        stream=tuple(StreamTurn(id=n, role="user", text=text) for n, text in enumerate(texts)),
        questions=tuple(
            Question(
                id=f"q{n}",
                question="gpu",
                evidence=evidence,
                grader="judge",
                stress=() if evidence else ("absent",),
            )
            for n, evidence in enumerate([(1, 3), (1,), (3, 5), ()])
        ),
        truth=(Block(source="a", turns=(0, 1)), Block(source="b", turns=(2, 3))),
        noise=(Block(source="c", turns=(4, 5)),),
        settings={},
    )
    # Shows turns 0 and 2: the beginnings of sessions a and b, and no evidence.
    rows = run_package(package, RunSettings(system="bm25_chunks:size=1,k=2"), tiny_embedder)
    assert [row.evidence_shown for row in rows] == [0, 0, 0, 0]
    assert [row.sessions_shown for row in rows] == [True, True, False, None]
    figures = retrieval(rows)
    assert (figures.sessions.found, figures.sessions.questions) == (2, 3)
    assert figures.in_context.found == 0
    older = [row.model_copy(update={"sessions_shown": None}) for row in rows]
    assert retrieval(older).sessions is None


def test_what_was_kept_is_on_the_first_row_of_each_package(packages, tiny_embedder):
    rows = run_packages(packages, RunSettings(system="standard_rag"), tiny_embedder)
    first = {package.name: package.questions[0].id for package in packages}
    assert [one.id for one in rows if one.account] == [*first.values()]
    kept = retrieval(rows).kept
    turns = sum(len(package.stream) for package in packages)
    assert kept.vectors == turns
    assert kept.text_amplification == kept.embedded_texts == 1
    assert retrieval(rows[1:]).kept is None
    backend = open_backend("extractive")
    looped = run_packages(packages, loop(backend, "standard_rag"), tiny_embedder)
    assert retrieval(looped).kept.vectors == kept.vectors  # exchanges are not counted


def test_times_leave_out_what_is_embedded(packages, tiny_embedder, monkeypatch):
    """So that they do not depend on who filled the cache."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Slow:
        """Takes a second for each text; everything else takes no time on this clock."""

        identity, dimension = tiny_embedder.identity, tiny_embedder.dimension

        def embed(self, texts):
            clock[0] += len(texts)
            return tiny_embedder.embed(texts)

        def embed_query(self, text):
            clock[0] += 1
            return tiny_embedder.embed_query(text)

    question = replace(packages[0].questions[0], evidence=(1,))
    one = replace(packages[0], stream=packages[0].stream[:8], questions=(question,))
    (warm,) = run_package(one, RunSettings(system="standard_rag"), Slow())
    (cold,) = run_package(one, RunSettings(system="standard_rag", cold=True), Slow())
    assert (warm.timing.retrieve_ms, warm.timing.ingest_ms) == (0, 0)
    assert (cold.timing.retrieve_ms, cold.timing.ingest_ms) == (1000, 8000)


def test_other_lines_are_refused_with_their_place(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"system": "tsim"}\n')
    with pytest.raises(DataError, match=r"x\.jsonl, line 1 is no row of scaleqa run"):
        read_rows(path)
    path.write_text("[1]\n")
    with pytest.raises(DataError, match="no row"):
        read_rows(path)
    path.write_text("{\n")
    with pytest.raises(DataError, match="line 1 is damaged"):
        read_rows(path)
    with pytest.raises(DataError, match="holds no rows"):
        all_rows(tmp_path / "none")


def test_rows_can_be_read_without_what_takes_much_room(tmp_path):
    write_rows(tmp_path / "rows.jsonl", [row(0)])
    (light,) = iterate(tmp_path / "rows.jsonl", detail=False)
    assert light == row(0).model_copy(update={"detail": None})


def test_what_was_retrieved_from_different_threads_is_not_compared(tiny_embedder, tmp_path):
    for seed, system in ((1, "oracle"), (2, "zero_shot")):
        made = build(RECORDS[:12], NOISE, settings_of(2500, mix_seed=seed))
        run_packages(made, RunSettings(system=system), tiny_embedder, tmp_path / system)
    rows = all_rows(tmp_path, detail=False)
    with pytest.raises(DataError, match="are about different threads"):
        compare(rows, "oracle", "zero_shot")
    with pytest.raises(DataError, match="are about different threads"):
        group(rows)


def test_a_run_does_not_continue_over_changed_answers(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    run_package(packages[0], loop(backend), tiny_embedder, tmp_path)
    changed = tuple(
        replace(one, answer="A" if one.answer != "A" else "B") for one in packages[0].questions
    )
    with pytest.raises(DataError, match=r"another run \(different: package_sha256\)"):
        run_package(replace(packages[0], questions=changed), loop(backend), tiny_embedder, tmp_path)


def test_a_refused_run_leaves_the_file_as_it_was(packages, tiny_embedder, tmp_path):
    path = row_path(tmp_path, "oracle", packages[0].name)
    path.parent.mkdir(parents=True)
    content = json.dumps(former_row(0, "oracle")) + "\n" + '{"torn'
    path.write_text(content)
    with pytest.raises(DataError, match="another run"):
        run_package(packages[0], RunSettings(system="oracle"), tiny_embedder, tmp_path)
    assert path.read_text() == content


def test_rows_under_the_former_name_of_a_system_are_continued(packages, tiny_embedder, tmp_path):
    backend = open_backend("extractive")
    settings = loop(backend, "tsim_official")
    whole = run_package(packages[0], settings, tiny_embedder, tmp_path / "whole")
    former = row_path(tmp_path / "old", "tsim", packages[0].name)
    former.parent.mkdir(parents=True)
    old = [{**_as_first(one), "run": {**_as_first(one)["run"], "system": "tsim"}} for one in whole]
    former.write_text("".join(json.dumps(one) + "\n" for one in old[:4]))
    rows = run_package(packages[0], settings, tiny_embedder, tmp_path / "old")
    assert without_times(rows)[4:] == without_times(whole)[4:]
    assert not former.exists()
    ours = run_package(packages[0], loop(backend, "tsim"), tiny_embedder, tmp_path / "old")
    assert {one.run.system for one in ours} == {"tsim"}


def test_an_interrupted_run_asks_no_further_question(packages, tiny_embedder, tmp_path):
    many = build(RECORDS, NOISE, settings_of(1500, truth_cap=0.8))
    assert len(many) > 4
    calls = []

    def advance(done, total):
        calls.append(done)
        if len(calls) == 5:
            raise KeyboardInterrupt

    for workers in (1, 2):
        calls.clear()
        out = tmp_path / str(workers)
        with pytest.raises(KeyboardInterrupt):
            run_packages(
                many, RunSettings(system="oracle"), tiny_embedder, out,
                workers=workers, progress=advance,
            )  # fmt: skip
        asked = sum(len(read_rows(path)) for path in out.rglob("*.jsonl"))
        assert asked < sum(len(package.questions) for package in many) / 2


def test_two_rows_of_a_question_are_not_compared():
    rows = [row(0), row(0, target=32_000), row(0, "standard_rag")]
    with pytest.raises(DataError, match="tsim has two rows for batch-01-000"):
        compare(rows, "tsim", "standard_rag")
