"""Checks of records, on records made for the purpose."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaleqa.errors import DataError
from scaleqa.records import DOMAINS, LETTERS, SPLITS, Record, load_records
from scaleqa.records.calibration import Answer, calibrate
from scaleqa.records.draw import DrawReceipt, draw, letter, mismatches, read_ledger, seal_of
from scaleqa.records.load import read_records
from scaleqa.records.probes import lexical_probes
from scaleqa.records.release import quotas, release
from scaleqa.records.text import names
from scaleqa.records.validate import validate
from tests.support.records import make, write


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": "s1:Finance"}, "split:Domain-NNN"),
        ({"id": "s2:Finance-001"}, "does not name"),
        ({"evidence": []}, "evidence"),
        ({"evidence": [2, 1]}, "ascending"),
        ({"evidence": [9]}, "outside"),
        ({"answer": "E"}, "answer"),
        ({"options": {"A": "x", "B": "X", "C": "y", "D": "z"}}, "same"),
        ({"options": {"A": "x", "B": "y", "C": "z"}}, "options.D"),
        ({"dialogue": [{"role": "model", "content": "x"}]}, "alternate"),
        ({"stress": {"labels": ["constraint_trap"], "primary": "state_overwrite"}}, "primary"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_record_that_does_not_hang_together_is_named_with_its_line(tmp_path, change, problem):
    path = tmp_path / "r.jsonl"
    good = json.loads(make(2).model_dump_json())
    path.write_text(
        json.dumps(good) + "\n\n" + json.dumps(good | {"id": "s1:Finance-003"} | change)
    )
    records, bad = read_records([path])
    assert len(records) == 1
    assert (bad[0].source, bad[0].line) == ("r.jsonl", 3)
    assert problem in bad[0].problem
    with pytest.raises(DataError, match="line 3"):
        load_records(path)


def test_sound_records_have_no_critical_finding():
    report = validate([make(n) for n in range(1, 41)])
    assert report.critical == []
    assert report.records == 40
    assert sum(report.labels.values()) == 40
    assert report.evidence_sizes == {"1": 40}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"question": "Which one did we discuss last time?"}, "memory-probe"),
        ({"question": "As agreed, which barley do we take?"}, "memory-probe"),
        ({"options": {"A": "x", "B": "y", "C": "z", "D": "all of the above"}}, "catch-all"),
        (
            {
                "dialogue": [
                    {"role": ("user", "model")[n % 2], "content": "the same " * 7} for n in range(5)
                ]
            },
            "evidence",
        ),
    ],
)
def test_wording_that_breaks_the_benchmark_is_critical(change, code):
    report = validate([make(1, **change)])
    assert [finding.code for finding in report.critical] == [code]


def test_twins_are_near_duplicates_and_the_closest_pairs_are_shown():
    records = [make(n) for n in range(1, 6)]
    twin = make(9, question=records[0].question, dialogue=records[0].model_dump()["dialogue"])
    report = validate([*records, twin])
    assert {finding.code for finding in report.critical} == {"near-duplicate"}
    assert report.closest[0].value == 1
    assert (report.closest[0].one, report.closest[0].two) == ("s1:Finance-001", "s1:Finance-009")


def test_meanings_are_compared_where_there_is_an_embedder(tiny_embedder):
    records = [make(n) for n in range(1, 6)]
    report = validate(records, embedder=tiny_embedder)
    assert len(report.probes) == 7
    assert {pair.measure for pair in report.closest} >= {"dialogue: cosine", "question: cosine"}


def test_an_id_that_stands_twice_is_critical():
    report = validate([make(1), make(2, id="s1:Finance-001", answer="A")])
    assert "id" in {finding.code for finding in report.critical}


def test_probes_find_a_set_that_gives_itself_away():
    def leaky(number: int) -> Record:
        answer = letter(f"s1:Finance-{number:03d}")
        options = dict.fromkeys(LETTERS, "short one") | {
            key: f"short {key} {number}" for key in LETTERS
        }
        options[answer] = f"a much longer and oddly specific option {number}"
        return make(number, options=options, answer=answer)

    records = [leaky(n) for n in range(1, 121)]
    by_name = {probe.name: probe for probe in lexical_probes(records)}
    assert by_name["longest option"].accuracy == 1
    assert by_name["shortest option"].accuracy == 0
    assert by_name["longest option"].interval.low > 0.9
    assert any(f.code == "shortcut" for f in validate(records).warnings)


def test_ties_are_split():
    records = [make(n, options={"A": "aa", "B": "bb", "C": "cc", "D": "dd"}) for n in range(1, 41)]
    by_name = {probe.name: probe for probe in lexical_probes(records)}
    assert by_name["longest option"].accuracy == pytest.approx(0.25)


def test_lots_are_balanced_in_every_cell_and_over_all():
    total: Counter[str] = Counter()
    for split in SPLITS:
        for domain in DOMAINS:
            lots = Counter(letter(f"{split}:{domain}-{n:03d}") for n in range(1, 151))
            assert lots == quotas(split, domain)
            total += lots
    assert total == dict.fromkeys(LETTERS, 750)


def test_lots_are_those_of_the_first_drawing_tool(shared):
    """Receipts from before the command existed must stay valid."""
    import importlib.machinery
    import importlib.util

    loader = importlib.machinery.SourceFileLoader("tool", str(shared / "tools" / "draw"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("tool", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(tool)
    for split in SPLITS:
        for domain in DOMAINS:
            for number in (1, 77, 150, 151, 200, 301):
                record_id = f"{split}:{domain}-{number:03d}"
                assert letter(record_id) == tool.letter(record_id)
    record = make(4)
    assert seal_of(record) == tool.seal(record.model_dump())


def test_a_draw_is_noted_once_and_cannot_be_repeated_with_other_options(tmp_path):
    frozen = tmp_path / "frozen.jsonl"
    record = make(5)
    item = {"id": record.id, "question": record.question, "options": record.options.model_dump()}
    frozen.write_text(json.dumps(item))
    (first,) = draw(frozen, tmp_path / "draws.jsonl")
    assert draw(frozen, tmp_path / "draws.jsonl") == [first]
    assert read_ledger(tmp_path / "draws.jsonl") == [first]
    assert mismatches([record], [first]) == {}
    frozen.write_text(json.dumps(item | {"question": "Another?"}))
    with pytest.raises(DataError, match="under a new id"):
        draw(frozen, tmp_path / "draws.jsonl")
    assert read_ledger(tmp_path / "draws.jsonl") == [first]
    with pytest.raises(DataError, match="is not an id"):
        letter("s9:Finance-001")


def test_a_record_without_its_receipt_is_critical():
    record = make(6)
    good = DrawReceipt(id=record.id, seal=seal_of(record), letter=record.answer)
    other = next(key for key in LETTERS if key != record.answer)
    assert validate([record], receipts=[good]).critical == []
    renumbered = record.model_copy(update={"id": "s1:Finance-099"})
    assert validate([renumbered], receipts=[good]).critical == []
    for receipts in ([], [good.model_copy(update={"letter": other})]):
        (finding,) = validate([record], receipts=receipts).critical
        assert finding.code == "receipt"
    forged = good.model_copy(update={"letter": other})
    (finding,) = validate([record.model_copy(update={"answer": other})], receipts=[forged]).critical
    assert "a different letter from the one drawn" in finding.message


def authored(extra: int) -> list[Record]:
    return [
        make(n, split=split, domain=domain)
        for split in SPLITS
        for domain in DOMAINS
        for n in range(1, 151 + extra)
    ]


def test_a_release_is_balanced_numbered_and_fills_gaps_from_the_spares():
    records = [r for r in authored(40) if r.id not in {"s1:Finance-003", "s2:Legal-150"}]
    chosen = release(records)
    assert len(chosen) == 3000
    assert [r.id for r in chosen if r.cell == "s1:Finance"] == [
        f"s1:Finance-{n:03d}" for n in range(1, 151)
    ]
    assert Counter(r.answer for r in chosen) == dict.fromkeys(LETTERS, 750)
    report = validate(chosen[:0], release=True)
    assert len(report.critical) == 20


def test_a_release_that_is_short_says_where():
    with pytest.raises(DataError, match=r"s1:Finance has 3\d of 3\d with answer"):
        release([r for r in authored(0) if r.id != "s1:Finance-003"])


def test_calibration_grades_raw_answers_and_refuses_stale_ones():
    records = [make(n) for n in range(1, 11)]
    answers = [
        Answer(
            id=r.id,
            seal=seal_of(r),
            mode=mode,
            reader="one",
            answer=r.answer if mode == "open" or n == 0 else "ABCD"["BCDA".index(r.answer)],
            flags=("contrived",) if n == 3 and mode == "open" else (),
        )
        for mode in ("open", "closed")
        for n, r in enumerate(records)
    ]
    opened, closed = calibrate(records, answers)
    assert (opened.right, closed.right) == (10, 1)
    assert opened.flagged == {"contrived": ["s1:Finance-004"]}
    assert len(closed.wrong) == 9
    with pytest.raises(DataError, match="have it read again"):
        calibrate([make(1, question="Changed since?"), *records[1:]], answers)


def test_names_are_told_from_other_capitals():
    text = "We met Brandauer at Orrin Point. The 3kg parcel went to KX-204b on Friday. Nice!"
    assert names(text, frozenset({"point", "friday"})) == {"brandauer", "orrin", "kx-204b"}


@pytest.mark.parametrize("mark", ["'", "’"], ids=["straight", "curly"])
def test_contractions_of_i_are_no_names(mark):
    text = "so I'll go and I'd ask, I'm told I've met Ida's aunt O'Dell".replace("'", mark)
    assert names(text, frozenset()) == {"ida", f"o{mark}dell"}


@given(st.text(max_size=80))
def test_names_never_fail(text):
    names(text, frozenset())


def test_the_command_validates_any_path_and_exits_by_the_result(tmp_path):
    command = [str(Path(sys.executable).with_name("scaleqa")), "data", "validate"]
    good = write(tmp_path / "good.jsonl", [make(n) for n in range(1, 4)])
    ran = subprocess.run(
        [*command, str(good), "--no-embeddings", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    report = json.loads(ran.stdout)
    assert ran.returncode == 0
    assert {"records", "critical", "warnings", "labels", "evidence_sizes", "probes"} <= {*report}
    assert {"name", "accuracy", "interval"} <= {*report["probes"][0]}
    bad = write(tmp_path / "bad.jsonl", [make(1, question="What did I say about it?")])
    ran = subprocess.run(
        [*command, str(bad), "--no-embeddings"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "memory-probe" in ran.stdout
    ran = subprocess.run(
        [*command, str(bad), "--no-embeddings", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert len(json.loads(ran.stdout)["critical"]) == 1
