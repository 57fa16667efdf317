"""Plans are carried out against servers that do as they like."""

import json
import threading
import time

import pytest

from scaleqa.construct import Budget, BudgetError, funnel, opened, release
from scaleqa.construct.files import due, export_folder, import_replies
from scaleqa.construct.receipts import Decided, Replied
from scaleqa.records.draw import letter
from tests.scaleqa.construct.support import (
    command,
    json_of,
    plan_of,
    released,
    started,
    work,
    write_plan,
)
from tests.support.authors import Author, kind_of, reply
from tests.support.processes import wait_for
from tests.support.servers import completion, serving
from tsim.errors import RemoteError

FAULTS = {
    "malformed": lambda prompt: "Sure! Here is your JSON: {'scenario': oops",
    "refused": lambda prompt: "I cannot help with that.",
    "cut": lambda prompt: json.dumps(reply(prompt))[:-5],
    "list": lambda prompt: "[1, 2]",
    "wrong types": lambda prompt: json.dumps(dict.fromkeys(reply(prompt), 7)),
    "empty object": lambda prompt: "{}",
    "deep": lambda prompt: "{" * 5000,
    "surrogates": lambda prompt: '{"scenario": "\\ud800"}',
}


def test_a_plan_becomes_records_of_a_domain_of_ones_own(tmp_path):
    with serving(Author()) as server:
        site = work(plan_of(server.url, 6), tmp_path / "out")
    found = release(site.book)
    assert [record.id for record in found.items] == [f"own:Gardening-{n:03d}" for n in range(1, 7)]
    assert all(r.answer == letter(r.id, {"own:Gardening"}) for r in found.items)
    assert found.report.critical == []
    shares = funnel(site.book, site.ledger.receipts)
    assert (shares.open.right, shares.open.of, shares.closed.of) == (6, 6, 6)


def test_what_readers_see_holds_no_key(tmp_path):
    """Neither the letter, nor the reasoning, nor ids; closed-book readers see no dialogue."""
    with serving(Author()) as server:
        site = work(plan_of(server.url), tmp_path / "out")
    for one in server.seen:
        prompt = one["messages"][0]["content"]
        if one["model"] == "reader":
            assert "Gardening" not in prompt
            assert "The sign says so" not in prompt
            assert "ight option:" not in prompt
            assert ("sign " in prompt) == (kind_of(prompt) == "open")
    assert {item.step for item in site.book.items.values()} == {"released"}


def test_the_letter_is_drawn_after_the_options_and_unknown_to_their_writer(tmp_path):
    with serving(Author()) as server:
        site = work(plan_of(server.url), tmp_path / "out")
    for prompt in server.prompts:
        if kind_of(prompt) in ("scenario", "question"):
            assert "own:" not in prompt
            assert "right option: " not in prompt
    made = [d.made for r in site.ledger.receipts if isinstance(r, Decided) for d in r.decisions]
    frozen = [one for one in made if "letter" in one]
    assert len(frozen) == 3
    assert all({*one} == {"letter", "seal"} for one in frozen)


def test_both_orders_of_work_can_be_compared(tmp_path):
    with serving(Author()) as server:
        for order in ("options-first", "dialogue-first"):
            work(plan_of(server.url, 5, order=order), tmp_path / order)
    found = json_of("compare", tmp_path / "options-first", tmp_path / "dialogue-first")
    rows = {row["what"]: row for row in found["rows"]}
    assert rows["open book, right at the last reading"]["one"] == 1.0
    assert len(rows["closed book, right at the first reading"]["difference_interval"]) == 2
    second = found["constructions"][1]
    assert second["order"] == "dialogue-first"
    assert {stage["step"] for stage in second["stages"]} >= {"realise", "distractors"}
    text = command("compare", tmp_path / "options-first", tmp_path / "dialogue-first")
    assert "28.8" in text
    assert "84.3" in text


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", ["scenario", "dialogue", "open", "closed"])
def test_a_reply_that_cannot_be_used_is_tried_again_with_the_reason(tmp_path, fault, kind):
    hit = []

    def twist(_number, prompt):
        if kind_of(prompt) == kind and not hit:
            hit.append(prompt)
            return FAULTS[fault](prompt)
        return None

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 2, workers=1), tmp_path / "out")
        (again,) = [
            d
            for receipt in site.ledger.receipts
            if isinstance(receipt, Decided)
            for d in receipt.decisions
            if d.verdict == "again"
        ]
    assert again.code == "malformed"
    assert again.reasons
    assert len(released(site)) == 2
    (told,) = [prompt for prompt in server.prompts if again.reasons[0] in prompt]
    assert kind_of(told) == kind
    assert told.startswith(hit[0].rstrip())


