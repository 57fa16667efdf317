"""Exports: receipts, records, agreement; the commands."""

import json

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.records import load_records
from scaleqa.review.exporting import export_review
from scaleqa.review.summary import lines
from tests.support.records import make, write
from tests.support.reviewing import fields_of, reviewing
from tsim.ports import listen

RECORDS = [make(n) for n in range(1, 7)]
RUN = CliRunner()
PLAIN = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.fixture
def review(tmp_path):
    """Agreed: 1 accepted, 2 edited, 3 rejected; 4 settled; 5 disputed; 6 open."""
    place = tmp_path / "review"
    with reviewing(place, RECORDS, ("ana", "ben"), each=2, adjudicator="eva", blind=True) as served:
        ana, ben, eva = (served.client(name) for name in ("ana", "ben", "eva"))
        for number, record in enumerate(RECORDS, 1):
            ana.decide(number, f"choose:{record.answer}")
            ben.decide(number, "choose:A")
        edited = fields_of(RECORDS[1]) | {"question": "Which saddle then?"}
        for one in (ana, ben):
            one.decide(1, "accept")
            one.send(2, one.form(2, edit=True), verdict="edit", **edited)
            one.decide(3, "reject:duplicate")
        for number in (4, 5):
            ana.decide(number, "accept", note="fine")
            ben.decide(number, "reject:unnatural")
        eva.decide(4, "accept")
        ana.decide(6, "accept")
    return place


def test_receipts_say_what_became_of_each_record(review, tmp_path):
    out = tmp_path / "out"
    summary = export_review(review, out)
    receipts = [json.loads(line) for line in (out / "receipts.jsonl").read_text().splitlines()]
    assert [(one["state"], one["outcome"]) for one in receipts] == [
        ("agreed", "accept"),
        ("agreed", "edit"),
        ("agreed", "reject"),
        ("settled", "accept"),
        ("disputed", None),
        ("open", None),
    ]
    assert [one["person"] for one in receipts[3]["opinions"]] == ["ana", "ben", "eva"]
    assert receipts[1]["opinions"][0]["changes"][0]["after"] == "Which saddle then?"
    assert receipts[0]["before"] == receipts[0]["after"] != receipts[1]["after"]
    assert receipts[2]["after"] is None and receipts[3]["opinions"][0]["note"] == "fine"
    kept = load_records(out / "records.jsonl")
    assert [one.id for one in kept] == [RECORDS[n].id for n in (0, 1, 3)]
    assert kept[0] == RECORDS[0] and kept[1].question == "Which saddle then?"
    assert json.loads((out / "summary.json").read_text()) == json.loads(summary.model_dump_json())


def test_a_summary_counts_and_says_how_far_reviewers_agree(review, tmp_path):
    summary = export_review(review, tmp_path / "out")
    assert summary.outcomes == {"accept": 2, "edit": 1, "reject": 1}
    assert summary.states == {"open": 1, "agreed": 3, "disputed": 1, "settled": 1}
    assert summary.reasons == {"duplicate": 1}
    assert (summary.accepted.count, summary.accepted.of) == (3, 4)
    ana, ben, eva = summary.reviewers
    assert ana.right.share == 1 and eva.decided == {"accept": 1} and eva.right.share is None
    assert ben.right.count == sum(record.answer == "A" for record in RECORDS)
    (pair,) = summary.agreement
    assert (pair.verdicts.count, pair.verdicts.of) == (3, 5)
    # Observed 3/5; chance (3·1 + 1·1 + 1·3)/25.
    assert pair.kappa.value == pytest.approx((3 / 5 - 7 / 25) / (1 - 7 / 25))
    assert pair.kappa.interval.low <= pair.kappa.value <= pair.kappa.interval.high
    assert pair.choices.of == 6
    said = "\n".join(lines(summary))
    assert "2 accepted, 1 edited, 1 rejected, 1 open, 1 disputed" in said
    assert "ana and ben: same verdict 3 of 5 (60.0%" in said and "kappa 0.44 (" in said


