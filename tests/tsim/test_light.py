"""What is not needed is not loaded."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tsim import Memory
from tsim.embed.models import find_spec

ENCODER = {"onnx", "onnxruntime", "safetensors", "tokenizers"}
NETWORK = {"httpx", "requests", "urllib3"}
SHELL = {"pydantic", "rich", "typer"}
SERVER = {
    "anyio",
    "argon2",
    "fastapi",
    "httptools",
    "jinja2",
    "mcp",
    "prometheus_client",
    "starlette",
    "uvicorn",
}
OTHERS = {"jinja2", "pandas", "scipy", "sklearn", "spacy", "torch", "transformers", "scaleqa"}

RUN = """
import json, sys
from tsim.cli.app import main
sys.argv[:] = ["tsim", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def loaded(code: str, *arguments: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after running some code."""
    command = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return {*json.loads(ran.stderr.splitlines()[-1])}


@pytest.mark.parametrize("module", ["tsim", "tsim.embed", "tsim.presets", "tsim.store"])
def test_importing_the_engine_loads_numpy_and_little_else(module):
    code = (
        f"import json, sys, {module}\n"
        "names = sorted({name.partition('.')[0] for name in sys.modules})\n"
        "print(json.dumps(names), file=sys.stderr)"
    )
    modules = loaded(code)
    assert "numpy" in modules
    assert modules & (ENCODER | NETWORK | SHELL | OTHERS | SERVER) == set()


def test_a_client_loads_neither_an_encoder_nor_a_server():
    code = (
        "import json, sys, tsim.client\n"
        "tsim.client.Client('http://127.0.0.1:8765', key='tsim_x').thread('alice')\n"
        "names = sorted({name.partition('.')[0] for name in sys.modules})\n"
        "print(json.dumps(names), file=sys.stderr)"
    )
    modules = loaded(code)
    assert {"httpx", "pydantic"} <= modules
    assert modules & (ENCODER | OTHERS | SERVER - {"anyio"}) == set()  # which httpx needs


class Constant:
    """Vectors that cost nothing, under the name of the default model."""

    identity = find_spec("all-MiniLM-L6-v2").identity
    dimension = find_spec("all-MiniLM-L6-v2").dimension

    def embed(self, texts):
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        vectors[:, 0] = 1
        return vectors

    def embed_query(self, text):
        return self.embed([text])[0]


@pytest.fixture
def memory(tmp_path):
    path = tmp_path / "memory.db"
    with Memory.open(path, model=Constant()) as opened:
        opened.thread("alice").add("user", "one gpu")
    return path


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "search --help",
        "models list",
        "threads -m {memory}",
        "turns -m {memory} -t alice",
        "backup copy.db -m {memory}",
        "export out.jsonl -m {memory}",
        "episodes -m {memory} -t alice --model all-MiniLM-L6-v2",
        "doctor -m {memory} --model all-MiniLM-L6-v2",
        "keys create --help",
        "serve --help",
    ],
)
def test_commands_that_embed_nothing_load_no_encoder(command, memory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    modules = loaded(RUN, *command.format(memory=memory).split())
    assert modules & (ENCODER | NETWORK | OTHERS | SERVER) == set()


def test_keys_are_made_without_loading_a_server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = loaded(RUN, "keys", "create")
    assert modules & (ENCODER | NETWORK | OTHERS | SERVER) == {"argon2"}
