import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tsim import Memory, environment
from tsim.embed.models import KNOWN, find_spec
from tsim.weights import model_dir


def tsim(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("tsim")), *arguments]
    env = {**os.environ, **environ}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_list_tells_what_is_known_and_what_is_here(tmp_path):
    ran = tsim("models", "list", "--json", TSIM_CACHE=str(tmp_path))
    rows = json.loads(ran.stdout)
    assert ran.returncode == 0
    assert {row["name"]: row["fetched"] for row in rows} == {
        "mpnet+gte": False,
        "minilm+gte": False,
        "all-MiniLM-L6-v2": False,
        "all-mpnet-base-v2": False,
        "gte-small": False,
        "multilingual-e5-small-q4": False,
        "multilingual-e5-small": False,
        "bge-small-en-v1.5": False,
        "bge-base-en-v1.5": False,
        "bge-large-en-v1.5": False,
    }


def test_joined_models_are_fetched_one_by_one(tmp_path):
    here = model_dir(environment.cache_dir(), find_spec("gte-small"))
    if not here.is_dir():
        pytest.skip("the weights of gte-small are not here; run: tsim models fetch gte-small")
    ran = tsim("models", "path", "minilm+gte", "--json")
    assert [row["name"] for row in json.loads(ran.stdout)] == ["all-MiniLM-L6-v2", "gte-small"]
    assert str(here) in ran.stdout
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "all-MiniLM-L6-v2").symlink_to(here.parent / "all-MiniLM-L6-v2")
    ran = tsim("models", "fetch", "minilm+gte", TSIM_CACHE=str(tmp_path), TSIM_OFFLINE="1")
    assert ran.returncode == 1
    assert "tsim models fetch gte-small" in ran.stderr


def test_names_are_whole_on_a_narrow_terminal(tmp_path):
    ran = tsim("models", "list", TSIM_CACHE=str(tmp_path), COLUMNS="80")
    assert all(spec.name in ran.stdout for spec in KNOWN)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "gte-small"])
def test_offline_without_weights_fails_with_the_command_to_run(tmp_path, name):
    ran = tsim("models", "fetch", name, TSIM_CACHE=str(tmp_path), TSIM_OFFLINE="1")
    assert ran.returncode == 1
    assert f"tsim models fetch {name}" in ran.stderr
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr


def test_without_a_name_the_default_model_is_meant(tmp_path):
    ran = tsim("models", "fetch", TSIM_CACHE=str(tmp_path), TSIM_OFFLINE="1", TSIM_MODEL="")
    assert "tsim models fetch all-mpnet-base-v2" in ran.stderr  # the first of two


def test_what_was_written_with_another_model_goes_on_with_it(tmp_path, minilm):
    """Exports and damaged files name their model, which need not be the default."""
    path, new = tmp_path / "memory.db", tmp_path / "new.db"
    with Memory.open(path, model=minilm) as memory:
        memory.thread("a").add_many([("user", f"Boat {n} is in the harbour.") for n in range(9)])
    export = tmp_path / "memory.jsonl"
    assert tsim("export", str(export), "-m", str(path), TSIM_MODEL="").returncode == 0
    ran = tsim("import", str(export), "-m", str(new), TSIM_MODEL="")
    assert ran.returncode == 0, ran.stderr
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turn SET text = 'forged' WHERE key & 4294967295 = 3")
    ran = tsim("doctor", "--repair", "-m", str(path), TSIM_MODEL="")
    assert "lost turns of 'a': 3" in ran.stderr
    for file in (path, new):
        with Memory.open(file, model=minilm) as memory:
            assert memory.model == minilm.identity


def test_unreachable_sources_are_all_named(tmp_path):
    nowhere = "http://127.0.0.1:9"
    places = {"npm_config_registry": nowhere, "HF_ENDPOINT": nowhere}
    ran = tsim("models", "fetch", "gte-small", TSIM_CACHE=str(tmp_path), TSIM_OFFLINE="", **places)
    assert ran.returncode == 1
    assert "npm_config_registry" in ran.stderr
    assert "HF_ENDPOINT" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_failure_is_json_too(tmp_path):
    ran = tsim("models", "path", "--json", TSIM_CACHE=str(tmp_path))
    assert ran.returncode == 1
    error = json.loads(ran.stdout)["error"]
    assert error["kind"] == "weights_missing"
    assert "tsim models fetch" in error["message"]


def test_wrong_usage_exits_with_two():
    assert tsim("models", "nonsense").returncode == 2


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "gte-small"])
def test_fetched_weights_verify_and_a_repeated_fetch_is_offline(name):
    if not model_dir(environment.cache_dir(), find_spec(name)).is_dir():
        pytest.skip(f"the weights of {name} are not here; run: tsim models fetch {name}")
    assert tsim("models", "verify", name).returncode == 0
    assert tsim("models", "fetch", name, TSIM_OFFLINE="1").returncode == 0
