"""The records and noise that ship: every claim about them is computed."""

import json
from collections import Counter

import pytest

from scaleqa.cli.data import calibration, current_card, track_readings
from scaleqa.noise import shipped_pool
from scaleqa.noise.clashes import clashes
from scaleqa.records import (
    DOMAINS,
    LETTERS,
    SPLITS,
    shipped,
    shipped_asides,
    shipped_sequels,
    shipped_wordings,
)
from scaleqa.records.card import fingerprint, stats
from scaleqa.records.draw import read_ledger
from scaleqa.records.load import data_dir, read_supplements
from scaleqa.records.readings import (
    is_aside_id,
    outcomes,
    sealed_cases,
    sealed_wordings,
    shipped_track_readings,
)
from scaleqa.records.sequels import shipped_readings
from scaleqa.records.validate import validate
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def records():
    return shipped()


@pytest.fixture(scope="module")
def report():
    return json.loads(data_dir().joinpath("validation.json").read_text("utf-8"))


def test_there_are_three_thousand_balanced_records(records):
    assert len(records) == 3000
    cells = Counter(record.cell for record in records)
    assert cells == {f"{split}:{domain}": 150 for split in SPLITS for domain in DOMAINS}
    assert Counter(record.answer for record in records) == dict.fromkeys(LETTERS, 750)


def test_no_critical_finding_and_every_receipt_matches(records):
    receipts = read_ledger(ROOT / "src" / "scaleqa" / "records" / "data" / "draws.jsonl")
    found = validate(
        records, receipts=receipts, release=True, supplements=read_supplements(None)[0]
    )
    assert found.critical == []
    assert [p.name for p in found.probes if p.accuracy > p.limit] == []


def test_lengths_and_evidence_are_as_the_standard_asks(records):
    facts = stats(records)
    assert 115 <= facts["dialogue_tokens_a_record"] <= 150
    assert facts["turns_median"] == 7
    assert 1.35 <= facts["evidence_turns_a_record"] <= 1.60


def test_the_validation_report_is_of_these_records(records, report):
    assert report["sha256"] == fingerprint(records)
    assert report["critical"] == []
    fresh = validate(records)
    lexical = {probe.name: probe.accuracy for probe in fresh.probes}
    for probe in report["probes"]:
        if probe["name"] in lexical:
            assert probe["accuracy"] == pytest.approx(lexical[probe["name"]])
        assert probe["accuracy"] <= probe["limit"]


def test_the_card_is_current(records, report):
    text = (ROOT / "docs" / "dataset.md").read_text("utf-8")
    assert text == current_card(records, report)


def test_readers_found_what_the_standard_asks(records):
    opened, closed = calibration(records)
    assert opened.records >= 300
    assert closed.records >= 300
    assert opened.accuracy >= 0.99
    assert closed.accuracy <= 0.32
    assert len(opened.flagged.get("contrived", [])) <= 0.10 * opened.records


def test_every_sequel_was_read_without_a_flag_and_as_it_was_meant():
    sequels = shipped_sequels()
    readings = {reading.id: reading for reading in shipped_readings()}
    assert (len(sequels), len(readings)) == (151, 160)
    assert [s.id for s in sequels if readings[s.id].answer != s.answer] == []
    kept = {sequel.id for sequel in sequels}
    assert {key for key, reading in readings.items() if reading.flags} == {*readings} - kept


def test_sequels_are_even_in_split_domain_and_naming(records):
    cells = {record.id: record.cell for record in records}
    sequels = shipped_sequels()
    counts = Counter((cells[sequel.id], sequel.named) for sequel in sequels)
    assert len(counts) == 2 * len(SPLITS) * len(DOMAINS)
    assert set(counts.values()) <= {2, 3, 4}


def test_the_noise_pool_is_large_varied_and_apart_from_the_records(records):
    pool = shipped_pool()
    assert pool.report.malformed == ()
    assert pool.report.tokens >= 160_000
    assert len(pool.report.genres) >= 12
    assert sum(dialogue.stale for dialogue in pool.dialogues) >= 40
    longest = [max(len(turn.split()) for turn in d.turns) for d in pool.dialogues]
    assert sum(words >= 150 for words in longest) >= 40
    assert clashes(pool.dialogues, records) == {}


def released():
    """What ships of second wordings and asides; there is nothing to check before a release."""
    wordings, asides = shipped_wordings(), shipped_asides()
    if not wordings:
        pytest.skip("no second wordings and asides are released yet")
    return wordings, asides


def test_second_wordings_are_many_and_even(records):
    wordings, _ = released()
    cells = {record.id: record.cell for record in records}
    counts = Counter(cells[wording.id] for wording in wordings)
    assert len(counts) == len(SPLITS) * len(DOMAINS)
    assert len(wordings) >= 600
    assert max(counts.values()) <= 30
    assert min(counts.values()) >= 28


def test_asides_are_many_and_half_of_them_need_an_inference():
    _, asides = released()
    assert len(asides) >= 300
    assert len({aside.kind for aside in asides}) == 10
    assert 0.35 <= sum(aside.inference for aside in asides) / len(asides) <= 0.65


def test_what_is_released_follows_from_the_raw_readings(records):
    wordings, asides = released()
    readings = shipped_track_readings()
    funnels = json.loads(data_dir().joinpath("track-funnels.json").read_text("utf-8"))
    for kind, items, key in (
        ("wordings", wordings, sealed_wordings(wordings, records)),
        ("asides", asides, sealed_cases(asides)),
    ):
        found = outcomes(readings, key)
        assert {*found} == {item.id for item in items}
        assert all(one.picked and one.right and not one.flagged for one in found.values())
        of_kind = [r for r in readings if is_aside_id(r.id) == (kind == "asides")]
        seen = {reading.id for reading in of_kind if reading.mode != "closed"}
        astray = {r.id for r in of_kind if r.mode == "shelf" and r.pick != r.id}
        assert funnels[kind]["read"] == len(seen)
        assert funnels[kind]["dialogue picked correctly"] == len(seen - astray)
        assert funnels[kind]["released"] == len(items)
        assert [*funnels[kind]][-1] == "released"


def test_asides_cannot_be_answered_without_their_dialogues(records):
    released()
    closed = [one for one in track_readings(records)["asides"] if one.mode == "closed"]
    assert sum(one.readings for one in closed) >= 300
    assert sum(one.right for one in closed) <= 0.35 * sum(one.readings for one in closed)
