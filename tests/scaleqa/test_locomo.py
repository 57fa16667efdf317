"""LoCoMo in its published form: flat threads, and what becomes of every evidence string."""

import gzip
import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.datasets import open_dataset, open_threads
from scaleqa.datasets.locomo import DATASET, resolve
from scaleqa.errors import DataError


def turn(name, speaker, text, **more):
    return {"speaker": speaker, "dia_id": name, "text": text, **more}


def asked(question, evidence, category=4, **more):
    return {"question": question, "evidence": evidence, "category": category, **more}


def conversation(name="conv-1", **changes):
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_10_date_time": "4 pm on 2 May, 2023",
            "session_10": [turn("D10:1", "Bo", "I sold the boat."), turn("D10:2", "Ann", "Sad!")],
            "session_2_date_time": "1 pm on 8 May, 2022",
            "session_2": [
                turn("D2:1", "Bo", "I bought a boat."),
                turn("D2:2", "Ann", "Look!", blip_caption="a photo of a dog", img_url=["u"]),
                turn("D2:3", "Bo", "Nice dog."),
            ],
            "session_11_date_time": "5 pm on 3 May, 2023",
        },
        "qa": [
            asked("When was the boat sold?", ["D10:1"], 2, answer=2023),
            asked("What did Bo own?", ["D2:1; D10:1", "D10:1"], 1, answer="a boat"),
            asked("Would Bo sail?", [], 3, answer="no"),
            asked("What does Ann have?", ["D2:2", "D", "D2:9"], answer="a dog"),
            asked("Who laughed?", ["D2:03"], answer="nobody"),
            asked("When did Ann sink?", ["D2:1"], 5, adversarial_answer="May"),
        ],
        "event_summary": {},
        **changes,
    }


@pytest.fixture
def published(tmp_path):
    def write(*conversations, name="locomo10.json"):
        content = json.dumps(conversations).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def threads(path, **options):
    return DATASET.open({"file": str(path), **options}).threads()


def listed(name, question, evidence, kind="HALLUCINATION", answer="a raft"):
    return {
        "question_id": name,
        "question": question,
        "golden_answer": "x",
        "category": 1,
        "error_type": kind,
        "cited_evidence": [],
        "correct_evidence": evidence,
        "reasoning": "…",
        "correct_answer": answer,
    }


ERRORS = [
    listed("locomo_0_qa0", "When was the boat sold?", ["D2:3"], "WRONG_CITATION", "2023"),
    listed("locomo_0_qa1", "What did Bo own?", []),
]


def test_sessions_are_one_thread_in_the_order_of_their_numbers(published):
    (package,) = threads(published(conversation()))
    assert [(one.role, one.text) for one in package.stream] == [
        ("user", "I bought a boat."),
        ("model", "Look! [shares a photo of a dog]"),
        ("user", "Nice dog."),
        ("user", "I sold the boat."),
        ("model", "Sad!"),
    ]
    assert package.name == "conv-1"
    assert package.dialogues == ((0, 1, 2), (3, 4))


def test_questions_keep_category_answer_and_evidence_turns(published):
    (package,) = threads(published(conversation()))
    assert [(q.id, q.domain, q.answer, q.evidence, q.grader) for q in package.questions] == [
        ("conv-1:1", "temporal", "2023", (3,), "judge"),
        ("conv-1:2", "multi-hop", "a boat", (0, 3), "judge"),
        ("conv-1:4", "single-hop", "a dog", (1,), "judge"),
    ]


def test_what_is_left_out_is_counted_over_all_conversations(published):
    both = threads(published(conversation(), conversation("conv-2")))
    assert [package.settings["left_out"] for package in both] == 2 * [
        {
            "abstentions": 2,
            "unmarked": 4,
            "evidence": [f"conv-{n} {name}" for n in (1, 2) for name in ("D", "D2:9", "D2:03")],
        }
    ]
    assert len({question.id for package in both for question in package.questions}) == 6


def test_adversarial_questions_are_absent_ones_if_asked_for(published):
    path = published(conversation())
    (plain,), (package,) = threads(path), threads(path, abstention="true")
    assert package.questions[:-1] == plain.questions
    asked = package.questions[-1]
    assert (asked.id, asked.domain, asked.stress, asked.evidence) == (
        "conv-1:6", "adversarial", ("absent",), ()
    )  # fmt: skip
    assert asked.answer == "Not mentioned in the conversation"
    assert package.settings["left_out"]["abstentions"] == 0
    assert (package.stream, package.dialogues) == (plain.stream, plain.dialogues)


