"""The third split: what ships of it, and the habits that it breaks."""

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.cli.data import third_readings
from scaleqa.datasets import open_dataset
from scaleqa.errors import DataError
from scaleqa.records import DOMAINS, LETTERS, THIRD, shipped
from scaleqa.records.authored import read_third
from scaleqa.records.card import fingerprint
from scaleqa.records.draw import letter, read_ledger
from scaleqa.records.habits import Set, compare
from scaleqa.records.load import THIRD_FUNNEL, THIRD_VALIDATION, data_dir
from scaleqa.records.readings import outcomes, sealed_cases, shipped_third_readings
from scaleqa.records.release import release_third
from scaleqa.records.style import asking, style, talk
from scaleqa.records.validate import validate


def scaleqa(*arguments: str):
    return CliRunner().invoke(app, [*arguments])


@pytest.fixture(scope="module")
def records():
    return shipped(THIRD)


def test_it_has_five_hundred_records_in_all_domains(records):
    assert len(records) >= 500
    assert {record.split for record in records} == {THIRD}
    cells = Counter(record.domain for record in records)
    assert {*cells} == {*DOMAINS}
    assert min(cells.values()) >= 50
    letters = Counter(record.answer for record in records)
    assert max(letters.values()) - min(letters.values()) <= 0.06 * len(records)


def test_nothing_else_uses_it_unless_it_is_named():
    assert {record.split for record in shipped()} == {"s1", "s2"}
    [thread] = open_dataset("scaleqa:target=64k,split=s3,subset=40").threads()
    assert {question.split for question in thread.questions} == {THIRD}


def test_no_critical_finding_and_every_receipt_matches(records):
    receipts = read_ledger(Path(str(data_dir() / "draws.jsonl")))
    found = validate(records, receipts=receipts, release=True)
    assert found.critical == []
    assert [probe.name for probe in found.probes if probe.accuracy > probe.limit] == []


def test_its_validation_report_is_of_these_records(records):
    report = json.loads(data_dir().joinpath(THIRD_VALIDATION).read_text("utf-8"))
    assert report["sha256"] == fingerprint(records)
    assert report["critical"] == []


def test_what_is_released_follows_from_the_raw_readings(records):
    found = outcomes(shipped_third_readings(), sealed_cases(records))
    assert {*found} == {record.id for record in records}
    assert all(one.picked and one.right and not one.flagged for one in found.values())
    funnel = json.loads(data_dir().joinpath(THIRD_FUNNEL).read_text("utf-8"))
    assert funnel["released"] == len(records)


def test_it_cannot_be_answered_without_its_dialogues():
    closed = next(one for one in third_readings() if one.mode == "closed")
    assert closed.readings >= 500
    assert closed.right <= 0.32 * closed.readings


def test_it_breaks_the_habits_of_the_first_two(records):
    found = compare([Set.of("first", shipped()), Set.of("third", records)])
    first, third = (found[name] for name in ("first", "third"))
    assert third.asking.named.value < 0.1 < 0.9 < first.asking.named.value
    assert third.asking.notice.value < 0.25 < 0.5 < first.asking.notice.value
    assert third.style.model_asks.value < 0.15 < 0.5 < first.style.model_asks.value
    assert third.asking.by_model.value > 0.35
    assert third.asking.set_apart.value > 0.3
    assert third.asking.question_repeated < 0.1 < 0.3 < first.asking.question_repeated
    low, _, high = third.style.turn_words
    assert high > 20 * low


def test_letters_of_the_third_split_are_even_and_the_others_are_as_before():
    for domain in DOMAINS:
        counts = Counter(letter(f"{THIRD}:{domain}-{n:03d}") for n in range(1, 51))
        assert sorted(counts.values()) == [12, 12, 13, 13]
    receipts = read_ledger(Path(str(data_dir() / "draws.jsonl")))
    assert all(receipt.letter == letter(receipt.id) for receipt in receipts)


def authored(place: Path, **readings: dict[str, object]) -> Path:
    """Writes the work of an author and a reader on two records, with changes to it."""
    own = shipped(THIRD)[:2]
    out = place / "a1" / "out"
    out.mkdir(parents=True)
    (out / "one.jsonl").write_text("".join(r.model_dump_json() + "\n" for r in own), "utf-8")
    ids = [record.id for record in own]
    ledger = read_ledger(Path(str(data_dir() / "draws.jsonl")))
    drawn = [receipt for receipt in ledger if receipt.id in ids]
    lines = "".join(receipt.model_dump_json() + "\n" for receipt in drawn)
    (place / "a1" / "draws.jsonl").write_text(lines, "utf-8")
    key = {"r1/01": {"mode": "shelf", "dialogues": ids, "questions": ids}}
    (place / "key.json").write_text(json.dumps(key), "utf-8")
    told = place / "r1" / "out"
    told.mkdir(parents=True)
    picks = [{"q": 1, "pick": 1}, {"q": 2, "pick": 2, **readings.get("pick", {})}]
    answers = [{"q": n, "answer": record.answer} for n, record in enumerate(own, 1)]
    answers[1] |= readings.get("answer", {})
    for name, some in (("01.jsonl", picks), ("01.answers.jsonl", answers)):
        (told / name).write_text("".join(json.dumps(one) + "\n" for one in some), "utf-8")
    return place


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, 2),
        ({"pick": {"pick": 1}}, 1),
        ({"answer": {"flags": ["ambiguous"]}}, 1),
        ({"answer": {"flags": ["contrived"]}}, 2),
    ],
    ids=["sound", "another-dialogue", "ambiguous", "contrived"],
)
def test_readers_decide_what_is_released(tmp_path, changed, kept):
    found = read_third(authored(tmp_path, **changed))
    released = release_third(found.records, found.receipts, found.readings)
    assert len(released.items) == kept
    assert released.funnel["written"] == 2
    assert released.funnel["released"] == kept