def test_readers_are_told_nothing_about_the_replies_of_others(tmp_path):
    said = {"open": '{"answer": "E"}', "closed": "I would rather not."}

    def twist(_number, prompt):
        return None if "could not be used" in prompt else said.get(kind_of(prompt))

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 1), tmp_path / "out")
    assert len(released(site)) == 1
    again = {kind_of(p): p for p in server.prompts if "could not be used" in p}
    assert {*again} == {"open", "closed"}
    for kind, other in (("open", "closed"), ("closed", "open")):
        assert said[kind] in again[kind]
        assert said[other] not in again[kind]
    assert "answer: Input should be" in again["open"]
    assert "answer: Input should be" not in again["closed"]
    assert "no JSON object" in again["closed"]


def test_what_never_becomes_usable_is_dropped_and_replaced(tmp_path):
    def twist(_number, prompt):
        return "no" if kind_of(prompt) == "question" and "Names" not in prompt else None

    with serving(Author(twist)) as server:
        plan = plan_of(server.url, 2, tries=2, domains=[{"name": "A", "count": 2, "spare": 3}])
        site = work(plan, tmp_path / "out")
    assert {item.step for item in site.book.items.values()} == {"dropped"}
    assert len(site.book.items) == 5
    questions = [prompt for prompt in server.prompts if kind_of(prompt) == "question"]
    assert len(questions) == 10


def test_readers_who_choose_otherwise_send_an_item_back_until_it_is_dropped(tmp_path):
    def twist(_number, prompt):
        if kind_of(prompt) != "open":
            return None
        right = reply(prompt)["answer"]
        return json.dumps({"answer": "ABCD"[("ABCD".index(right) + 1) % 4], "note": "no rule"})

    with serving(Author(twist)) as server:
        plan = plan_of(server.url, domains=[{"name": "A", "count": 1, "spare": 0}], rounds=2)
        site = work(plan, tmp_path / "out")
    (item,) = site.book.items.values()
    assert item.step == "dropped"
    kinds = [kind_of(prompt) for prompt in server.prompts]
    assert kinds.count("dialogue") == kinds.count("open") == 3
    assert kinds.count("closed") == 1  # the question is frozen: it is read once
    told = [prompt for prompt in server.prompts if "no rule" in prompt]
    assert [kind_of(prompt) for prompt in told] == ["dialogue", "dialogue"]


@pytest.mark.parametrize(
    ("flaw", "code"),
    [
        ({"second": "X"}, "ambiguous"),
        ({"flags": ["contrived"]}, "contrived"),
        ({"evidence": [5]}, "evidence"),
    ],
    ids=["second", "flag", "evidence"],
)
def test_what_readers_hold_against_an_item_is_mended(tmp_path, flaw, code):
    hit = []

    def twist(_number, prompt):
        if kind_of(prompt) == "open" and not hit:
            hit.append(prompt)
            found = reply(prompt) | flaw
            if "second" in flaw:
                found["second"] = "ABCD".replace(found["answer"], "")[0]
            return json.dumps(found)
        return None

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 1), tmp_path / "out")
    assert len(released(site)) == 1
    stage = {stage.step: stage for stage in funnel(site.book, site.ledger.receipts).stages}["read"]
    assert stage.why == {code: 1}


def test_writers_are_told_all_that_a_reader_holds_against_an_item(tmp_path):
    hit = []

    def twist(_number, prompt):
        if kind_of(prompt) != "open" or hit:
            return None
        hit.append(prompt)
        found = reply(prompt)
        second = "ABCD".replace(found["answer"], "")[0]
        flaws = {"second": second, "flags": ["contrived"], "evidence": [5], "note": "stilted"}
        return json.dumps(found | flaws)

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 1), tmp_path / "out")
    stage = {stage.step: stage for stage in funnel(site.book, site.ledger.receipts).stages}["read"]
    assert stage.why == {"ambiguous": 1}
    (told,) = [prompt for prompt in server.prompts if "stilted" in prompt]
    assert kind_of(told) == "dialogue"
    for reason in ("defensible", "found it contrived", "decided by turns [5]"):
        assert told.count(reason) == 1


def test_dialogues_that_leak_repeat_or_say_too_little_are_written_again(tmp_path):
    flaws = []

    def twist(_number, prompt):
        if kind_of(prompt) != "dialogue" or len(flaws) == 3:
            return None
        found = reply(prompt)
        right = prompt.split("The right option: ")[1][0]
        flaws.append(right)
        option = next(line[3:] for line in prompt.splitlines() if line.startswith(f"{right}) "))
        if len(flaws) == 1:
            found["dialogue"][1]["content"] += f" so {option} then"
        elif len(flaws) == 2:
            found["dialogue"][4] = found["dialogue"][2]
        else:
            found["dialogue"] = [{**turn, "content": "ok"} for turn in found["dialogue"]]
        return json.dumps(found)

    with serving(Author(twist)) as server:
        plan = plan_of(server.url, 1, workers=1, tries=4)
        site = work(plan, tmp_path / "out")
    reasons = [
        " ".join(d.reasons)
        for r in site.ledger.receipts
        if isinstance(r, Decided)
        for d in r.decisions
        if d.verdict == "again"
    ]
    assert "wording of the right option" in reasons[0]
    assert "occurs twice" in reasons[1]
    assert "words, expected" in reasons[2]
    assert len(released(site)) == 1


