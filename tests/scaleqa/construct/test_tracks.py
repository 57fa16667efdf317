"""The other tracks: second wordings, asides and sequels go through the same steps."""

import json

import pytest

from scaleqa.construct import funnel, release, write_release
from scaleqa.errors import DataError
from scaleqa.records import load_asides
from scaleqa.records.load import load_lines
from scaleqa.records.schema import Sequel, Wording
from tests.scaleqa.construct.support import plan_of, work
from tests.support.authors import Author, kind_of, reply
from tests.support.records import RECORDS, write
from tests.support.servers import serving

DOMAINS = [{"name": "Finance", "count": 3, "spare": 0}]


@pytest.fixture
def given(tmp_path):
    write(tmp_path / "given-records.jsonl", RECORDS[:25])
    return "given-records.jsonl"


def test_second_wordings_of_given_records(tmp_path, given):
    by_question = {record.question: record for record in RECORDS[:25]}
    meant = {}

    def twist(_number, prompt):
        if kind_of(prompt) == "wording":
            found = reply(prompt)
            record = next(r for q, r in by_question.items() if f"Request: {q}" in prompt)
            meant[found["question"]] = record
            return json.dumps(found)
        record = next((r for q, r in meant.items() if f"Request: {q}" in prompt), None)
        if kind_of(prompt) == "pick":
            shelf = prompt.split("Dialogue ")[1:]
            place = next(n for n, text in enumerate(shelf, 1) if record.dialogue[0].content in text)
            assert len(shelf) == 20
            assert record.options.A not in prompt
            return json.dumps({"pick": place})
        return json.dumps({"answer": record.answer, "evidence": record.evidence})

    with serving(Author(twist)) as server:
        plan = plan_of(server.url, track="wordings", domains=DOMAINS, records=given)
        site = work(plan, tmp_path / "out", base=tmp_path)
    found = release(site.book)
    assert len(found.items) == 3
    write_release(found, site.book, tmp_path / "released" / "wordings.jsonl")
    assert load_lines([tmp_path / "released" / "wordings.jsonl"], Wording) == [*found.items]
    assert len(found.readings) == 6


def test_wordings_that_lead_elsewhere_or_repeat_words_go_back(tmp_path, given):
    def twist(_number, prompt):
        if kind_of(prompt) == "wording" and "could not be used" not in prompt:
            request = prompt.split("Request: ")[1].splitlines()[0]
            return json.dumps({"question": request})
        return json.dumps({"answer": "A", "pick": 999}) if kind_of(prompt) != "wording" else None

    with serving(Author(twist)) as server:
        plan = plan_of(server.url, track="wordings", domains=DOMAINS, records=given, rounds=1)
        site = work(plan, tmp_path / "out", base=tmp_path)
    stages = {stage.step: stage for stage in funnel(site.book, site.ledger.receipts).stages}
    assert stages["wording"].why == {"checks": 3}
    assert stages["read"].why == {"picked-wrong": 6}
    with pytest.raises(DataError, match="nothing has passed"):
        release(site.book)


def test_asides_have_their_letter_by_lot(tmp_path):
    with serving(Author()) as server:
        domains = [{"name": "Aside", "count": 4}]
        site = work(plan_of(server.url, track="asides", domains=domains), tmp_path / "out")
    found = release(site.book)
    assert found.report.critical == []
    write_release(found, site.book, tmp_path / "released" / "asides.jsonl")
    assert load_asides(tmp_path / "released") == [*found.items]
    assert {aside.split for aside in found.items} == {"own"}


def test_sequels_change_the_answer_of_given_records(tmp_path, given):
    with serving(Author()) as server:
        plan = plan_of(server.url, track="sequels", domains=DOMAINS, records=given)
        site = work(plan, tmp_path / "out", base=tmp_path)
    found = release(site.book)
    answers = {record.id: record.answer for record in RECORDS}
    assert len(found.items) == 3
    assert all(one.answer != answers[one.id] for one in found.items)
    write_release(found, site.book, tmp_path / "released" / "sequels.jsonl")
    assert load_lines([tmp_path / "released" / "sequels.jsonl"], Sequel) == [*found.items]


def test_more_than_the_given_records_allow_is_refused_before_anything_is_written(tmp_path, given):
    plan = plan_of(track="sequels", domains=[{"name": "Finance", "count": 26}], records=given)
    with pytest.raises(DataError, match="25 records"):
        work(plan, tmp_path / "out", base=tmp_path)
    assert not [*(tmp_path / "out").iterdir()]
