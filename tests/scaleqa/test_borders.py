"""Files from elsewhere: packages, rows and corpora are used as they should be, or refused."""

import gzip
import hashlib
import json
import shutil

import pytest

from scaleqa.datasets import open_threads, published
from scaleqa.errors import DataError
from scaleqa.evaluate.imported import import_batch
from scaleqa.evaluate.rowfile import all_rows, row_path
from scaleqa.judges.letter import letter_of
from scaleqa.lengths import parse_target
from scaleqa.noise import load_pool, pool
from scaleqa.packages import build, load_packages, write_packages
from scaleqa.records.authored import read_authored
from scaleqa.records.draw import letter
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import row

DEEP = "[" * 100_000
SURROGATE = '"\\ud800"'


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A package that can be measured on."""
    out = tmp_path_factory.mktemp("packages") / "some"
    write_packages(build(RECORDS[:4], NOISE, settings_of(3000)), out)
    (directory,) = out.iterdir()
    return directory


@pytest.fixture
def package(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "package")


def rewrite(package, name, change):
    """Changes a file of a package, and its hash in the manifest, as an attacker would."""
    file = package / name
    file.write_bytes(change(file.read_bytes()))
    manifest = json.loads((package / "manifest.json").read_bytes())
    manifest["sha256"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
    (package / "manifest.json").write_text(json.dumps(manifest))


def with_fields(number=0, **fields):
    """Changes fields of one line."""

    def change(content):
        lines = content.splitlines()
        lines[number] = json.dumps({**json.loads(lines[number]), **fields}).encode()
        return b"\n".join(lines)

    return change


@pytest.mark.parametrize(
    "name",
    ["../../x", "..", "/tmp/x", "a/b", "", ".hidden", "a\nb", "x" * 101, 7, None, ["x"], "a\x00"],
)
def test_the_name_of_a_package_leads_nowhere_else(package, name):
    manifest = json.loads((package / "manifest.json").read_bytes())
    (package / "manifest.json").write_text(json.dumps({**manifest, "name": name}))
    with pytest.raises(DataError, match="name"):
        load_packages(package)


@pytest.mark.parametrize("name", ["../x", "..", "a/b", "", "x\x00", "\n"])
def test_rows_have_a_place_below_the_directory_or_none(tmp_path, name):
    with pytest.raises(DataError, match="have no place"):
        row_path(tmp_path, "tsim", name)
    for system in ("..", ".", ""):
        with pytest.raises(DataError, match="have no place"):
            row_path(tmp_path, system, "one")
    assert row_path(tmp_path, "../my.py:make", "one").parent.parent == tmp_path


def test_rows_of_a_batch_are_not_written_elsewhere(tmp_path, tiny_embedder):
    asked = row().model_dump(mode="json", exclude_none=True)
    asked["run"]["package"] = "../../stolen"
    (tmp_path / "in").mkdir()
    prompts = tmp_path / "in" / "p.jsonl"
    line = {"custom_id": "1", "row": asked}
    (tmp_path / "in" / "p.rows.jsonl").write_text(json.dumps(line) + "\n")
    body = {"choices": [{"message": {"content": "ANSWER: A"}}]}
    answer = {"custom_id": "1", "response": {"status_code": 200, "body": body}}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    with pytest.raises(DataError, match="have no place below"):
        import_batch(prompts, [tmp_path / "answers.jsonl"], tmp_path / "a" / "b", tiny_embedder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "in"]


STREAM, QUERIES, TRUTH = "stream.jsonl", "EVALUATION_QUERIES.jsonl", "GROUND_TRUTH_HISTORY.jsonl"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (STREAM, with_fields(text=7)),
        (STREAM, with_fields(text=None)),
        (STREAM, with_fields(role=["user"])),
        (STREAM, with_fields(role=" ")),
        (STREAM, with_fields(id="0")),
        (STREAM, with_fields(id=-1)),
        (STREAM, with_fields(at="noon")),
        (STREAM, with_fields(at=float("nan"))),
        (STREAM, with_fields(more=1)),
        (STREAM, lambda content: b"[]\n" + content),
        (STREAM, lambda content: DEEP.encode()),
        (STREAM, lambda content: SURROGATE.encode()),
        (STREAM, lambda content: content[:-20]),
        (STREAM, lambda content: b"\xff\xfe" + content),
        (STREAM, lambda content: b""),
        (STREAM, lambda content: b"\n"),
        (QUERIES, with_fields(evidence=[10**9])),
        (QUERIES, with_fields(evidence=[-1])),
        (QUERIES, with_fields(evidence="0")),
        (QUERIES, with_fields(evidence=[[0]])),
        (QUERIES, with_fields(options={})),
        (QUERIES, with_fields(options=["a", "b"])),
        (QUERIES, with_fields(options={"A": 1})),
        (QUERIES, with_fields(options={"A": "x", "a": "y"}, answer="A")),
        (QUERIES, with_fields(options={"]": "x"}, answer="]")),
        (QUERIES, with_fields(question=None)),
        (QUERIES, with_fields(id=3)),
        (QUERIES, with_fields(stress="all")),
        (TRUTH, with_fields(turns=[10**9])),
        (TRUTH, with_fields(turns=5)),
        (TRUTH, with_fields(source=None)),
        ("NOISE.jsonl", with_fields(turns=[-1])),
    ],
)
def test_a_malformed_package_is_refused_by_name(package, name, change):
    rewrite(package, name, change)
    with pytest.raises(DataError) as refused:
        load_packages(package)
    assert str(package) in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": None},
        {"settings": []},
        {"settings": {"target": "16k"}},
        {"settings": {"dataset": 3}},
        {"settings": {"records_sha256": ["x"]}},
        {"sha256": None},
        {"sha256": {}},
        {"sha256": {"../../../etc/hostname": "x"}},
        {"sha256": {"stream.jsonl": 5}},
    ],
)
def test_a_malformed_manifest_is_refused(package, change):
    manifest = json.loads((package / "manifest.json").read_bytes())
    (package / "manifest.json").write_text(json.dumps({**manifest, **change}))
    with pytest.raises(DataError, match=r"manifest\.json"):
        load_packages(package)


@pytest.mark.parametrize("content", ["", "{", "7", DEEP, SURROGATE, '{"name": 1}', "null"])
def test_a_manifest_that_is_none_is_refused(package, content):
    (package / "manifest.json").write_text(content)
    with pytest.raises(DataError, match="is damaged"):
        load_packages(package)


def test_what_was_written_is_read_back(whole):
    (package,) = load_packages(whole)
    (built,) = build(RECORDS[:4], NOISE, settings_of(3000))
    assert package == built


@pytest.mark.parametrize("line", [DEEP, SURROGATE, "7", "{}", '{"run": 3}', '{"version": 2}'])
def test_rows_that_are_none_are_refused(tmp_path, line):
    (tmp_path / "one.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=r"one\.jsonl, line 1"):
        all_rows(tmp_path)


@pytest.mark.parametrize("form", ["authored", "ultrachat", "wildchat", "sharegpt", "oasst", "sgd"])
@pytest.mark.parametrize(
    "item",
    [
        DEEP,
        '{"turns": ["\\ud800", "b"], "genre": "x"}',
        '{"turns": [null, 7], "genre": "x", "data": [null], "conversation": [{"role": "user", '
        '"content": null}], "conversations": [{"from": "human", "value": 3}], "prompt": {"role": '
        '"prompter", "text": {}}}',
        '{"turns": 7, "genre": 1, "data": 7, "conversation": 7, "conversations": [7], "prompt": 7}',
        '{"turns": [7], "prompt": {"role": [], "text": "x", "replies": {"a": 1}}}',
    ],
)
def test_items_of_noise_that_cannot_be_read_are_counted(tmp_path, form, item):
    file = tmp_path / "noise"
    file.write_text(f"[{item}]" if form == "sharegpt" else item)
    pool = load_pool(file, form)
    assert not pool.dialogues
    assert [number for number, _ in pool.report.malformed] == [1]
    with pytest.raises(DataError, match="item 1"):
        load_pool(file, form, strict=True)


PACKED = gzip.compress(b'{"turns": ["a", "b"], "genre": "x"}\n' * 100, mtime=0)


# Named: test workers must agree on every id, and a gzip file's bytes hold the time it was made.
@pytest.mark.parametrize(
    "content",
    [b"plain", PACKED[:-30], PACKED[:12] + b"\xff" * 40],
    ids=["plain", "incomplete", "garbled"],
)
def test_damaged_gzip_files_are_refused(tmp_path, content):
    file = tmp_path / "noise.gz"
    file.write_bytes(content)
    with pytest.raises(DataError, match="gzip file is damaged or incomplete"):
        load_pool(file, "authored")
    (tmp_path / "set.json.gz").write_bytes(b"\x1f\x8b" + content[2:])
    for spec in (f"longmemeval:file={tmp_path / 'set.json.gz'}", f"locomo:file={file}"):
        with pytest.raises(DataError, match="as published"):
            open_threads(spec)


def test_gzipped_files_unpack_to_no_more_than_expected(tmp_path, monkeypatch):
    for module in (published, pool):
        assert module.MOST_BYTES == 1 << 32
        monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    file = tmp_path / "bomb.json.gz"
    for content in (b" " * 110_000, b"[" + b'"x", ' * 30_000):
        file.write_bytes(gzip.compress(content))
        for form in ("authored", "sharegpt"):  # lines, and one document
            with pytest.raises(
                DataError, match=r"bomb\.json\.gz.*unpacks to more than 100,000 bytes"
            ):
                load_pool(file, form)
        for name in ("longmemeval", "locomo"):
            with pytest.raises(DataError, match="unpacks to more than 100,000 bytes"):
                open_threads(f"{name}:file={file}")


def test_keys_of_authors_lead_nowhere_else(tmp_path):
    (tmp_path / "w1" / "out").mkdir(parents=True)
    lives = tmp_path / "talk" / "lives.jsonl"
    lives.parent.mkdir()
    turns = [{"speaker": "user", "text": "one"}, {"speaker": "model", "text": "two"}]
    asked = {
        "id": "s1:Talk-01-01", "question": "q", "answer": "a", "evidence": [[0, 0]],
        "wording": "plain",
    }  # fmt: skip
    life = {
        "id": "s1:Talk-01", "split": "s1", "kind": "assistant", "speakers": ["user", "model"],
        "sessions": [turns], "questions": [asked],
    }  # fmt: skip
    lives.write_text(json.dumps(life) + "\n")
    read_authored(tmp_path, RECORDS)
    (tmp_path / "key.json").write_text(json.dumps({"../../r/01": {"questions": []}}))
    with pytest.raises(DataError, match="is not READER/NN"):
        read_authored(tmp_path, RECORDS)


def test_ids_with_endless_numbers_are_no_ids():
    with pytest.raises(DataError, match="is not an id"):
        letter(f"s1:Legal-{'1' * 5000}")


def test_lengths_have_an_end():
    with pytest.raises(DataError, match="is no length"):
        parse_target("9" * 5000)


def test_letters_that_match_without_case_only_are_no_answer():
    assert letter_of("ANSWER: i", "\u0130B") is None
    assert letter_of("ANSWER: b", "\u0130B") == "B"