def test_the_same_question_twice_is_asked_anew_before_a_letter_is_drawn(tmp_path):
    first = []

    def twist(_number, prompt):
        if kind_of(prompt) == "question" and "could not be used" not in prompt:
            first.append(first[0] if first else json.dumps(reply(prompt)))
            return first[-1]
        return None

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 2), tmp_path / "out")
    records = released(site)
    assert len({record["question"] for record in records.values()}) == 2
    stage = {stage.step: stage for stage in funnel(site.book, site.ledger.receipts).stages}
    assert stage["freeze"].why == {"duplicate": 1}


def test_names_by_which_questions_are_recognised_are_not_used_twice(tmp_path):
    def twist(_number, prompt):
        found = reply(prompt)
        if kind_of(prompt) == "question":
            name = "Halden" if "taken by another" not in prompt else "Brisby"
            found["question"] = f"which one does {name} take, {found['question']}"
        return json.dumps(found)

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 2), tmp_path / "out")
    asked = sorted(record["question"][:25] for record in released(site).values())
    assert [text.split()[3] for text in asked] == ["Brisby", "Halden"]


def test_words_that_anybody_writes_with_a_capital_are_no_names(tmp_path):
    def twist(_number, prompt):
        found = reply(prompt)
        if kind_of(prompt) == "question":
            found["question"] = f"so I'm at the House and {found['question']}"
        return json.dumps(found)

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 2), tmp_path / "out")
    assert [item.round for item in site.book.items.values()] == [0, 0]


def test_failures_in_a_row_end_the_run_and_nothing_is_lost(tmp_path):
    plan_file = tmp_path / "out"
    with serving(Author()) as server:
        server.script = [None, None, *[(500, {}, {})] * 60]
        with pytest.raises(RemoteError, match="same command continues"):
            work(plan_of(server.url, 6, workers=1), plan_file)
        server.script = []
        site = work(plan_of(server.url, 6, workers=1), plan_file)
        answered = [p for p in server.prompts if kind_of(p) == "scenario"]
    assert len(released(site)) == 6
    assert len({*answered[:2]} & {*answered[2:]}) == 0


def test_a_request_that_is_never_answered_can_be_given_up(tmp_path):
    poisoned = []

    def poison(_number, prompt):
        if kind_of(prompt) == "scenario" and not poisoned:
            poisoned.append(prompt)
        return {"nothing": 1} if prompt in poisoned else None

    out = tmp_path / "out"
    with serving(Author(poison)) as server:
        for _ in range(2):
            with pytest.raises(RemoteError, match="can be given up"):
                work(plan_of(server.url, 3, workers=1), out)
        with opened(out) as site:
            (ticket,) = due(site, "scenario")
            export_folder(site, [ticket], tmp_path / "by-hand")
            (tmp_path / "by-hand" / f"{ticket.key}.json").write_text('{"drop": "never answered"}')
            assert import_replies(site, [tmp_path / "by-hand"]).taken == 1
        site = work(plan_of(server.url, 3, workers=1), out)
    assert len(released(site)) == 3
    assert [i.reasons for i in site.book.items.values() if i.step == "dropped"] == [
        ("never answered",)
    ]


@pytest.mark.parametrize("calls", range(1, 14, 3))
def test_no_request_is_sent_beyond_the_budget(tmp_path, calls):
    """Also where the server fails half of the time, and requests are repeated."""
    with serving(Author()) as server:
        server.script = [(503, {}, {}), None] * 50
        budget = Budget(calls=calls)
        with pytest.raises(BudgetError):
            work(plan_of(server.url, 3), tmp_path / "out", budget)
        assert len(server.seen) <= calls
        seen = len(server.seen)
        with pytest.raises(BudgetError):
            work(plan_of(server.url, 3), tmp_path / "out", budget)
        assert len(server.seen) == max(seen, len(server.seen)) <= calls
        server.script = []
        site = work(plan_of(server.url, 3), tmp_path / "out", Budget(calls=200))
    assert len(released(site)) == 3


