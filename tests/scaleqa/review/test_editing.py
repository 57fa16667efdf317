"""Edits: forms and back, what the schema and the validator say, what changed."""

import pytest

from scaleqa.review.decisions import Change
from scaleqa.review.editing import changed, check, draft_of, pieces, read_draft
from tests.support.records import make
from tests.support.reviewing import fields_of

RECORD = make(
    3,
    evidence=[0, 2],
    stress={"labels": ["constraint_trap", "state_overwrite"], "primary": "state_overwrite"},
)


def drafted(**changes):
    fields = fields_of(RECORD) | changes

    def several(name):
        found = fields.get(name, [])
        return found if isinstance(found, list) else [found]

    return read_draft(lambda name: (several(name) or [""])[0], several)


def test_a_form_that_was_not_touched_is_the_record():
    assert drafted() == draft_of(RECORD)
    checked = check(drafted(), RECORD)
    assert checked.record == RECORD and checked.changes == ()
    assert checked.problems == ("nothing was changed; accept the record instead",)


def test_labels_keep_their_order_whatever_the_form_says():
    checked = check(drafted(labels=["state_overwrite", "constraint_trap"]), RECORD)
    assert checked.record == RECORD


def test_line_breaks_of_the_record_are_not_changes():
    record = make(1, question="one\r\ntwo\rthree?")
    draft = draft_of(make(1, question="one\ntwo\nthree?"))
    assert check(draft, record).record == record


def test_changes_are_kept_field_by_field():
    turns = {"dialogue.5": "A new turn.", "dialogue.6": "  "}
    checked = check(drafted(question="What now?", answer="A", **turns), RECORD)
    assert checked.problems == ()
    assert [change.field for change in checked.changes] == [
        *("dialogue.5", "dialogue.6", "question"),
        *(["answer"] if RECORD.answer != "A" else []),
    ]
    assert changed(RECORD, checked.record) == checked.changes
    assert len(checked.record.dialogue) == 6


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question": ""}, "question"),
        ({"answer": "E"}, "answer"),
        ({"answer": ""}, "answer"),
        ({"evidence": []}, "evidence"),
        ({"evidence": ["9"]}, "outside the 7 turns"),
        ({"evidence": ["x"]}, "evidence"),
        ({"primary": "long_range_bridge"}, "primary stress label"),
        ({"labels": ["nonsense"]}, "labels"),
        ({"options.A": "same", "options.B": "Same"}, "two options are the same"),
        ({"dialogue.2": ""}, "dialogue.2"),
        ({"question": "Do you remember what I said?"}, "memory-probe"),
        ({"options.C": "All of the above"}, "catch-all"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value.replace(" ", "-"),
)
def test_what_breaks_the_schema_or_the_benchmark_is_a_problem(changes, said):
    checked = check(drafted(**changes), RECORD)
    assert any(said in problem for problem in checked.problems)


def test_a_finding_that_was_there_before_does_not_keep_an_edit_from_being_kept():
    bad = make(3, question="Which cable do you recall?")
    draft = draft_of(make(3, question="Which cable do you recall?", reasoning="Another."))
    assert check(draft, bad).problems == ()


def test_warnings_are_said_and_do_not_stop():
    checked = check(drafted(**{"options.A": "word " * 30}), RECORD)
    assert checked.problems == () and "an option of 30 words" in checked.warnings[0]


def test_pieces_put_together_are_both_texts():
    change = Change(
        field="question", before="Take the red bus home.", after="Take the bus home now."
    )
    found = pieces(change)
    assert "".join(text for kind, text in found if kind != "new") == change.before
    assert "".join(text for kind, text in found if kind != "gone") == change.after
    assert ("gone", "red ") in found or ("gone", " red") in found
    other = Change(field="question", before="One thing", after="All about something else")
    assert pieces(other) == [("gone", other.before), ("new", other.after)]
    assert pieces(Change(field="dialogue.8", before="", after="New.")) == [("new", "New.")]
