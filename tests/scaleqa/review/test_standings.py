"""Where records stand: who reviews what, agreement, disputes, second opinions, undoing."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaleqa.desk import new_id
from scaleqa.errors import DataError
from scaleqa.review.assigning import assign
from scaleqa.review.decisions import Decision
from scaleqa.review.editing import changed
from scaleqa.review.settings import Settings
from scaleqa.review.standings import Standings, counts
from tests.support.records import make

RECORD = make(1)
IDS = [make(n).id for n in range(1, 7)]


def settings(reviewers=("ana", "ben"), *, each=2, adjudicator="eva", blind=False):
    return Settings(
        records="0", reviewers=reviewers, each=each, adjudicator=adjudicator, blind=blind
    )


def decided(person, action, record=IDS[0], **more):
    if action == "reject":
        more.setdefault("reason", "duplicate")
    return Decision(id=new_id(), at="t", person=person, record=record, action=action, **more)


def edited(person, question):
    after = make(1, question=question)
    return decided(person, "edit", edited=after, changes=changed(RECORD, after))


def after(*decisions, **given_):
    standings = Standings(IDS, settings(**given_))
    for decision in decisions:
        standings.take(decision)
    return standings


@given(st.integers(1, 6), st.data())
def test_everybody_gets_about_as_much_and_all_pairs_meet(people, data):
    names = [f"r{n}" for n in range(people)]
    each = data.draw(st.integers(1, people))
    groups = assign(120, names, each)
    assert groups == assign(120, names, each)
    assert all(len({*group}) == each for group in groups)
    load = Counter(name for group in groups for name in group)
    assert max(load.values()) - min(load.values()) <= len(list(combinations(names, each)))
    if each >= 2:
        met = Counter(pair for group in groups for pair in combinations(group, 2))
        assert {*met} == {*combinations(names, 2)}


@pytest.mark.parametrize("each", [0, 3])
def test_no_record_can_have_more_reviewers_than_there_are(each):
    with pytest.raises(DataError, match=f"--each is {each}"):
        assign(3, ["ana", "ben"], each)


def test_a_record_is_open_until_all_its_reviewers_have_decided():
    one = decided("ana", "accept")
    assert after(one).of(IDS[0]).state == "open"
    both = after(one, decided("ben", "accept"))
    assert both.of(IDS[0]).state == "agreed" and both.of(IDS[0]).decision == one
    assert counts(both, IDS) == {"open": 5, "agreed": 1, "disputed": 0, "settled": 0}


def test_different_verdicts_and_different_edits_are_disputed():
    mixed = after(decided("ana", "accept"), decided("ben", "reject"))
    assert mixed.of(IDS[0]).state == "disputed"
    assert mixed.waiting("eva") == [IDS[0]] and mixed.waiting("ana") == IDS[1:]
    same = after(edited("ana", "Which one?"), edited("ben", "Which one?"))
    assert same.of(IDS[0]).state == "agreed"
    other = after(edited("ana", "Which one?"), edited("ben", "Which other?"))
    assert other.of(IDS[0]).state == "disputed"


def test_an_adjudicator_settles_what_is_disputed_and_nothing_else():
    standings = after(decided("ana", "accept"))
    assert "not for eva" in standings.problem(decided("eva", "reject"))
    standings.take(decided("ben", "reject"))
    verdict = decided("eva", "reject")
    standings.take(verdict)
    assert standings.of(IDS[0]).state == "settled" and standings.of(IDS[0]).decision == verdict
    assert "settled" in standings.problem(decided("ana", "reject"))
    standings.take(decided("eva", "undo", undoes=verdict.id))
    assert standings.of(IDS[0]).state == "disputed"
    assert standings.problem(decided("ana", "reject")) is None


def test_a_second_opinion_asks_somebody_else():
    names = ("ana", "ben", "cleo")
    standings = after(decided("ana", "second"), reviewers=names, each=1)
    (_, asked) = standings.of(IDS[0]).judges
    assert asked in ("ben", "cleo") and IDS[0] in standings.mine(asked)
    standings.take(decided(asked, "second"))
    third = standings.of(IDS[0]).judges[2]
    standings.take(decided(third, "accept"))
    assert standings.of(IDS[0]).state == "agreed"


def test_a_second_opinion_that_nobody_is_left_for_goes_to_the_adjudicator():
    standings = after(decided("ana", "second"), reviewers=("ana",), each=1)
    assert standings.of(IDS[0]).state == "disputed" and standings.waiting("eva") == [IDS[0]]


@pytest.mark.parametrize("verdict", ["accept", "edit"])
def test_one_verdict_is_not_agreement_while_a_second_opinion_is_wanted(verdict):
    first = edited("ana", "Which one?") if verdict == "edit" else decided("ana", verdict)
    standings = after(first, decided("ben", "second"))
    assert standings.of(IDS[0]).state == "disputed" and standings.of(IDS[0]).decision is None
    assert standings.waiting("eva") == [IDS[0]]
    last = decided("eva", "reject")
    standings.take(last)
    assert standings.of(IDS[0]).state == "settled" and standings.of(IDS[0]).decision == last


@pytest.mark.parametrize("names", [("ana",), ("ana", "ben")], ids=["one", "two"])
def test_without_an_adjudicator_a_second_opinion_that_nobody_is_left_for_stays_open(names):
    accepted = [decided(name, "accept") for name in names[:-1]]
    wanted = decided(names[-1], "second")
    given_ = {"reviewers": names, "each": len(names), "adjudicator": None}
    standings = after(*accepted, wanted, **given_)
    assert standings.of(IDS[0]).state == "open" and standings.of(IDS[0]).decision is None
    standings.take(decided(names[-1], "accept"))
    assert standings.of(IDS[0]).state == "agreed"


def test_who_was_asked_and_decided_counts_also_if_the_request_is_taken_back():
    standings = after(decided("ana", "second"), each=1)
    standings.take(decided("ben", "reject"))
    assert standings.of(IDS[0]).state == "agreed"
    standings.take(decided("ana", "accept"))
    assert standings.of(IDS[0]).judges == ("ana", "ben")
    assert standings.of(IDS[0]).state == "disputed"


def test_an_adjudicator_has_nobody_to_ask():
    standings = after(decided("ana", "accept"), decided("ben", "reject"))
    assert "nobody is left" in standings.problem(decided("eva", "second"))


def test_undoing_brings_back_what_was_decided_before():
    first, second = decided("ana", "accept"), decided("ana", "reject")
    standings = after(first, second)
    assert standings.sheet("ana", IDS[0]).final == second
    standings.take(decided("ana", "undo", undoes=second.id))
    assert standings.sheet("ana", IDS[0]).final == first
    assert "taken back" in standings.problem(decided("ana", "undo", undoes=second.id))
    assert standings.version("ana", IDS[0]) == 3


def test_what_is_skipped_comes_back_at_the_end():
    standings = after(decided("ana", "skip"))
    assert standings.waiting("ana") == [*IDS[1:], IDS[0]]
    assert standings.waiting("ana", after=IDS[3]) == [*IDS[4:], *IDS[1:4], IDS[0]]


def test_blind_reviewers_choose_once_and_first():
    standings = after(blind=True)
    assert "choose" in standings.problem(decided("ana", "accept"))
    assert standings.problem(decided("ana", "skip")) is None
    standings.take(decided("ana", "choose", choice="B"))
    assert standings.problem(decided("ana", "accept")) is None
    assert "B was chosen before" in standings.problem(decided("ana", "choose", choice="C"))


def test_decisions_of_strangers_and_about_other_records_are_refused():
    standings = after(reviewers=("ana", "ben"), each=1)
    with pytest.raises(DataError, match="not for ben"):
        standings.take(decided("ben", "accept"))
    with pytest.raises(DataError, match="no record"):
        standings.take(decided("ana", "accept", record="s1:Legal-099"))


@pytest.mark.parametrize(
    ("action", "more"),
    [("accept", {"reason": "duplicate"}), ("reject", {"reason": None}), ("edit", {}), ("undo", {})],
    ids=["accept", "reject", "edit", "undo"],
)
def test_a_decision_has_what_belongs_to_it(action, more):
    with pytest.raises(ValueError, match="does not fit"):
        decided("ana", action, **more)