def test_tokens_and_dollars_are_set_aside_before_they_are_spent(tmp_path):
    prices = {"writer_price": "1,2", "reader_price": "1,2", "most_tokens": 100}
    with serving(Author()) as server:
        # One at a time: how much is set aside does not depend on how many are asked at once.
        plan = plan_of(server.url, 4, models=prices, workers=1)
        for number, budget in enumerate((Budget(tokens=800), Budget(dollars=0.00084))):
            out = tmp_path / str(number)
            before = len(server.seen)
            with pytest.raises(BudgetError, match="does not allow"):
                work(plan, out, budget)
            assert 0 < len(server.seen) - before < 24
            site = work(plan, out, Budget())
            used = funnel(site.book, site.ledger.receipts).spent
            assert used.calls == 24
            assert used.tokens == 18 * used.calls
            assert used.dollars == pytest.approx(25e-6 * used.calls)


def test_the_same_records_after_a_kill_and_no_answered_request_twice(tmp_path):
    """The server kills the run before it answers, twice. Three processes need their time."""
    with serving(Author()) as server:
        whole = released(work(plan_of(server.url, 3), tmp_path / "whole"))
    running, answered = [], []

    def twist(number, prompt):
        if running and number in (2, 11):
            running.pop().kill()
            time.sleep(0.2)
            return
        answered.append(prompt)
        return

    with serving(Author(twist)) as server:
        plan = write_plan(tmp_path / "plan.json", plan_of(server.url, 3))
        codes = []
        while not codes or codes[-1]:
            process = started("run", plan, "--out", tmp_path / "out")
            running[:] = [process]
            _, problem = process.communicate()
            codes.append(process.returncode)
            assert process.returncode in (0, -9), problem
    assert codes.count(-9) == 2
    again = json_of("status", tmp_path / "out")
    assert again["released"] == 3
    doubtful = again["spent"]["in_doubt"]
    assert len(answered) - len({*answered}) <= doubtful
    command("release", tmp_path / "out", "--to", tmp_path / "a" / "records.jsonl")
    lines = (tmp_path / "a" / "records.jsonl").read_text().splitlines()
    assert {one["id"]: one for one in map(json.loads, lines)} == whole


def test_a_torn_line_is_as_if_it_had_not_been_written(tmp_path):
    with serving(Author()) as server:
        plan = plan_of(server.url, 2)
        whole = released(work(plan, tmp_path / "out"))
        file = tmp_path / "out" / "receipts.jsonl"
        content = file.read_bytes()
        for cut in range(1, len(content), len(content) // 12):
            file.write_bytes(content[:cut])
            assert released(work(plan, tmp_path / "out")) == whole


def test_interrupted_runs_keep_what_was_answered_and_say_how_to_continue(tmp_path):
    go = threading.Event()

    def twist(number, _prompt):
        if number >= 4:
            go.wait(30)

    with serving(Author(twist)) as server:
        plan = write_plan(tmp_path / "plan.json", plan_of(server.url, 6, workers=2))
        process = started("run", plan, "--out", tmp_path / "out")
        wait_for(lambda: len(server.seen) >= 5)
        process.send_signal(2)
        time.sleep(0.2)
        go.set()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert "same command continues" in said
        before = [*server.prompts]
        command("run", plan, "--out", tmp_path / "out")
        assert len(server.prompts) == len({*server.prompts})
    assert before


def test_a_budget_ends_with_4_and_a_larger_one_continues(tmp_path):
    with serving(Author()) as server:
        plan = write_plan(tmp_path / "plan.json", plan_of(server.url, 2))
        out = tmp_path / "out"
        process = started("run", plan, "--out", out, "--calls", 3)
        _, said = process.communicate()
        assert process.returncode == 4
        assert "larger budget continues" in said
        found = json_of("run", plan, "--out", out, "--calls", 5, check=4)
        assert found["outcome"] == "budget"
        assert found["spent"]["calls"] == 5
        found = json_of("run", plan, "--out", out, "--calls", 50)
    assert found["outcome"] == "done"
    assert found["released"] == 2
    assert len(server.seen) == found["spent"]["calls"] == 12


def test_timeouts_count_as_requests(tmp_path):
    slow = []

    def twist(_number, prompt):
        if kind_of(prompt) == "closed" and not slow:
            slow.append(prompt)
            time.sleep(2.5)  # longer than the patience of these tests
        return

    with serving(Author(twist)) as server:
        site = work(plan_of(server.url, 1), tmp_path / "out")
    assert len(released(site)) == 1
    replies = [r for r in site.ledger.receipts if isinstance(r, Replied)]
    assert sum(r.requests for r in replies) == len(server.seen) == len(replies) + 1


def test_silence_of_a_server_is_no_reply(tmp_path):
    with serving(Author()) as server:
        server.script = [(200, completion(""), {})]
        site = work(plan_of(server.url, 1), tmp_path / "out")
        assert len(server.seen) == funnel(site.book, site.ledger.receipts).spent.calls == 7
    assert len(released(site)) == 1
