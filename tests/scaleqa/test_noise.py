import gzip
import json

import pytest

from scaleqa.errors import DataError
from scaleqa.noise import FORMATS, load_pool
from scaleqa.noise.pool import Bounds, is_english

ASKED = "How do I cook the rice for us?"
SAID = "With twice the water and a lid on it for about a quarter of an hour."
OTHER = {"message_id": "c", "role": "assistant", "text": "no", "rank": 1, "replies": []}
BEST = {"message_id": "b", "role": "assistant", "text": SAID, "rank": 0, "replies": []}
CHAT = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID}]
SAMPLES = {
    name: json.dumps(item)
    for name, item in {
        "authored": {"genre": "recipes", "stale": True, "turns": [ASKED, SAID]},
        "ultrachat": {"id": "1", "data": [ASKED, SAID]},
        "wildchat": {"conversation": CHAT, "language": "English", "toxic": False},
        "sharegpt": [
            {
                "conversations": [
                    {"from": "human", "value": ASKED},
                    {"from": "gpt", "value": SAID},
                ]
            }
        ],
        "oasst": {
            "prompt": {
                "message_id": "a",
                "role": "prompter",
                "text": ASKED,
                "replies": [OTHER, BEST],
            }
        },
        "sgd": {
            "turns": [
                {"speaker": "USER", "utterance": ASKED},
                {"speaker": "SYSTEM", "utterance": SAID},
            ]
        },
        "longmemeval": [{"haystack_sessions": [CHAT]}],
    }.items()
}


def test_every_format_has_a_sample():
    assert SAMPLES.keys() == FORMATS.keys()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_each_format_is_read_into_the_same_turns(tmp_path, form, packed):
    path = tmp_path / ("pool.json.gz" if packed else "pool.json")
    data = SAMPLES[form].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    (dialogue,) = load_pool(path, form).dialogues
    assert dialogue.turns == (ASKED, SAID)
    assert dialogue.stale == (form == "authored")


@pytest.mark.parametrize("form", [name for name, f in FORMATS.items() if f.lines])
def test_a_malformed_line_is_counted_with_its_number_unless_strict(tmp_path, form):
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join([SAMPLES[form], "{", '{"other": 1}', "[1]"]))
    report = load_pool(path, form).report
    assert [number for number, _ in report.malformed] == [2, 3, 4]
    assert report.kept == 1
    with pytest.raises(DataError, match="item 2: not JSON"):
        load_pool(path, form, strict=True)


def test_duplicates_other_languages_and_lengths_are_dropped_and_counted(tmp_path):
    good = ["How do I cook the rice for us?", "With twice the water and a lid on it for a while."]
    lines = [
        good,
        [good[0].upper(), good[1]],
        ["Wie koche ich den Reis?", "Mit doppelt so viel Wasser und einem Deckel, ganz langsam."],
        ["hi", "yes?"],
        ["only the user speaks here, and at some length too, for what it is worth"],
        ["is this the long one?", "and so on " * 2000],
    ]
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(json.dumps({"data": turns}) for turns in lines))
    report = load_pool(path, "ultrachat", bounds=Bounds(least_tokens=10)).report
    assert report.kept == 1
    assert report.dropped == {
        "a turn too long": 1,
        "duplicate": 1,
        "not English": 1,
        "too few turns": 1,
        "too short": 1,
    }


def test_the_hash_can_be_pinned(tmp_path):
    path = tmp_path / "pool.jsonl"
    path.write_text(SAMPLES["ultrachat"])
    found = load_pool(path, "ultrachat").report.sha256
    assert load_pool(path, "ultrachat", sha256=found).report.kept == 1
    with pytest.raises(DataError, match=f"{found}, expected {'0' * 64}"):
        load_pool(path, "ultrachat", sha256="0" * 64)


@pytest.mark.parametrize(
    ("name", "form", "least"),
    [
        ("en_100_tree.jsonl", "oasst", 80),
        ("sgd_train.jsonl.gz", "sgd", 10_000),
        ("longmemeval_oracle.json.gz", "longmemeval", 700),
    ],
)
def test_real_files_are_read(shared, name, form, least):
    pool = load_pool(shared / "data" / name, form)
    assert pool.report.malformed == ()
    assert pool.report.kept >= least
    assert all(len(dialogue.turns) >= 2 for dialogue in pool.dialogues)


def test_english_is_told_from_other_languages():
    assert is_english("Could you tell me what the weather is going to be like in the morning?")
    assert not is_english("Kannst du mir sagen, wie das Wetter morgen früh wird?")
    assert not is_english("¿Puedes decirme qué tiempo hará mañana por la mañana?")
    assert not is_english("")