def test_the_same_review_gives_the_same_bytes(review, tmp_path):
    for name in ("one", "two"):
        export_review(review, tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_a_review_that_is_going_on_can_be_exported(tmp_path):
    with reviewing(tmp_path / "review", RECORDS) as served:
        summary = export_review(tmp_path / "review", tmp_path / "out")
        assert summary.states["open"] == 6 and summary.accepted.share is None
        served.client("ana").decide(1, "accept")
        with (tmp_path / "review" / "decisions.jsonl").open("ab") as file:
            file.write(b'{"id":')  # a line under way
        assert export_review(tmp_path / "review", tmp_path / "out").outcomes["accept"] == 1
    assert "none yet" in "\n".join(lines(summary))


def test_kappa_of_equal_verdicts_is_not_made_up(tmp_path):
    with reviewing(tmp_path / "review", RECORDS, ("ana", "ben"), each=2) as served:
        for name in ("ana", "ben"):
            for number in range(1, 6):
                served.client(name).decide(number, "accept")
    summary = export_review(tmp_path / "review", tmp_path / "out")
    assert summary.agreement[0].kappa.value is None
    assert "kappa is not defined" in "\n".join(lines(summary))


def test_kappa_of_a_few_records_is_not_said(tmp_path):
    with reviewing(tmp_path / "review", RECORDS, ("ana", "ben"), each=2) as served:
        ana, ben = served.client("ana"), served.client("ben")
        for number in range(1, 5):
            ana.decide(number, "accept")
            ben.decide(number, "reject:duplicate")
    summary = export_review(tmp_path / "review", tmp_path / "out")
    assert summary.agreement[0].kappa.value is None and summary.agreement[0].kappa.interval is None
    assert "same verdict 0 of 4" in "\n".join(lines(summary))
    assert "kappa – (fewer than 5 records)" in "\n".join(lines(summary))


def test_a_record_with_a_second_opinion_wanted_is_not_released(tmp_path):
    with reviewing(tmp_path / "review", RECORDS, ("ana", "ben"), each=2) as served:
        ana, ben = served.client("ana"), served.client("ben")
        edited = fields_of(RECORDS[0]) | {"question": "Which saddle then?"}
        ana.send(1, ana.form(1, edit=True), verdict="edit", **edited)
        ben.decide(1, "second", note="I am not sure")
    summary = export_review(tmp_path / "review", tmp_path / "out")
    assert summary.states["open"] == 6 and summary.outcomes["edit"] == 0
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == b""
    receipt = json.loads((tmp_path / "out" / "receipts.jsonl").read_text().splitlines()[0])
    assert receipt["outcome"] is None
    assert [one["action"] for one in receipt["opinions"]] == ["edit", "second"]


def test_what_is_no_review_is_said(tmp_path):
    with pytest.raises(DataError, match="has no review"):
        export_review(tmp_path, tmp_path / "out")
    with reviewing(tmp_path / "review", RECORDS):
        pass
    with pytest.raises(DataError, match="holds the review itself"):
        export_review(tmp_path / "review", tmp_path / "review")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="no directory"):
        export_review(tmp_path / "review", tmp_path / "file")
    (tmp_path / "review" / "review.json").write_text('{"version": 2}')
    with pytest.raises(DataError, match="put back"):
        export_review(tmp_path / "review", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_exports_as_text_and_as_json(review):
    found = RUN.invoke(app, ["review", "export", str(review)])
    assert found.exit_code == 0 and "2 accepted" in found.stdout
    assert (review / "export" / "receipts.jsonl").exists()
    found = RUN.invoke(app, ["review", "export", str(review), "--json"])
    assert json.loads(found.stdout)["outcomes"]["edit"] == 1


def serve(path, *words):
    base = ["review", str(path), "--no-embeddings", "--port", "0", "--reviewer", "ana"]
    return RUN.invoke(app, [*base, *map(str, words)])


def test_bad_records_and_readings_are_said_before_anything_is_written(tmp_path):
    out = tmp_path / "out"
    broken = tmp_path / "broken.jsonl"
    broken.write_text(RECORDS[0].model_dump_json() + '\n{"id": 3}\n')
    good = write(tmp_path / "good.jsonl", RECORDS)
    for path, words, said in (
        (broken, ["--out", out], "broken.jsonl, line 2"),
        (tmp_path / "none.jsonl", ["--out", out], "neither a JSONL file"),
        (good, ["--out", good], "is no directory"),
        (good, ["--out", out, "--readings", tmp_path / "none"], "does not exist"),
        (good, ["--out", out, "--readings", broken], "broken.jsonl, line 1"),
        (good, ["--out", out, "--each", 2], "--each is 2"),
        (good, ["--out", out, "--reviewer", "ana"], "named twice"),
    ):
        found = serve(path, *words)
        assert found.exit_code == 1 and said in str(found.exception)
    assert not out.exists()


def test_a_port_that_is_in_use_is_said_before_anything_is_embedded_or_written(
    tmp_path, monkeypatch
):
    def embedded(**_):
        raise AssertionError("something was embedded")

    monkeypatch.setattr("scaleqa.cli.review.open_embedder", embedded)
    good, out = write(tmp_path / "good.jsonl", RECORDS), tmp_path / "out"
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        words = ["review", str(good), "--out", str(out), "--reviewer", "ana", "--port", port]
        found = RUN.invoke(app, words)
    assert found.exit_code == 1 and f"port {port} is in use" in str(found.exception)
    assert not out.exists()


@pytest.mark.parametrize("words", [["--help"], []], ids=["help", "bare"])
def test_the_help_of_the_plain_command_has_the_options_of_serving(words):
    said = RUN.invoke(app, ["review", *words], env=PLAIN).output
    for option in ("--out", "--reviewer", "--adjudicator", "--each", "--readings", "--port"):
        assert option in said
    assert "review serve" in said and "export" in said
