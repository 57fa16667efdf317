"""Tables that the real `datasets` loads from disk, and pyarrow alone: equal to what we have."""

import hashlib
import json

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet

from scaleqa.bridges.huggingface.export import export_dataset
from scaleqa.bridges.huggingface.shapes import Fields, Pairs, Several, features, shape_of
from scaleqa.bridges.huggingface.tables import PACKAGE, QUESTION, TURN, track_tables
from scaleqa.cli.app import main
from scaleqa.errors import DataError
from scaleqa.evaluate.rowfile import all_rows
from scaleqa.evaluate.rows import Row
from scaleqa.packages import Block, Package, Question, StreamTurn, write_packages
from scaleqa.records import (
    THIRD,
    Aside,
    Life,
    Record,
    Sequel,
    Wording,
    shipped,
    shipped_asides,
    shipped_sequels,
    shipped_talk,
    shipped_wordings,
)
from tests.support.bridging import Drawing, answered, two_packages

TRACKS = {
    "records": (Record, lambda: [*shipped(), *shipped(THIRD)]),
    "wordings": (Wording, shipped_wordings),
    "asides": (Aside, shipped_asides),
    "talk": (Life, shipped_talk),
    "sequels": (Sequel, shipped_sequels),
}


@pytest.fixture(scope="module")
def packages():
    return two_packages()


@pytest.fixture(scope="module")
def given(packages, tmp_path_factory):
    """Packages and a run on disk."""
    root = tmp_path_factory.mktemp("given")
    write_packages(packages, root / "packages")
    answered(packages, root / "run", Drawing())
    return {"packages": root / "packages", "run": root / "run"}


@pytest.fixture(scope="module")
def hub(given, tmp_path_factory):
    out = tmp_path_factory.mktemp("hub") / "hub"
    export_dataset(out, card="# Card\n", **given)
    return out


@pytest.fixture(scope="module")
def load(hub, tmp_path_factory):
    """Loads with the library, which may reach nobody."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
            patch.setenv(name, "1")
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("home")))
        datasets = pytest.importorskip("datasets", reason="datasets is not installed")
        datasets.disable_progress_bars()
        cache = str(tmp_path_factory.mktemp("cache"))
        yield lambda config, split, of=hub: datasets.load_dataset(
            str(of), config, split=split, cache_dir=cache
        )


def restored(value, shape):
    """The inverse of `shaped`: pairs become mappings again."""
    if value is None:
        return None
    match shape:
        case Pairs():
            return {one["key"]: restored(one["value"], shape.value) for one in value}
        case Several():
            return [restored(one, shape.item) for one in value]
        case Fields():
            return {name: restored(value[name], part) for name, part in shape.fields.items()}
    return value


@pytest.mark.parametrize("config", TRACKS)
def test_the_library_loads_what_ships(config, load):
    model, ours = TRACKS[config]
    splits = sorted({one.id.partition(":")[0] for one in ours()})
    assert splits == (["s1", "s2", "s3"] if config == "records" else ["s1", "s2"])
    for split in splits:
        loaded = load(config, split)
        expected = [one for one in ours() if one.id.startswith(f"{split}:")]
        assert [model.model_validate_json(json.dumps(one)) for one in loaded] == expected


def test_pyarrow_alone_reads_the_records(hub):
    rows = pyarrow.parquet.read_table(hub / "records" / "s2.parquet").to_pylist()
    assert rows == [one.model_dump() for one in shipped() if one.split == "s2"]


def test_packages_come_back_whole(load, packages):
    turns = [restored(one, TURN) for one in load("turns", "test")]
    questions = [restored(one, QUESTION) for one in load("questions", "test")]
    for one in (restored(row, PACKAGE) for row in load("packages", "test")):
        name, sha256 = one["name"], one["sha256"]
        again = Package(
            name=name,
            stream=tuple(StreamTurn(**fields_of(t)) for t in turns if t["package"] == name),
            questions=tuple(Question(**fields_of(q)) for q in questions if q["package"] == name),
            truth=tuple(Block(source=b["source"], turns=tuple(b["turns"])) for b in one["truth"]),
            noise=tuple(Block(source=b["source"], turns=tuple(b["turns"])) for b in one["noise"]),
            settings=json.loads(one["settings"]),
        )
        (own,) = [package for package in packages if package.name == name]
        assert again == own
        assert again.sha256 == sha256


def fields_of(row):
    """The fields of a part of a package, with tuples where it has them."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in row.items() if k != "package"}


