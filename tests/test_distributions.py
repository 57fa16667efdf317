"""The two distributions: what is in them, and that each works where it is installed."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import scaleqa
import tsim
from tests.conftest import ROOT

# The folder with the pyproject.toml of each distribution, and its import package.
FOLDERS = {"tsim_memory": ROOT, "scaleqa": ROOT / "src" / "scaleqa"}
PACKAGES = {"tsim_memory": "tsim", "scaleqa": "scaleqa"}
NAMES = sorted(FOLDERS)
# What a folder has for building it, and not for running it.
FOR_BUILDING = {"LICENSE", "README.md", "pyproject.toml"}


def project(name: str) -> dict:
    return tomllib.loads((FOLDERS[name] / "pyproject.toml").read_text("utf-8"))["project"]


def build(folder: Path, out: Path, *targets: str) -> None:
    pytest.importorskip("hatchling", reason="hatchling builds the distributions: scaleqa[dev]")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
    ran = subprocess.run([*command, *targets], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def wheel(directory: Path, name: str) -> Path:
    (found,) = directory.glob(f"{name}-*.whl")
    return found


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    for folder in FOLDERS.values():
        build(folder, out)
    return out


def test_versions_and_licences_are_in_step():
    assert tsim.__version__ == scaleqa.__version__
    assert f"tsim-memory=={tsim.__version__}" in project("scaleqa")["dependencies"]
    licence = (ROOT / "LICENSE").read_bytes()
    assert (FOLDERS["scaleqa"] / "LICENSE").read_bytes() == licence


def test_the_engine_needs_neither_the_benchmark_nor_what_only_it_uses():
    names = {line.partition(">")[0] for line in project("tsim_memory")["dependencies"]}
    assert "onnxruntime" in names
    assert names & {"scaleqa", "jinja2", "torch", "scipy", "scikit-learn", "spacy"} == set()
    assert [*project("tsim_memory")["scripts"]] == ["tsim"]
    assert [*project("scaleqa")["scripts"]] == ["scaleqa"]


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_holds_its_package_and_nothing_else(built, name):
    package = ROOT / "src" / PACKAGES[name]
    files = {
        path.relative_to(ROOT / "src").as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    files -= {f"{PACKAGES[name]}/{file}" for file in FOR_BUILDING}
    with zipfile.ZipFile(wheel(built, name)) as archive:
        held = {file for file in archive.namelist() if ".dist-info/" not in file}
        (metadata,) = (f for f in archive.namelist() if f.endswith(".dist-info/METADATA"))
        described = Parser().parsestr(archive.read(metadata).decode())
        assert any(file.endswith("licenses/LICENSE") for file in archive.namelist())
    assert held == files
    assert described["Version"] == tsim.__version__
    assert described.get_payload().startswith("# ")


@pytest.mark.parametrize("name", NAMES)
def test_a_source_archive_builds_the_same_wheel(built, name, tmp_path):
    (archive,) = built.glob(f"{name}-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    build(unpacked, tmp_path / "again", "--target", "wheel")
    assert wheel(tmp_path / "again", name).read_bytes() == wheel(built, name).read_bytes()


class Installed:
    """A fresh environment; what our packages depend on is borrowed from this one.

    A directory on PYTHONPATH lends its packages but not its editable installs.
    """

    def __init__(self, directory: Path, **variables: str) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
        self.bin = directory / "bin"
        self.env = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), **variables}
        self.directory = directory

    def install(self, path: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install"]
        subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", str(path)], check=True)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / program, *arguments],
            capture_output=True,
            text=True,
            env=self.env,
            cwd=self.directory,
            check=False,
        )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="programs are elsewhere in other environments")
def test_the_engine_works_without_the_benchmark_and_the_benchmark_with_it(built, tiny, tmp_path):
    cache = str(tmp_path / "cache")
    fresh = Installed(tmp_path / "venv", TSIM_CACHE=cache, TSIM_MODEL=str(tiny))
    fresh.install(wheel(built, "tsim_memory"))
    where = fresh.run("python", "-c", "import tsim; print(tsim.__file__)").stdout
    assert where.startswith(str(tmp_path))
    assert fresh.run("tsim", "--help").returncode == 0
    chat = tmp_path / "chat.jsonl"
    chat.write_text(json.dumps({"role": "user", "text": "only one gpu for new projects"}))
    assert fresh.run("tsim", "add", str(chat)).returncode == 0
    found = fresh.run("tsim", "search", "how many gpu", "--min-relevance", "0", "--json")
    assert "one gpu" in json.loads(found.stdout)[0]["turns"][0]["text"]
    absent = fresh.run("python", "-c", "import scaleqa")
    assert absent.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'scaleqa'"

    fresh.install(wheel(built, "scaleqa"))
    listed = fresh.run("scaleqa", "systems", "--json")
    assert "packed_turns" in {system["name"] for system in json.loads(listed.stdout)}
    kept = tmp_path / "cache" / "models" / "smollm2-135m" / "model.gguf"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"weights")
    cached = json.loads(fresh.run("tsim", "cache", "--json").stdout)
    assert str(kept.parent) in [entry["path"] for entry in cached["entries"]]
    package = ("scaleqa", "build", "--target", "0", "--subset", "2", "--out", "package")
    assert fresh.run(*package).returncode == 0
