import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tsim import environment
from tsim.embed.models import find_spec
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
        "all-MiniLM-L6-v2": False,
        "bge-small-en-v1.5": False,
        "bge-base-en-v1.5": False,
        "bge-large-en-v1.5": False,
    }


def test_offline_without_weights_fails_with_the_command_to_run(tmp_path):
    ran = tsim("models", "fetch", TSIM_CACHE=str(tmp_path), TSIM_OFFLINE="1")
    assert ran.returncode == 1
    assert "tsim models fetch all-MiniLM-L6-v2" in ran.stderr
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr


def test_a_failure_is_json_too(tmp_path):
    ran = tsim("models", "path", "--json", TSIM_CACHE=str(tmp_path))
    assert ran.returncode == 1
    error = json.loads(ran.stdout)["error"]
    assert error["kind"] == "weights_missing"
    assert "tsim models fetch" in error["message"]


def test_wrong_usage_exits_with_two():
    assert tsim("models", "nonsense").returncode == 2


def test_fetched_weights_verify_and_a_repeated_fetch_is_offline():
    if not model_dir(environment.cache_dir(), find_spec("all-MiniLM-L6-v2")).is_dir():
        pytest.skip("the MiniLM weights are not here; run: tsim models fetch")
    assert tsim("models", "verify").returncode == 0
    assert tsim("models", "fetch", TSIM_OFFLINE="1").returncode == 0
