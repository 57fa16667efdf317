"""Plans are validated before anything is written, and a construction keeps its own."""

import json

import pytest

from scaleqa.construct import EXAMPLE, Budget, load_plan, opened, read_site
from scaleqa.construct.plan import read_plan
from scaleqa.construct.replies import GivenUpError, MalformedError, Scenario, read_reply
from scaleqa.errors import DataError
from scaleqa.records import shipped
from scaleqa.records.draw import draw, letter, mismatches, read_ledger
from scaleqa.records.load import DRAWS, data_dir
from scaleqa.records.schema import LETTERS
from scaleqa.records.validate import validate
from tests.scaleqa.construct.support import command, json_of, plan_of, work
from tests.support.authors import Author
from tests.support.records import make
from tests.support.servers import serving

GOOD = json.loads(plan_of().model_dump_json())
BAD = {
    "no domains": ({"domains": []}, "domains"),
    "a domain twice": ({"domains": [{"name": "A", "count": 1}] * 2}, "occurs twice"),
    "a name with a space": (
        {"domains": [{"name": "A B", "count": 1}]},
        "domains.0.name: 'A B' cannot be in ids; a name has letters of English and digits",
    ),
    "a name that ends like an id": ({"domains": [{"name": "A-001", "count": 1}]}, "'A-001' cannot"),
    "a split with a hyphen": ({"split": "my-own"}, "split: 'my-own' cannot be in ids"),
    "replies by file of nobody": (
        {"models": {"writer": "batch", "reader": "batch:b"}},
        "'batch' does not say who replies",
    ),
    "a reader by file without a name": (
        {"models": {"writer": "openai:a", "reader": "batch:"}},
        "as in batch:NAME",
    ),
    "no count": ({"domains": [{"name": "A", "count": 0}]}, "domains.0.count"),
    "an unknown field": ({"ordr": "x"}, "ordr"),
    "an unknown order": ({"order": "questions-first"}, "order"),
    "stress below zero": ({"stress": {"constraint_trap": -1}}, "stress"),
    "no stress at all": ({"stress": {"constraint_trap": 0}}, "stress"),
    "the writer as reader": ({"models": {"writer": "openai:a", "reader": "openai:a"}}, "both"),
    "a price in words": (
        {"models": {"writer": "openai:a", "reader": "openai:b", "writer_price": "cheap"}},
        "IN,OUT",
    ),
    "dollars without a price": ({"budget": {"dollars": 1}}, "writer_price"),
    "a budget of nothing": ({"budget": {"calls": 0}}, "budget.calls"),
    "asides of another domain": ({"track": "asides"}, "Aside"),
    "given records of records": ({"records": "x.jsonl"}, "leave out records"),
    "an order of wordings": (
        {"track": "wordings", "order": "dialogue-first"},
        "one order",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_plans_that_cannot_be_are_refused_with_the_reason(case):
    changes, match = BAD[case]
    with pytest.raises(DataError, match=match):
        read_plan(GOOD | changes, "plan.toml")


@pytest.mark.parametrize(
    "content", [b"track = ", b"\xff", b"[" * 5000], ids=["toml", "utf8", "deep"]
)
@pytest.mark.parametrize("name", ["plan.toml", "plan.json"])
def test_files_that_are_no_plans_are_refused(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="is not"):
        load_plan(tmp_path / name)


def test_the_example_is_a_plan(tmp_path):
    (tmp_path / "plan.toml").write_text(EXAMPLE)
    plan = load_plan(tmp_path / "plan.toml")
    assert plan.order == "options-first"
    assert plan.domains[0].name == "Gardening"
    found = json_of("plan", "--out", tmp_path / "other.toml")
    assert (tmp_path / "other.toml").read_text() == found["plan"] == EXAMPLE
    command("plan", "--out", tmp_path / "other.toml", check=1)


def test_another_plan_does_not_continue_but_another_budget_does(tmp_path):
    with serving(Author()) as server:
        plan = plan_of(server.url, 1)
        work(plan, tmp_path / "out")
        richer = plan.model_copy(update={"budget": Budget(calls=9), "workers": 1, "rpm": 600.0})
        work(richer, tmp_path / "out")
        with pytest.raises(DataError, match="another plan"):
            work(plan_of(server.url, 2), tmp_path / "out")


def test_two_at_once_in_one_directory_are_refused(tmp_path):
    with opened(tmp_path / "out", plan_of()), pytest.raises(DataError, match="another run"):
        work(plan_of(), tmp_path / "out")


def test_what_is_no_construction_is_said(tmp_path):
    with pytest.raises(DataError, match="no construction"):
        read_site(tmp_path)
    (tmp_path / "receipts.jsonl").write_text('{"kind": "added", "items": []}\n')
    with pytest.raises(DataError, match="does not begin with a plan"):
        read_site(tmp_path)
    (tmp_path / "receipts.jsonl").write_text("nonsense\n")
    with pytest.raises(DataError, match="line 1 is no receipt"):
        read_site(tmp_path)


def test_letters_of_shipped_cells_are_what_they_were():
    """Declaring cells of one's own, even the shipped ones, changes no letter."""
    cells = {record.cell for record in shipped()}
    receipts = read_ledger(data_dir() / DRAWS)
    assert len(receipts) > 3000
    assert all(
        letter(receipt.id, {*cells, "own:Gardening"}) == receipt.letter for receipt in receipts
    )


def test_letters_of_a_cell_of_ones_own_are_balanced_and_need_a_declaration():
    names = [f"own:Gardening-{n:03d}" for n in range(1, 61)]
    drawn = [letter(name, {"own:Gardening"}) for name in names]
    for start in (0, 20, 40):
        assert sorted(drawn[start : start + 20]) == sorted(LETTERS * 5)
    assert drawn == [letter(name, {"own:Gardening"}) for name in names]
    assert drawn != [letter(f"mine:Gardening-{n:03d}", {"mine:Gardening"}) for n in range(1, 61)]
    with pytest.raises(DataError, match="not an id"):
        letter("own:Gardening-001")


def test_declared_cells_are_drawn_for_and_valid(tmp_path):
    cells = {"own:Gardening"}
    drawn = [letter(f"own:Gardening-{n:03d}", cells) for n in range(1, 4)]
    records = [
        make(n).model_copy(
            update={
                "answer": key,
                "id": f"own:Gardening-{n:03d}",
                "split": "own",
                "domain": "Gardening",
            }
        )
        for n, key in enumerate(drawn, 1)
    ]
    frozen = tmp_path / "frozen.jsonl"
    keys = {"id", "question", "options"}
    frozen.write_text("".join(record.model_dump_json(include=keys) + "\n" for record in records))
    receipts = draw(frozen, tmp_path / "draws.jsonl", cells)
    assert not mismatches(records, receipts, cells)
    assert validate(records, receipts=receipts, declared=cells).critical == []
    assert {f.message for f in validate(records).critical} == {
        "unknown split or domain; a cell of your own is declared by --cell own:Gardening"
    }


def test_replies_are_read_strictly():
    text = "somebody keeps a garden"
    for form in (
        '{"scenario": "%s"}',
        '```json\n{"scenario": "%s"}\n```',
        'Here:\n{"scenario": "%s"}',
    ):
        assert read_reply(form % text, Scenario).scenario == text
    for bad in (
        "",
        "no",
        "{}",
        '{"scenario": 7}',
        json.dumps({"scenario": text}) + ' {"a": 1}',
        "{" * 10**5,
    ):
        with pytest.raises(MalformedError):
            read_reply(bad, Scenario)
    with pytest.raises(GivenUpError, match="too dull"):
        read_reply('{"drop": "too dull"}', Scenario)
