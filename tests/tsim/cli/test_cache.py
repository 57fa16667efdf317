import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tsim.embed.models import find_spec
from tsim.weights import model_dir

OURS = {
    "graphs/all-MiniLM-L6-v2-opset17.onnx": 30,
    "embeddings.db": 7,
    "embeddings.db-wal": 3,
    "replies.db": 5,
    "models/.fetch-x1/model/part": 2,
}
NOT_OURS = [
    "notes.txt",
    "graphs/mine.onnx",
    "models/my-own-model/model.safetensors",
    "models/all-MiniLM-L6-v2/my-notes.txt",
    "embeddings.db.old",
]


@pytest.fixture
def cache(tmp_path) -> Path:
    cache = tmp_path / "cache"
    spec = find_spec("all-MiniLM-L6-v2")
    weights = [model_dir(cache, spec) / file.path for file in spec.files]
    ours = {**{cache / name: size for name, size in OURS.items()}, **dict.fromkeys(weights, 1)}
    for path, size in {**ours, **{cache / name: 11 for name in NOT_OURS}}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"." * size)
    return cache


def tsim(
    cache: Path, *arguments: str, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from tsim.cli.app import main; main()", *arguments]
    env = {**os.environ, "TSIM_CACHE": str(cache)}
    return subprocess.run(
        command, capture_output=True, text=True, env=env, stdin=stdin, check=False
    )


def files(cache: Path) -> list[str]:
    return sorted(str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file())


def test_the_cache_is_shown_with_what_where_and_size(cache):
    before = files(cache)
    shown = json.loads(tsim(cache, "cache", "--json").stdout)
    assert shown["path"] == str(cache)
    sizes = {Path(one["path"]).name: one["bytes"] for one in shown["entries"]}
    count = len(find_spec("all-MiniLM-L6-v2").files)
    assert sizes == {
        "all-MiniLM-L6-v2": count,
        "models": 2,
        "graphs": 30,
        "embeddings.db": 10,
        "replies.db": 5,
    }
    table = tsim(cache, "cache").stdout
    assert all(one["what"] in table for one in shown["entries"])
    assert files(cache) == before


def test_clearing_removes_what_is_ours_and_leaves_the_rest(cache):
    ran = tsim(cache, "cache", "clear", "--yes")
    assert ran.returncode == 0, ran.stderr
    assert files(cache) == sorted(NOT_OURS)
    assert json.loads(tsim(cache, "cache", "--json").stdout)["entries"] == []
    assert tsim(cache, "cache", "clear").returncode == 0


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_without_confirmation_nothing_is_removed(cache, option):
    before = files(cache)
    ran = tsim(cache, "cache", "clear", *option)
    assert ran.returncode == 1
    assert "--yes" in ran.stderr + ran.stdout
    assert files(cache) == before


def test_a_missing_cache_is_empty(tmp_path):
    ran = tsim(tmp_path / "nowhere", "cache", "clear", "--json")
    assert json.loads(ran.stdout)["removed"] == []
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_at_a_terminal_the_user_is_asked(cache, answer, code):
    before = files(cache)
    ours, theirs = os.openpty()
    os.write(ours, f"{answer}\n".encode())
    ran = tsim(cache, "cache", "clear", stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert ran.returncode == code, ran.stderr
    assert f"from {cache}?" in ran.stdout
    assert files(cache) == (before if code else sorted(NOT_OURS))