def test_rows_come_back_whole(load, given):
    shape = shape_of(Row)
    loaded = [Row.model_validate(restored(one, shape)) for one in load("rows", "test")]
    assert loaded == all_rows(given["run"])


def test_the_card_declares_what_the_library_would_infer(hub):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    for table in track_tables():
        file = hub / table.config / f"{table.split}.parquet"
        schema = pyarrow.parquet.read_schema(file)
        inferred = datasets.Features.from_arrow_schema(schema)
        assert inferred._to_yaml_list() == features(table.shape)


def test_the_card_says_what_is_in_the_files(hub):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    card = pytest.importorskip("huggingface_hub").DatasetCard.load(hub / "README.md")
    assert card.data.license == "cc-by-4.0"
    paths = [
        (one["config_name"], file["split"], file["path"])
        for one in card.data.configs
        for file in one["data_files"]
    ]
    assert len(paths) == 15
    for config, split, path in paths:
        content = (hub / path).read_bytes()
        rows = pyarrow.parquet.read_metadata(hub / path).num_rows
        digest = hashlib.sha256(content).hexdigest()
        assert f"| `{config}` | `{split}` | {rows:,} | {len(content):,} | `{digest}` |" in card.text
    assert card.text.rstrip().endswith("# Card")
    declared = {one["config_name"]: one["splits"] for one in card.data.dataset_info}
    assert {one["name"]: one["num_examples"] for one in declared["records"]} == {
        "s1": 1500,
        "s2": 1500,
        "s3": len(shipped(THIRD)),
    }
    assert {*datasets.get_dataset_config_names(str(hub))} == {config for config, _, _ in paths}


def test_the_same_input_gives_the_same_bytes(hub, given, tmp_path):
    export_dataset(tmp_path / "again", card="# Card\n", **given)
    files = [path.relative_to(hub) for path in sorted(hub.rglob("*")) if path.is_file()]
    assert len(files) == 16
    for file in files:
        assert (tmp_path / "again" / file).read_bytes() == (hub / file).read_bytes()


def test_json_lines_load_as_parquet_does(load, given, tmp_path):
    export_dataset(tmp_path / "lines", card="", packages=given["packages"], form="jsonl")
    assert not (tmp_path / "lines" / "records").exists()
    lines = load("questions", "test", of=tmp_path / "lines")
    assert lines.to_list() == load("questions", "test").to_list()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "xml"}, "no format 'xml'"),
        ({}, "there is nothing to export"),
    ],
)
def test_nothing_is_written_if_something_is_wrong(changes, message, tmp_path):
    with pytest.raises(DataError, match=message):
        export_dataset(tmp_path / "hub", card="", **changes)
    assert [*tmp_path.iterdir()] == []


def test_what_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(DataError, match="is not an empty directory"):
        export_dataset(tmp_path, card="# Card\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_types_without_columns_are_refused():
    with pytest.raises(TypeError, match="has no columns"):
        shape_of(int | str)


def test_the_command_exports_packages_alone(given, tmp_path, monkeypatch, capsys):
    words = ["--out", str(tmp_path / "hub"), "--packages", str(given["packages"]), "--no-tracks"]
    monkeypatch.setattr("sys.argv", ["scaleqa", "export", "huggingface", *words, "--json"])
    with pytest.raises(SystemExit, match="0"):
        main()
    printed = json.loads(capsys.readouterr().out)
    assert [one["config"] for one in printed] == ["turns", "questions", "packages"]
    for one in printed:
        content = (tmp_path / "hub" / one["path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == one["sha256"]
