"""The pages of a review: decisions, blindness, tabs, undoing, adjudication; nothing is lost."""

import json
import re
import threading

import pytest

from scaleqa.errors import DataError
from scaleqa.records.draw import seal_of
from scaleqa.records.readings import Reading
from scaleqa.review.decisions import REASONS
from tests.support.records import make, write
from tests.support.reviewing import fields_of, reviewing

RECORDS = [make(n) for n in range(1, 7)]
NASTY = "</textarea><script>alert(1)</script><img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def lines(tmp_path):
    file = tmp_path / "decisions.jsonl"
    return lambda: [json.loads(line) for line in file.read_text().splitlines()]


def test_a_record_is_accepted_and_the_next_one_shown(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        answer = ana.decide(1, "accept", note="  fine  ")
        assert "Accepted" in answer.text and RECORDS[1].question in answer.text
    (line,) = lines()
    assert line["action"] == "accept" and line["note"] == "fine" and line["person"] == "ana"


def test_a_form_that_is_sent_twice_counts_once(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        form = ana.form(1)
        answers: list[int] = []
        clicks = [
            threading.Thread(
                target=lambda: answers.append(ana.send(1, form, verdict="accept").status_code)
            )
            for _ in range(6)
        ]
        for click in clicks:
            click.start()
        for click in clicks:
            click.join()
        assert answers == [200] * 6 and len(lines()) == 1
        other = ana.send(1, form, verdict="reject:duplicate")
        assert other.status_code == 400 and "sent before" in other.text
        assert len(lines()) == 1


def test_a_second_tab_does_not_overwrite_what_the_first_decided(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        first, second = ana.form(1), ana.form(1)
        ana.send(1, first, verdict="accept")
        late = ana.send(1, second, verdict="reject:duplicate", note="my long note")
        assert late.status_code == 409 and "another tab" in late.text
        assert "my long note" in late.text and "accept" in late.text
        assert len(lines()) == 1


def test_an_edit_in_a_stale_tab_is_shown_and_not_kept(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        form = ana.form(1, edit=True)
        ana.decide(1, "accept")
        fields = fields_of(RECORDS[0]) | {"question": "Which saddle then?"}
        late = ana.send(1, form, verdict="edit", **fields)
        assert late.status_code == 409 and "<ins>" in late.text
        # What is wrong with it is said first, and does not make the form a new one.
        broken = ana.send(1, form, verdict="edit", **fields | {"evidence": []})
        assert (
            broken.status_code == 422 and f'name="version" value="{form["version"]}"' in broken.text
        )
        assert len(lines()) == 1


def test_an_edit_is_kept_with_what_it_changed(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        fields = fields_of(RECORDS[0]) | {"question": "Which saddle then?"}
        assert "Edited" in ana.send(1, ana.form(1, edit=True), verdict="edit", **fields).text
        assert "Which saddle then?" in ana.get("/records/1/edit").text  # it goes on from there
    (line,) = lines()
    assert line["edited"]["question"] == "Which saddle then?"
    assert line["changes"] == [
        {"field": "question", "before": RECORDS[0].question, "after": "Which saddle then?"}
    ]


def test_an_edit_that_cannot_be_kept_keeps_what_was_written(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        fields = fields_of(RECORDS[0]) | {"question": "Which saddle then?", "evidence": []}
        wrong = ana.send(1, ana.form(1, edit=True), verdict="edit", note="a note", **fields)
        assert wrong.status_code == 422 and "the edit was not kept" in wrong.text
        assert "Which saddle then?" in wrong.text and "a note" in wrong.text
        checked = ana._client.post("/ana/records/1/check", data=fields)
        assert "List should have at least 1 item" in checked.text and 'id="checked"' in checked.text
    assert lines() == []


def test_a_rejection_has_a_reason_and_another_one_a_note(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        assert all(f'value="reject:{reason}"' in ana.get("/records/1").text for reason in REASONS)
        wrong = ana.decide(1, "reject:other")
        assert wrong.status_code == 422 and "say in the note" in wrong.text
        ana.decide(1, "reject:other", note="because")
        for verdict in ("reject:nonsense", "reject", "burn", "", "choose:E", "choose"):
            assert ana.decide(2, verdict).status_code == 400
    assert [(line["reason"], line["note"]) for line in lines()] == [("other", "because")]


def test_undoing_takes_back_the_last_decision_once(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        after = ana.decide(1, "reject:duplicate")
        undo = re.search(r'value="(undo:\w+)"', after.text)[1]
        version = re.search(r'name="version" value="(\d+)"', after.text)[1]
        form = {"id": "a" * 32, "version": version}
        back = ana.send(1, form, verdict=undo)
        assert "Your decision" not in back.text and RECORDS[0].question in back.text
        again = ana.send(1, {"id": "b" * 32, "version": version}, verdict=undo)
        assert again.status_code == 409
        assert "0 of 6 decided" in ana.get("/").text
    assert [line["action"] for line in lines()] == ["reject", "undo"]


def test_the_answer_is_hidden_until_one_is_chosen(tmp_path, lines):
    record = RECORDS[0]
    with reviewing(tmp_path, RECORDS, blind=True) as served:
        ana = served.client("ana")
        page = ana.get("/records/1").text
        for told in (record.reasoning, "tag mark", "Shortcuts", "Nearest", ">key<", "accept"):
            assert told not in page
        assert "Choose the answer" in ana.get("/records/1/edit").text
        refused = ana.decide(1, "accept")
        assert refused.status_code == 409 and "choose an answer first" in refused.text
        after = ana.decide(1, "choose:B")
        assert record.reasoning in after.text and "your choice" in after.text
        changed = ana.send(1, ana.form(1), verdict="choose:C")
        assert changed.status_code == 409 and "B was chosen before" in changed.text
        ana.decide(1, "accept")
    assert [(line["action"], line["choice"]) for line in lines()] == [
        ("choose", "B"),
        ("accept", None),
    ]


def test_reviewers_do_not_see_each_other(tmp_path):
    with reviewing(tmp_path, RECORDS, ("ana", "ben"), each=2, adjudicator="eva") as served:
        ana, ben, eva = (served.client(name) for name in ("ana", "ben", "eva"))
        ana.decide(1, "reject:shortcut", note="a secret remark")
        for path in ("/", "/records", "/records/1", "/records/2"):
            page = ben.get(path).text
            assert "secret remark" not in page and ">ana<" not in page and "eva" not in page
        done = re.search(r'value="undo:(\w+)"', ana.get("/records/1").text)[1]
        assert "shortcut: " not in ben.get("/records", done=done).text
        assert "Undo" not in ben.get("/records", done=done).text
        assert eva.get("/records/1").status_code == 400
        assert "Nothing is disputed" in eva.get("/").text


def test_an_adjudicator_sees_both_and_settles(tmp_path, lines):
    with reviewing(tmp_path, RECORDS, ("ana", "ben"), each=2, adjudicator="eva") as served:
        ana, ben, eva = (served.client(name) for name in ("ana", "ben", "eva"))
        ana.decide(1, "reject:shortcut", note="a remark")
        fields = fields_of(RECORDS[0]) | {"question": "Which saddle then?"}
        ben.send(1, ben.form(1, edit=True), verdict="edit", **fields)
        page = eva.get("/next").text
        assert "a remark" in page and "<ins>Which saddle then?" in page
        assert "Which saddle then?" in eva.get("/records/1/edit", of="ben").text
        form = eva.form(1)
        again = ana.form(1)
        ana.send(1, again, verdict="accept")  # changes her mind while eva looks
        late = eva.send(1, form, verdict="accept")
        assert late.status_code == 409 and "another tab" not in late.text
        changed = late.text.partition("What reviewers have changed since")[2]
        assert re.search(r"<b>ana</b> · now <b>accept</b>", changed)
        assert "<b>ben</b>" not in changed and "Look at the record again" in changed
        eva.decide(1, "accept")
        page = ana.get("/records/1").text
        assert "adjudicator has settled" in page and 'value="accept"' not in page
        assert ana.send(1, {"id": "c" * 32, "version": "2"}, verdict="skip").status_code == 409
    assert [(line["person"], line["action"]) for line in lines()][-1] == ("eva", "accept")


@pytest.mark.parametrize(
    ("verdict", "now", "said"),
    [
        ("accept", "<b>accept</b>", "The reviewers agree now"),
        ("skip", "has not decided", "comes back to you if reviewers differ"),
    ],
    ids=["agreed", "open"],
)
def test_an_adjudicator_is_told_who_changed_what_also_if_nothing_is_left_to_settle(
    tmp_path, lines, verdict, now, said
):
    with reviewing(tmp_path, RECORDS, ("ana", "ben"), each=2, adjudicator="eva") as served:
        ana, ben, eva = (served.client(name) for name in ("ana", "ben", "eva"))
        ana.decide(1, "reject:shortcut")
        ben.decide(1, "accept")
        form = eva.form(1)
        ana.decide(1, verdict, note="on second thought")
        late = eva.send(1, form, verdict="reject:shortcut", note="my long note")
        assert late.status_code == 409 and "my long note" in late.text
        assert f"<b>ana</b> · now {now}" in late.text and said in late.text
        assert "Back to your list" in late.text and "Look at the record" not in late.text
        assert eva.send(1, form, verdict="reject:other").status_code == 400
    assert [line["person"] for line in lines()] == ["ana", "ben", "ana"]


def test_a_note_stays_when_a_decision_is_changed(tmp_path, lines):
    with reviewing(tmp_path, RECORDS) as served:
        ana = served.client("ana")
        ana.decide(1, "reject:shortcut", note="the longest option")
        field = re.compile(r'<textarea name="note"[^>]*>\n(.*?)</textarea>', re.S)
        assert field.search(ana.get("/records/1").text)[1] == "the longest option"
        assert field.search(ana.get("/records/1/edit").text)[1] == "the longest option"
        # What is in the field counts, also nothing.
        assert field.search(ana.get("/records/1/edit", note="").text)[1] == ""
        assert field.search(ana.get("/records/2").text)[1] == ""
        wrong = ana.decide(1, "reject:other", note="")
        assert wrong.status_code == 422 and field.search(wrong.text)[1] == ""
    assert len(lines()) == 1


def test_a_domain_of_ones_own_is_no_mistake(tmp_path):
    cell = {"split": "own", "domain": "Gardening"}
    own = [
        record.model_copy(update={**cell, "id": f"own:Gardening-{number:03d}"})
        for number, record in enumerate(RECORDS, 1)
    ]
    with reviewing(tmp_path, own) as served:
        page = served.client("ana").get("/records/1").text
    assert "own:Gardening-001" in page and "unknown split or domain" not in page


def test_a_second_opinion_brings_the_record_to_somebody_else(tmp_path):
    with reviewing(tmp_path, RECORDS, ("ana", "ben")) as served:
        ana, ben = served.client("ana"), served.client("ben")
        assert ben.get("/records/1").status_code == 400
        ana.decide(1, "second")
        assert RECORDS[0].question in ben.get("/records/1").text
        assert ">ana<" not in ben.get("/records/1").text


def test_what_is_beside_a_record_is_shown(tmp_path):
    twin = make(9, question=RECORDS[0].question, dialogue=RECORDS[0].model_dump()["dialogue"])
    reading = Reading(
        id=RECORDS[0].id,
        seal=seal_of(RECORDS[0]),
        reader="open-1",
        mode="open",
        answer="A",
        flags=("ambiguous",),
        note="reads oddly",
    )
    old = reading.model_copy(update={"seal": "0" * 64, "reader": "open-2"})
    with reviewing(tmp_path, [*RECORDS, twin], readings=[reading, old]) as served:
        page = served.client("ana").get("/records/1").text
    assert "near-duplicate" in page and twin.id in page
    assert "longest option" in page and "option most similar to the dialogue" in page
    assert "open-1" in page and "reads oddly" in page and page.count("earlier wording") == 1


def test_texts_of_records_do_nothing_on_pages(tmp_path):
    record = make(1, question=NASTY, reasoning=NASTY, options={k: NASTY + k for k in "ABCD"})
    with reviewing(tmp_path, [record, *RECORDS[1:]], ("ana",), blind=True) as served:
        ana = served.client("ana")
        pages = [ana.get("/records/1"), ana.get("/records"), ana.decide(1, "choose:A")]
        pages.append(ana.get("/records/1/edit"))
        fields = fields_of(record) | {"question": NASTY * 2}
        pages.append(ana.send(1, ana.form(1, edit=True), verdict="edit", note=NASTY, **fields))
        pages.append(ana.get("/records/1"))
        pages.append(ana.get("/records", find=NASTY, show=NASTY))
        for page in pages:
            assert page.status_code == 200
            assert "<script>alert" not in page.text and "<img src=x" not in page.text
            assert page.text.count("</textarea>") == page.text.count("<textarea")


def test_lists_are_paged_and_searched(tmp_path):
    many = [make(n, split="s1", domain="Legal") for n in range(1, 121)]
    with reviewing(tmp_path, many) as served:
        ana = served.client("ana")
        ana.decide(3, "accept")
        first = ana.get("/records").text
        assert "120 records" in first and first.count("<tr>") == 101 and "first=100" in first
        assert ana.get("/records", first="100").text.count("<tr>") == 21
        assert "1 record" in ana.get("/records", show="done").text
        assert "Legal-007" in ana.get("/records", find="legal-007").text
        for wrong in ("-1", "x", "9" * 30):
            assert ana.get("/records", first=wrong).status_code == 400
        for wrong in ("0", "121", "x", "1e3"):
            assert ana.get(f"/records/{wrong}").status_code == 400


def test_a_review_goes_on_where_it_was(tmp_path):
    with reviewing(tmp_path, RECORDS) as served:
        served.client("ana").decide(1, "accept")
        link = served.people.links("http://x")["ana"]
    told: list[str] = []
    with (tmp_path / "decisions.jsonl").open("ab") as file:
        file.write(b'{"id":"abc","at":')
    with reviewing(tmp_path, RECORDS, told=told) as served:
        assert "1 of 6 decided" in served.client("ana").get("/").text
        assert served.people.links("http://x")["ana"] == link
    assert len(told) == 1 and "was not finished" in told[0]


def test_another_review_does_not_go_on_in_its_place(tmp_path):
    with reviewing(tmp_path, RECORDS):
        pass
    for records, more, said in (
        (RECORDS[:3], {}, "other records"),
        (RECORDS, {"reviewers": ("ana", "ben")}, "other reviewers: ana there, ana, ben now"),
        (RECORDS, {"blind": True}, "other blind"),
    ):
        with pytest.raises(DataError, match=said), reviewing(tmp_path, records, **more):
            pass
    write(tmp_path / "records.jsonl", RECORDS[:2])
    with pytest.raises(DataError, match="was changed since"), reviewing(tmp_path, RECORDS):
        pass


def test_a_journal_of_other_records_is_refused(tmp_path):
    with reviewing(tmp_path, RECORDS) as served:
        served.client("ana").decide(1, "accept")
    file = tmp_path / "decisions.jsonl"
    file.write_text(file.read_text().replace(RECORDS[0].id, "s1:Legal-077"))
    with pytest.raises(DataError, match="no record s1:Legal-077"), reviewing(tmp_path, RECORDS):
        pass


@pytest.mark.parametrize(
    ("records", "more", "said"),
    [
        ([], {}, "no records"),
        ([RECORDS[0]] * 2, {}, "occurs twice"),
        (RECORDS, {"each": 2}, "--each is 2 of 1"),
        (RECORDS, {"each": 0}, "--each is 0"),
        (RECORDS, {"reviewers": ("ana", "ana")}, "named twice"),
        (RECORDS, {"adjudicator": "ana"}, "named twice"),
        (RECORDS, {"reviewers": ("Ana Maria",)}, "cannot be the name"),
        (RECORDS, {"reviewers": [f"r{n}" for n in range(21)]}, "expected 1 to 20"),
    ],
    ids=["none", "twins", "each", "zero", "names", "roles", "space", "many"],
)
def test_what_cannot_be_reviewed_is_said_before_anything_is_written(tmp_path, records, more, said):
    with pytest.raises(DataError, match=said), reviewing(tmp_path / "out", records, **more):
        pass
    assert not (tmp_path / "out").exists()
