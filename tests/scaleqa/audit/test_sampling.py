"""Plans: even over strata, dealt out fairly, the same for a seed, and blind."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaleqa.audit.files import PLAN, read_plan, write_plan
from scaleqa.audit.items import Plan
from scaleqa.audit.planning import Sampling, certain_ids, make_plan
from scaleqa.audit.sampling import deal, stratified
from scaleqa.audit.sources import Lengths, from_corpus, from_dataset, from_records
from scaleqa.errors import DataError
from scaleqa.records import shipped
from tests.conftest import ROOT
from tests.support.audits import SMALL, benchmark, chats, small_plan

SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture(scope="module")
def plan():
    return small_plan()


@pytest.fixture(scope="module")
def ours():
    return from_records(shipped())


def audited(plan):
    return [item for item in plan.items if item.purpose == "audit"]


def test_three_hundred_are_even_over_domains_and_splits_and_proportional_in_stress(ours):
    found = make_plan(ours, [], [], replace(SMALL, items=300, gold=0, attention=0))
    cells = Counter((item.origin.domain, item.origin.split) for item in found.items)
    assert {*cells.values()} == {15} and len(cells) == 20
    shares = Counter(one.origin.stress[0] for one in ours.candidates)
    drawn = Counter(item.origin.stress[0] for item in found.items)
    for label, count in shares.items():
        assert abs(drawn[label] / 300 - count / 3000) < 0.04


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), max_size=40),
    st.integers(0, 50),
    st.integers(0, 5),
)
def test_a_stratified_draw_takes_what_was_asked_for_as_evenly_as_there_is(cells, count, seed):
    things = [f"{n:02d}{a}{b}" for n, (a, b) in enumerate(cells)]
    drawn = stratified(
        things, count, seed=seed, name=lambda one: one, cell=lambda one: (one[2], one[3])
    )
    assert len(drawn) == len({*drawn}) == min(count, len(things))
    assert drawn == sorted(drawn)
    have, took = Counter(one[2] for one in things), Counter(one[2] for one in drawn)
    for first in have:
        for second in have:
            # Only what is used up may have much less than another.
            assert took[first] >= took[second] - 1 or took[first] == have[first]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 12), st.integers(0, 3))
def test_every_item_has_its_raters_and_all_have_as_much_to_do(raters, per_item, core, seed):
    per_item = min(raters, per_item)
    items = PLAN_ITEMS
    orders = deal(items, raters=raters, per_item=per_item, core=core, seed=seed)
    times = Counter(name for order in orders for name in order)
    for item in items:
        assert times[item.id] in ((raters,) if item.purpose != "audit" else (per_item, raters))
    assert sum(times[i.id] == raters for i in items if i.purpose == "audit") >= min(core, 28)
    sizes = [len(order) for order in orders]
    assert max(sizes) - min(sizes) <= 6
    assert all(len({*order}) == len(order) for order in orders)


PLAN_ITEMS = small_plan().items


def test_the_same_seed_gives_the_same_plan_and_another_gives_another(plan):
    assert small_plan.__wrapped__() == plan
    assert small_plan(replace(SMALL, seed=6)).items != plan.items


def test_no_record_is_used_twice(plan):
    refs = [(item.origin.source, item.origin.ref) for item in plan.items]
    assert len({*refs}) == len(refs)


def test_the_form_of_an_item_does_not_tell_its_source(plan):
    """Whatever is shown of others is also shown of ours, as often."""
    forms = Counter((item.form, item.origin.source) for item in audited(plan))
    assert forms["chat", "scaleqa"] == forms["chat", "corpus"] == 4
    assert forms["open", "scaleqa"] == forms["open", "others"] == 4
    assert forms["choice", "scaleqa"] == 12


def test_ids_have_one_length_and_alphabet_and_are_not_ordered_by_source(plan):
    assert all(len(item.id) == 12 and int(item.id, 16) >= 0 for item in plan.items)
    sources = [item.origin.source for item in audited(plan) if item.form == "chat"]
    assert sources not in (sorted(sources), sorted(sources, reverse=True))


def test_the_order_tells_nothing_of_the_source():
    """Over many seeds, every source is at every part of the order as often as the others."""
    items = [item for item in PLAN_ITEMS if item.form == "chat"]
    places = {"scaleqa": [], "corpus": []}
    for seed in range(300):
        (order,) = deal(items, raters=1, per_item=1, core=0, seed=seed)
        by_id = {item.id: item for item in items}
        for place, name in enumerate(order):
            places[by_id[name].origin.source].append(place)
    means = {source: sum(some) / len(some) for source, some in places.items()}
    assert abs(means["scaleqa"] - means["corpus"]) < 0.35  # of 8 places
    assert {*places["scaleqa"]} == {*places["corpus"]} == {*range(8)}


def test_gold_and_attention_items_are_spread_over_the_order(plan):
    for order in plan.orders:
        for purpose in ("gold", "attention"):
            halves = [
                2 * place // len(order)
                for place, name in enumerate(order)
                if plan.by_id[name].purpose == purpose
            ]
            assert {*halves} == {0, 1}


def test_attention_items_say_what_is_expected(plan):
    for item in plan.items:
        if item.purpose == "attention":
            assert f" {item.known.answer} " in item.question.replace(",", " ")
            assert str(item.known.naturalness) in item.question


def test_gold_items_are_what_blind_readers_answered_correctly(ours):
    records = shipped()
    with pytest.raises(DataError, match=r"2 gold items were asked for, and 1 records whose"):
        make_plan(ours, [], [records[0].id], replace(SMALL, each=1))
    assert certain_ids(records, []) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"per_item": 4}, "expected 1 to 3"),
        ({"per_item": 0}, "expected 1 to 3"),
        ({"items": 4000}, "records are left; ask for fewer"),
        ({"items": 0}, "at least one"),
    ],
    ids=["too many raters", "none", "too many items", "no items"],
)
def test_numbers_that_contradict_each_other_are_refused(ours, change, words):
    with pytest.raises(DataError, match=words):
        make_plan(ours, [], ["s1:Finance-001"], replace(SMALL, gold=0, **change))


def test_a_source_is_named_once(ours):
    with pytest.raises(DataError, match="named twice"):
        make_plan(ours, [chats(), chats()], [], replace(SMALL, gold=0))


def test_a_plan_is_kept_and_not_replaced(plan, tmp_path):
    path = write_plan(plan, tmp_path / "a")
    assert read_plan(tmp_path / "a") == plan
    assert write_plan(plan, tmp_path / "a") == path
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DataError, match="another plan"):
        write_plan(small_plan(replace(SMALL, seed=7)), tmp_path / "a")
    with pytest.raises(DataError, match=r"scaleqa audit plan --out"):
        read_plan(tmp_path / "b")
    path.write_text(path.read_text().replace('"seed"', '"sed"'))
    with pytest.raises(DataError, match="no plan of version 1"):
        read_plan(tmp_path / "a")


@pytest.mark.parametrize("damage", ["orders", "items", "twice"])
def test_a_plan_that_does_not_hang_together_is_refused(plan, tmp_path, damage):
    body = json.loads(plan.model_dump_json())
    if damage == "orders":
        body["orders"][0][0] = "0" * 12
    elif damage == "items":
        body["items"][0]["form"] = {"chat": "open", "open": "chat"}.get(
            body["items"][0]["form"], "chat"
        )
    else:
        body["items"].append(body["items"][0])
    (tmp_path / PLAN).write_text(json.dumps(body))
    with pytest.raises(DataError, match="no plan of version"):
        read_plan(tmp_path)


def sgd(path: Path, texts: list[list[str]]) -> Path:
    lines = [
        {"turns": [{"speaker": ("USER", "SYSTEM")[n % 2], "utterance": t} for n, t in enumerate(s)]}
        for s in texts
    ]
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def test_chats_of_a_corpus_that_are_too_long_or_too_short_are_left_out(tmp_path):
    words = "this is what I would like to have for the two of us please"
    file = sgd(tmp_path / "c.jsonl.gz", [[words] * 4, [words + " and more"] * 30, [words, words]])
    found = from_corpus(f"sgd:file={file}", Lengths())
    assert [len(one.dialogue) for one in found.candidates] == [4]
    assert found.left_out == {"too few turns": 1, "too long": 1}
    with pytest.raises(DataError, match="nothing that can be shown"):
        from_corpus(f"sgd:file={file}", Lengths(most_tokens=10))


@pytest.mark.parametrize("spec", ["sgd", "nothing:file=x", "sgd:path=x"])
def test_a_corpus_is_a_format_and_a_file(spec):
    with pytest.raises(DataError, match="expected FORMAT:file=PATH"):
        from_corpus(spec, Lengths())


def test_questions_of_another_benchmark_come_with_the_dialogue_of_their_evidence(tmp_path):
    long = "word " * 300
    turns = [
        {"role": "user", "content": "I keep bees since March, by the way."},
        {"role": "assistant", "content": "How nice."},
        {"role": "user", "content": "What do they need?", "has_answer": True},
        {"role": "assistant", "content": long},
        {"role": "user", "content": "Thanks."},
    ]
    question = {
        "question_id": "q1",
        "question_type": "single",
        "question": "Since when do I keep bees?",
        "answer": "March",
        "haystack_dates": ["2023/05/30 (Tue) 01:50"],
        "haystack_session_ids": ["a"],
        "haystack_sessions": [turns],
        "answer_session_ids": ["b"],
    }
    file = tmp_path / "lme.json"
    file.write_text(json.dumps([question]))
    for most, expected in ((1000, 5), (100, 3)):
        found = from_dataset(f"longmemeval:file={file}", Lengths(most_tokens=most))
        (one,) = found.candidates
        assert one.question == question["question"] and one.options == () and one.answer is None
        assert len(one.dialogue) == expected
        assert any(turn.text == "What do they need?" for turn in one.dialogue)
        assert one.dialogue[0].role == "user"


def test_real_corpora_and_benchmarks_are_drawn_from():
    files = [SHARED / "en_100_tree.jsonl", SHARED / "longmemeval_oracle.json.gz"]
    if not all(file.is_file() for file in files):
        pytest.skip("the public data is not there")
    lengths = Lengths()
    corpus = from_corpus(f"oasst:file={files[0]}", lengths)
    other = from_dataset(f"longmemeval:file={files[1]},target=4k,subset=120", lengths)
    for one in (*corpus.candidates, *other.candidates):
        assert one.dialogue[0].role == "user"
        assert sum(len(turn.text.split()) for turn in one.dialogue) * 1.3 <= 601
    plan = make_plan(
        from_records(shipped()),
        [corpus, other],
        [],
        Sampling(items=20, each=10, gold=0, attention=0),
    )
    assert Counter(item.form for item in plan.items) == {"choice": 20, "chat": 20, "open": 20}


def test_the_sources_of_a_plan_say_what_was_left_out(plan):
    assert [one.source for one in plan.sources] == ["scaleqa", "corpus", "others"]
    assert plan.sources[1].drawn == 4 and plan.sources[1].candidates == 8
    assert isinstance(Plan.model_validate_json(plan.model_dump_json()), Plan)
    assert len(benchmark().candidates) == 8