def test_a_record_changed_after_it_was_read_is_refused(tmp_path):
    found = read_third(authored(tmp_path))
    changed = found.records[0].model_copy(update={"question": "Which of them, then?"})
    with pytest.raises(DataError, match="have it read again"):
        release_third([changed, *found.records[1:]], found.receipts, found.readings)


def test_a_directory_without_authors_is_named(tmp_path):
    with pytest.raises(DataError, match="no a1/out"):
        read_third(tmp_path)


def test_a_release_replaces_what_was_there(tmp_path):
    place, out = authored(tmp_path / "work"), tmp_path / "out"
    (out / THIRD).mkdir(parents=True)
    (out / THIRD / "Old.jsonl").write_text("", "utf-8")
    assert scaleqa("data", "release-third", str(place), str(out)).exit_code == 0
    assert [file.name for file in (out / THIRD).iterdir()] == [f"{shipped(THIRD)[0].domain}.jsonl"]
    assert len(read_ledger(out / "draws.jsonl")) == 2


ASKS = talk(["May I come in?", "Who is it?"])
TELLS = talk(["It is me.", "Come in."])


def test_questions_of_the_model_are_counted_and_those_of_the_user_are_not():
    found = style([ASKS, TELLS], 2)
    assert found.model_asks.value == 0.5
    assert style([talk(["Why?", "Because."])], 1).model_asks.value == 0


def test_openings_repeat_between_dialogues_not_within_one():
    one = talk(["so this is it", "yes", "so this is that", "no"])
    assert style([one, TELLS], 2).opening_repeated == 0
    assert style([one, talk(["So this is new", "ok"])], 2).opening_repeated == 1


def test_repetition_is_counted_in_samples_of_the_same_size():
    many = [talk([f"opening number {n % 10} here", "fine"]) for n in range(100)]
    assert style(many, 100).opening_repeated == 1
    assert style(many, 5).opening_repeated < 0.6
    assert style(many, 5) == style(many, 5)


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ('The card says "no dogs beyond the second gate" and that is it.', "notice"),
        ("HOUSE RULES\nshoes off", "notice"),
        ("- take the key\n- leave the bag", "set_apart"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "set_apart"),
        ("```\nx = 1\n```", "set_apart"),
        ("we never take the key with us", ""),
    ],
    ids=["quoted", "labelled", "list", "table", "code", "plain"],
)
def test_forms_of_evidence_are_told_apart(text, measure):
    record = shipped()[0]
    turns = [record.dialogue[0].model_copy(update={"content": text}), record.dialogue[1]]
    found = asking([record.model_copy(update={"dialogue": turns, "evidence": [0]})], 1)
    for name in ("notice", "set_apart"):
        assert getattr(found, name).value == (name == measure)


def test_names_in_questions_are_counted():
    record = shipped()[0]
    named = record.model_copy(update={"question": "Which box goes to Quillmere?"})
    plain = record.model_copy(update={"question": "Which box goes to the mill?"})
    assert asking([named], 1).named.value == 1
    assert asking([plain], 1).named.value == 0


def test_the_command_shows_other_dialogues_beside_ours(tmp_path):
    pool = tmp_path / "chats.jsonl"
    turns = ["I have a question about the new garden shed roof", "What is it about, please?"]
    lines = [{"id": n, "data": [f"{n} {turns[0]} {n}", turns[1]]} for n in range(60)]
    pool.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    ran = scaleqa("data", "style", "--beside", f"ultrachat={pool}", "--json")
    found = json.loads(ran.stdout)
    assert [*found] == ["s1", "s2", "s3", "ultrachat"]
    assert found["ultrachat"]["style"]["model_asks"]["value"] == 1
    assert found["ultrachat"]["asking"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [("chats.jsonl", "FORMAT=FILE"), ("ultrachat=missing.jsonl", "does not exist")],
)
def test_other_dialogues_that_cannot_be_read_are_refused(given, said):
    ran = scaleqa("data", "style", "--beside", given)
    assert ran.exit_code != 0
    assert said in f"{ran.output}{ran.exception}"


def test_every_letter_is_drawn_in_every_domain(records):
    cells = Counter((record.domain, record.answer) for record in records)
    assert min(cells[domain, one] for domain in DOMAINS for one in LETTERS) >= 10
