"""Second wordings and asides: their shape, their checks, and how readings decide a release."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.records import (
    Aside,
    Wording,
    load_asides,
    load_records,
    load_wordings,
    shipped,
    shipped_asides,
    shipped_wordings,
)
from scaleqa.records.authored import read_authored
from scaleqa.records.draw import DrawReceipt, draw, letter, seal_of
from scaleqa.records.load import Supplements, read_lines, read_supplements
from scaleqa.records.readings import Reading, correct_letters, judge, sealed_cases, sealed_wordings
from scaleqa.records.release import MOST_WORDINGS, release_asides, release_wordings
from scaleqa.records.stems import content, is_number, stem
from scaleqa.records.validate import validate
from tests.support.records import ASIDES, RECORDS, WORDINGS, aside, make, reword, write


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "weather"}, "kind"),
        ({"evidence": [0, 2]}, "at most 1"),
        ({"evidence": [1]}, "not a turn of the user"),
        ({"evidence": [0]}, "the fact is not a part of the evidence turn"),
        ({"fact": "By the way plums give me hives"}, "the fact is not a part"),
        ({"inference": "yes"}, "inference"),
        ({"domain": "Finance"}, "Aside"),
        ({"id": "s1:Finance-001"}, "does not name s1 and Aside"),
        ({"options": dict.fromkeys("ABCD", "the same")}, "two options are the same"),
        ({"extra": 1}, "extra"),
    ],
)
def test_an_aside_that_does_not_hang_together_is_named_with_its_line(tmp_path, change, problem):
    good = json.loads(aside().model_dump_json())
    path = tmp_path / "asides.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
    found, (bad,) = read_lines([path], Aside)
    assert found == [aside()]
    assert (bad.source, bad.line) == ("asides.jsonl", 2)
    assert problem in bad.problem
    with pytest.raises(DataError, match=r"asides\.jsonl, line 2"):
        load_asides(tmp_path)


def test_an_aside_need_not_say_that_it_is_one():
    fields = json.loads(aside().model_dump_json())
    del fields["domain"]
    assert Aside.model_validate_json(json.dumps(fields)) == aside()


def test_they_are_found_beside_records_and_are_no_records(tmp_path):
    write(tmp_path / "mine.jsonl", [make(1), make(2)])
    write(tmp_path / "wordings.jsonl", [reword(make(2))])
    write(tmp_path / "asides.jsonl", [aside()])
    (tmp_path / "track-readings.jsonl").write_text("{}\n")
    assert load_records(tmp_path) == [make(1), make(2)]
    assert load_wordings(tmp_path) == [reword(make(2))]
    assert load_asides(tmp_path) == [aside()]
    assert load_wordings(tmp_path / "mine.jsonl") == load_asides(tmp_path / "mine.jsonl") == []
    (tmp_path / "wordings.jsonl").write_text('{"id": "s1:Finance-002"}\n')
    with pytest.raises(DataError, match=r"wordings\.jsonl, line 1: question"):
        load_wordings(tmp_path)


def test_words_are_compared_by_stem():
    assert stem("stories") == stem("story") == stem("Story's")
    assert stem("printers") == stem("printer") == stem("printed")
    assert stem("planning") == stem("plans") == stem("planned")
    assert content("Should I book the kayaks?") == {"book": "book", "kayak": "kayaks"}
    assert [word for word in ("7", "m4", "twelve", "two", "plum") if is_number(word)] == [
        "7",
        "m4",
        "twelve",
    ]


# A hundred dialogues: what only one of them says is rare.
TURNS = [
    "We store the crates with Orrin",
    "Fine.",
    "Only twelve fit, the zither stays",
    "Ok.",
    "No",
]
SUBJECT = make(
    1,
    question="Where do Brandauer's crates go?",
    dialogue=[{"role": ("user", "model")[n % 2], "content": t} for n, t in enumerate(TURNS)],
)
AMONG = [SUBJECT, *(
    make(n, dialogue=[{"role": "user", "content": f"we store the crates {n}"},
                      {"role": "model", "content": f"Fine {n}."},
                      {"role": "user", "content": f"all {n}."}])
    for n in range(2, 101)
)]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ("Where do the boxes go, says Orrin?", "has the name 'orrin' of its record"),
        ("Where do Brandauer's boxes go?", "has the name"),
        ("Do all twelve go?", "has the number 'twelve' of its dialogue"),
        ("Do the zithers go?", "has the rare word 'zithers' of its dialogue, which 1 of 100"),
        ("well " * 61, "has 61 words, expected at most 60"),
        ("As agreed, where do the boxes go?", "refers to the conversation"),
    ],
)
def test_a_wording_that_gives_its_dialogue_away_is_critical(question, problem):
    wording = Wording(id=SUBJECT.id, question=question)
    report = validate(AMONG, supplements=Supplements(wordings=[wording]))
    found = [finding for finding in report.critical if finding.where == SUBJECT.id]
    assert [problem in finding.message for finding in found] == [True]
    assert found[0].code in ("wording", "memory-probe")


def test_a_wording_may_use_what_many_dialogues_say():
    wording = Wording(id=SUBJECT.id, question="Where do we store those crates?")
    report = validate(AMONG, supplements=Supplements(wordings=[wording]))
    assert [f for f in report.critical if f.code == "wording"] == []
    assert report.wordings == 1


def test_wordings_stand_alone():
    def problems(*wordings):
        report = validate(RECORDS[:2], supplements=Supplements(wordings=wordings))
        return [(f.where, f.message) for f in report.critical if f.code == "wording"]

    one, two = RECORDS[:2]
    assert problems(reword(one), reword(two)) == []
    assert problems(reword(make(99))) == [(make(99).id, "there is no such record")]
    assert problems(reword(one), reword(one, "Well?")) == [(one.id, "has 2 second wordings")]
    assert problems(reword(one, "Well?"), reword(two, "well?")) == [
        (two.id, f"the same text as the second wording of {one.id}")
    ]


@pytest.mark.parametrize(
    ("change", "code", "problem"),
    [
        ({"question": "Are landlords fond of a hive?"}, "aside", "share hives"),
        ({"fact": "give me hives"}, "aside", "the fact has 3 words, expected 4 to 28"),
        ({"question": "Which cake did I mention, you said?"}, "memory-probe", "refers to"),
        ({"options": {**dict(zip("ABC", "xyz", strict=True)), "D": "none of these"}},
         "catch-all", "none of these"),
        ({"split": "s9"}, "aside", "unknown split"),
    ],
)  # fmt: skip
def test_an_aside_that_breaks_the_benchmark_is_critical(change, code, problem):
    wrong = aside(**change)
    report = validate([make(1)], supplements=Supplements(asides=[wrong]))
    assert [(f.code, f.where) for f in report.critical] == [(code, wrong.id)]
    assert problem in report.critical[0].message


def test_a_long_fact_is_critical():
    said = "plums " * 29
    turns = aside().model_dump()["dialogue"]
    turns[2]["content"] = said
    wrong = aside(dialogue=turns, fact=said.strip())
    (finding,) = validate([make(1)], supplements=Supplements(asides=[wrong])).critical
    assert finding.message == "the fact has 29 words, expected 4 to 28"


def test_asides_stand_alone():
    def problems(*asides):
        report = validate([make(1)], supplements=Supplements(asides=asides))
        return [(f.where, f.message) for f in report.critical]

    assert problems(aside(1), aside(2), aside(1, split="s2", question="Why cake?")) == []
    twin = aside(2, question=aside(1).question.replace("Which", "What"))
    ((where, message),) = problems(aside(1), twin)
    assert (where, "asks the same as s1:Aside-001" in message) == (twin.id, True)
    assert (aside(1).id, "occurs 2 times") in problems(aside(1), aside(1))


def receipt(one, **changes):
    return DrawReceipt(**{"id": one.id, "seal": seal_of(one), "letter": one.answer} | changes)


def test_letters_of_asides_are_drawn_as_an_eleventh_domain(tmp_path):
    drawn = [letter(f"{split}:Aside-{n:03d}") for split in ("s1", "s2") for n in range(1, 151)]
    assert {key: drawn.count(key) for key in "ABCD"} == dict.fromkeys("ABCD", 75)
    # As they were drawn: the choice of spare letters is part of the rule.
    assert "".join(drawn[:8]) == "AABDADBD"
    one = aside()
    frozen = tmp_path / "frozen.jsonl"
    frozen.write_text(one.model_dump_json(include={"id", "question", "options"}) + "\n")
    assert draw(frozen, tmp_path / "draws.jsonl") == [receipt(one)]


def test_an_aside_must_match_its_receipt():
    one = aside()
    record = make(1)

    def critical(*receipts):
        found = validate(
            [record], receipts=[receipt(record), *receipts], supplements=Supplements(asides=[one])
        )
        return [(f.code, f.where) for f in found.critical]

    assert critical(receipt(one)) == []
    assert critical() == [("receipt", one.id)]
    other = next(key for key in "ABCD" if key != one.answer)
    assert critical(receipt(one, letter=other)) == [("receipt", one.id)]


def reading(sealed, **changes):
    fields = {
        "id": sealed.id,
        "seal": sealed.seal,
        "reader": "r",
        "mode": "shelf",
        "pick": sealed.id,
        "answer": sealed.answer,
    }
    return Reading.model_validate(fields | changes)


def wrong_letter(sealed):
    return next(key for key in "ABCD" if key != sealed.answer)


def test_a_wording_is_released_if_it_was_picked_and_answered_without_a_fatal_flag():
    sealed = sealed_wordings(WORDINGS[:8], RECORDS)
    a, b, c, d, e, f, g, _ = sealed
    readings = [
        reading(a),
        reading(b, pick=a.id),
        reading(c, answer=wrong_letter(c)),
        reading(d, flags=["leak"]),
        reading(e, flags=["unnatural"]),
        reading(f),
        reading(f, reader="another", flags=["ambiguous"]),
        reading(g, mode="closed", pick=None, answer=wrong_letter(g)),
    ]
    found = release_wordings(WORDINGS[:8], RECORDS, readings)
    assert [one.id for one in found.items] == sorted([a.id, e.id])
    assert [*found.funnel.values()] == [8, 6, 5, 4, 2, 0, 0, 2]
    (shelf, closed) = judge(readings, correct_letters(RECORDS, []))
    assert (shelf.readings, shelf.picked, shelf.right) == (7, 6, 6)
    assert shelf.flags == {"ambiguous": 1, "leak": 1, "unnatural": 1}
    assert (closed.readings, closed.picked, closed.right) == (1, None, 0)


def test_what_the_checks_refuse_is_not_released():
    asking = "Which one was it last time?"
    wordings = [
        reword(RECORDS[0]),
        reword(RECORDS[1], "well " * 61),
        reword(RECORDS[2], asking),
    ]
    readings = [reading(one) for one in sealed_wordings(wordings, RECORDS)]
    found = release_wordings(wordings, RECORDS, readings)
    assert [one.id for one in found.items] == [RECORDS[0].id]
    asides = [ASIDES[0], aside(2, question=asking)]
    readings = [reading(one) for one in sealed_cases(asides)]
    kept = release_asides(asides, [receipt(one) for one in asides], readings)
    assert kept.items == [ASIDES[0]]


def test_cells_of_wordings_are_even():
    records = [make(n) for n in range(1, 41)]
    wordings = [reword(one, f"Question {'x' * n}?") for n, one in enumerate(records)]
    readings = [reading(one) for one in sealed_wordings(wordings, records)]
    found = release_wordings(wordings, records, readings)
    assert len(found.items) == found.funnel["released"] == MOST_WORDINGS
    assert found.funnel["left out: spare"] == 10
    assert found.items == release_wordings(wordings[::-1], records, readings).items


def test_a_wording_that_was_changed_after_it_was_read_is_refused():
    (sealed,) = sealed_wordings(WORDINGS[:1], RECORDS)
    changed = WORDINGS[0].model_copy(update={"question": "Another one?"})
    with pytest.raises(DataError, match="is not the question that r read; have it read again"):
        release_wordings([changed], RECORDS, [reading(sealed)])


def test_an_aside_needs_every_reader_who_saw_its_dialogue_and_a_matching_receipt():
    asides = ASIDES[:5]
    a, b, c, d, e = sealed_cases(asides)
    readings = [
        reading(a),
        reading(a, mode="open", pick=None),
        reading(a, mode="closed", pick=None, answer=wrong_letter(a)),
        reading(b),
        reading(b, mode="open", pick=None, answer=wrong_letter(b)),
        reading(c, answer=None),
        reading(d, answer=None),
        reading(d, mode="open", pick=None),
        reading(e),
    ]
    found = release_asides(asides, [receipt(one) for one in asides[:4]], readings)
    assert [one.id for one in found.items] == [a.id, d.id]
    assert [*found.funnel.values()] == [5, 5, 5, 3, 0, 1, 2]


def authored(root: Path) -> Path:
    """What authors and readers leave: three wordings, two asides, one shelf of each."""
    for name in ("w1/out", "a1/out", "a1/frozen", "r1/out", "r1/choices", "r2/out", "ac1/out"):
        (root / name).mkdir(parents=True)
    records = shipped()[:20]
    words = ["Is the velvety one fine?", "Is the breezy one fine?", "Is the drowsy one fine?"]
    wordings = [reword(one, text) for one, text in zip(records, words, strict=False)]
    write(root / "w1/out/01.jsonl", wordings)
    write(root / "a1/out/01.jsonl", ASIDES[:2])
    write(root / "a1/frozen/draws.jsonl", [receipt(one) for one in ASIDES[:2]])
    key = {
        "r1/01": {"dialogues": [r.id for r in records], "questions": [w.id for w in wordings]},
        "r2/01": {"mode": "open", "questions": [one.id for one in ASIDES[:2]]},
        "r2/02": {"questions": [one.id for one in ASIDES[:2]]},
    }
    (root / "readings_key.json").write_text(json.dumps(key))
    (root / "r1/choices/01.txt").write_text("\n".join(w.question for w in wordings))
    picks = [{"q": 1, "pick": 1}, {"q": 2, "pick": 3, "also": [2]}, {"q": 3, "pick": 3}]
    lines(root / "r1/out/01.jsonl", picks)
    lines(root / "r1/out/01.answers.jsonl",
          [{"q": q, "answer": records[q - 1].answer} for q in (1, 2, 3)])  # fmt: skip
    lines(root / "r2/out/01.answers.jsonl", [{"q": 2, "answer": ASIDES[1].answer}])
    lines(root / "ac1/out/01.jsonl", [{"id": ASIDES[0].id, "answer": "A"}])
    return root


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_one_command_releases_from_the_files_of_authors_and_readers(tmp_path):
    place, out = authored(tmp_path / "work"), tmp_path / "out"
    out.mkdir()
    kept = receipt(make(1))
    write(out / "draws.jsonl", [kept, receipt(ASIDES[9])])
    found = CliRunner().invoke(app, ["data", "release-tracks", str(place), str(out), "--json"])
    assert found.exit_code == 0, found.output
    funnels = json.loads(found.stdout)
    assert [*funnels["wordings"].values()] == [3, 3, 2, 2, 0, 0, 0, 2]
    assert [*funnels["asides"].values()] == [2, 1, 1, 1, 0, 0, 1]
    assert json.loads((out / "track-funnels.json").read_text()) == funnels
    first, _, third = shipped()[:3]
    assert [one.id for one in load_wordings(out)] == [first.id, third.id]
    assert load_asides(out) == [ASIDES[1]]
    drawn = [kept, *(receipt(one) for one in ASIDES[:2])]
    assert (out / "draws.jsonl").read_text() == "".join(f"{r.model_dump_json()}\n" for r in drawn)
    readings, bad = read_lines([out / "track-readings.jsonl"], Reading)
    assert ([r.mode for r in readings], bad) == ([*3 * ["shelf"], "open", "closed"], [])
    assert (readings[1].pick, readings[1].also) == (third.id, (shipped()[1].id,))


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("r1/out/01.jsonl", '{"q": 1, "pick": 21}', "picked dialogue 21"),
        ("r1/out/01.jsonl", '{"q": 9, "pick": 1}', "there is no question 9, there are 3"),
        ("r1/out/01.jsonl", '{"q": 1, "pick": 1}\n{"q": 1, "pick": 2}', "occurs twice"),
        ("r1/out/01.answers.jsonl", '{"q": 1, "answer": "E"}', "answer"),
        ("r1/choices/01.txt", "Is it another?", "was changed after r1/01 was read"),
        ("readings_key.json", '{"r1/01": {}}', "r1/01.questions: Field required"),
    ],
)
def test_readings_that_cannot_be_understood_are_refused(tmp_path, file, text, problem):
    place = authored(tmp_path)
    (place / file).write_text(text)
    with pytest.raises(DataError, match=problem):
        read_authored(place, shipped()[:20])


def test_a_directory_without_authors_is_refused(tmp_path):
    with pytest.raises(DataError, match="has neither w1/out"):
        read_authored(tmp_path, [])


def test_what_ships_can_be_read():
    supplements, bad = read_supplements(None)
    assert bad == []
    assert (supplements.wordings, supplements.asides) == (shipped_wordings(), shipped_asides())