def test_listed_errors_are_left_out_or_corrected_and_counted(published, tmp_path):
    path, errors = published(conversation()), tmp_path / "errors.json"
    errors.write_text(json.dumps(ERRORS))
    (plain,), (dropped,), (mended,) = (
        threads(path), threads(path, errors=str(errors)),
        threads(path, errors=str(errors), mend="correct"),
    )  # fmt: skip
    assert [q.id for q in dropped.questions] == ["conv-1:4"]
    assert [(q.id, q.answer, q.evidence) for q in mended.questions] == [
        ("conv-1:1", "2023", (2,)), ("conv-1:4", "a dog", (1,))
    ]  # fmt: skip
    assert mended.settings["left_out"]["unmarked"] == 3, "one has no correct evidence either"
    for package, mend in ((dropped, "drop"), (mended, "correct")):
        assert package.stream == plain.stream
        assert package.settings["errors"]["listed"] == {"HALLUCINATION": 1, "WRONG_CITATION": 1}
        assert (package.settings["errors"]["mend"], package.settings["errors"]["mended"]) == (
            mend, 2
        )  # fmt: skip
    assert "errors" not in plain.settings


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ([listed("locomo_0_qa0", "What?", [])], "lists locomo_0_qa0 as 'What\\?'.* has 'When was"),
        ([listed("locomo_3_qa0", "What?", [])], "has None there"),
        ([listed("qa0", "What?", [])], r"0\.question_id: String should match"),
        ([ERRORS[0], ERRORS[0]], "lists locomo_0_qa0 twice"),
        ([{}], "not the LoCoMo audit as published"),
    ],
)
def test_a_list_of_errors_must_be_about_the_same_file(published, tmp_path, errors, message):
    path = tmp_path / "errors.json"
    path.write_text(json.dumps(errors))
    with pytest.raises(DataError, match=message):
        threads(published(conversation()), errors=str(path))


@pytest.mark.parametrize(
    ("strings", "turns", "dropped"),
    [
        (["D1:1", "D1:2"], (0, 1), ()),
        (["D1:2 D1:1"], (0, 1), ()),
        (["D1:2; D1:1"], (0, 1), ()),
        (["D1:1", "D1:1"], (0,), ()),
        (["D1:3"], (), ("D1:3",)),
        (["D1:01"], (), ("D1:01",)),
        (["D:1:1"], (), ("D:1:1",)),
        (["D"], (), ("D",)),
        ([], (), ()),
    ],
)
def test_evidence_is_read_as_published(strings, turns, dropped):
    found = resolve(strings, {"D1:1": 0, "D1:2": 1})
    assert (found.turns, found.dropped) == (turns, dropped)


def test_the_hash_is_that_of_the_plain_file(published):
    plain = threads(published(conversation()))
    assert threads(published(conversation(), name="locomo10.json.gz")) == plain
    assert len(plain[0].settings["records_sha256"]) == 64


def test_files_of_another_form_are_refused(published, tmp_path):
    with pytest.raises(DataError, match=r"expected LoCoMo's locomo10\.json, plain or \.gz"):
        threads(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"not LoCoMo as published: 0\.sample_id: Field required"):
        threads(published({"qa": []}))
    with pytest.raises(DataError, match="it holds no conversation"):
        threads(published())
    with pytest.raises(DataError, match=r"0\.qa\.0\.category"):
        threads(published(conversation(qa=[asked("Why?", ["D2:1"], 6)])))
    twice = published(conversation(), conversation())
    with pytest.raises(DataError, match="2 packages are called 'conv-1'"):
        open_threads(f"locomo:file={twice}")
    with pytest.raises(DataError, match="file"):
        open_dataset("locomo")


def test_retrieval_runs_and_its_page_says_what_is_left_out(published, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    path = published(conversation())
    ran = CliRunner().invoke(
        app,
        ["retrieve", f"locomo:file={path}", "--system", "oracle,packed_turns:budget=10", "--json",
         "--model", str(tiny), "--table", str(tmp_path / "page.md")],
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert [(one["questions"], one["track"]) for one in found] == [(3, None), (3, None)]
    assert found[0]["in_context"]["value"] == 1
    page = (tmp_path / "page.md").read_text("utf-8")
    assert page.startswith("# LoCoMo\n")
    assert "1 questions that are not to be answered, 2 without marked evidence" in page
    assert "evidence that names no turn: conv-1 D, conv-1 D2:9, conv-1 D2:03" in page
    assert "by type of question" in page


def test_the_published_file_gives_1535_questions(shared):
    path = shared / "data" / "locomo10.json"
    if not path.is_file():
        pytest.skip(f"LoCoMo is not at {path}")
    packages = open_threads(f"locomo:file={path}")
    domains = Counter(q.domain for package in packages for q in package.questions)
    assert domains == {"single-hop": 841, "temporal": 320, "multi-hop": 282, "open-domain": 92}
    assert domains.total() == 1535
    assert sum(len(package.stream) for package in packages) == 5882
    assert packages[0].settings["left_out"] == {
        "abstentions": 446,
        "unmarked": 5,
        "evidence": [
            "conv-42 D10:19", "conv-42 D", "conv-43 D:11:26", "conv-47 D4:36", "conv-50 D30:05"
        ],
    }  # fmt: skip
