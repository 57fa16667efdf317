"""Products: declared, installed in environments of their own, and spoken to there."""

import json
import os
import re
import subprocess
import sys
import textwrap
import time
import zipfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa import products
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.products import Product
from scaleqa.products.environment import MARK
from scaleqa.products.product import ADAPTERS, read_product
from scaleqa.systems import Kind, Tools, find_system, open_system, ordered, with_budget
from scaleqa.testing import WordEmbedder
from scaleqa.testing.thread import ASKED, THREAD
from tsim import environment

NAMES = products.product_names()
REAL = [name for name in NAMES if products.find_product(name).requirements]
# Those that can do something without a language model.
ALONE = [
    name
    for name in REAL
    if not products.find_product(name).modes
    or {*products.find_product(name).modes} - {*products.find_product(name).needs_model}
]
# Not on any index: tests offer it from a directory.
FAKE = "scaleqa-fake-product"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A product with the adapter of the example, and a distribution that pip finds nearby."""
    offered = tmp_path / "wheels"
    offered.mkdir()
    about = f"Metadata-Version: 2.1\nName: {FAKE}\nVersion: 1.5\n"
    with zipfile.ZipFile(offered / f"{FAKE.replace('-', '_')}-1.5-py3-none-any.whl", "w") as wheel:
        folder = f"{FAKE.replace('-', '_')}-1.5.dist-info"
        wheel.writestr("scaleqa_fake_product.py", "")
        wheel.writestr(f"{folder}/METADATA", about)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{folder}/WHEEL", tags)
        wheel.writestr(f"{folder}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(offered))
    return Product(
        name="example", title="Fake", package=FAKE, summary="x", requirements=(f"{FAKE}==1.5",)
    )


def ran(*arguments):
    return CliRunner().invoke(app, ["products", *arguments], env={"COLUMNS": "80"})


@pytest.mark.parametrize("name", NAMES)
def test_a_product_is_declared_with_pins_and_an_adapter_that_needs_nothing_of_ours(name):
    product = products.find_product(name)
    assert (ADAPTERS / f"{name}.py").is_file()
    assert product.version or not product.requirements
    assert len({*product.requirements}) == len(product.requirements)
    text = (ADAPTERS / f"{name}.py").read_text("utf-8")
    assert not re.search(r"(from|import) scaleqa", text)
    assert product.telemetry or not product.requirements
    assert find_system(name).kind is Kind.PRODUCT
    assert with_budget(name, 300) == f"{name}:budget=300"


def test_reasons_are_given_for_products_that_cannot_be_run():
    assert all(one.title and one.version and one.why for one in products.not_run())


def test_products_are_listed_installed_and_removed(cache):
    rows = {row["name"]: row for row in json.loads(ran("list", "--json").stdout)}
    assert [*rows] == NAMES
    assert {row["state"] for row in rows.values()} == {"not installed"}
    with pytest.raises(DataError, match="install it with: scaleqa products install example"):
        open_system("example", Tools(embedder=WordEmbedder()))
    assert "takes" in ran("install", "example").stdout
    assert re.search(r"example +– +installed", ran().stdout)
    system = open_system("example:budget=50", Tools(embedder=WordEmbedder()))
    system.ingest(THREAD)
    assert "gpu" in system.retrieve(ASKED).context
    system.close()
    assert ran("remove", "example").stdout == "example was removed\n"
    assert ran("remove", "example").stdout == "example was not installed\n"


def test_names_are_known_before_anything_is_installed(cache):
    failed = ran("install", "example", "exmple")
    assert isinstance(failed.exception, DataError)
    assert "did you mean example?" in str(failed.exception)
    assert not cache.exists()


@pytest.mark.slow
def test_an_environment_has_what_is_pinned_and_the_adapter_runs_in_it(cache, fake, monkeypatch):
    made = products.install(fake, cache)
    assert made.current
    assert products.install(fake, cache) == made  # nothing is done again
    monkeypatch.setattr("scaleqa.systems.external.declared.find_product", lambda _: fake)
    system = open_system("example", Tools(embedder=WordEmbedder()))
    assert system.hello.version == "1.5"  # which is not installed where the tests run
    system.close()
    other = fake.model_copy(update={"requirements": (f"{FAKE}==1.6",)})
    assert not products.installed(other, cache).current
    monkeypatch.setattr("scaleqa.systems.external.declared.find_product", lambda _: other)
    with pytest.raises(DataError, match="example is installed with other versions"):
        open_system("example", Tools(embedder=WordEmbedder()))
    with pytest.raises(DataError, match=r"(?s)pip install ended with exit code 1.*==1\.6"):
        products.install(other, cache)
    assert products.installed(other, cache) is None


def test_a_memory_ends_what_it_started_when_its_input_ends(tmp_path):
    closing = """
        import sys
        from types import SimpleNamespace
        sys.path.append(sys.argv[1])
        from adapters import serving
        memory = SimpleNamespace(close=lambda: print("ended", file=sys.stderr))
        serving.serve("small", "", lambda: lambda *_: memory)
    """
    asked = json.dumps({"id": 1, "op": "open", "directory": str(tmp_path), "mode": ""})
    for request, ended in ((asked, "ended\n"), ("", "")):
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(closing), str(ADAPTERS.parent)],
            input=request,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stderr == ended


def test_an_interrupted_installation_is_none_and_is_made_again(cache):
    product = products.find_product("example")
    made = products.install(product, cache)
    (made.directory / MARK).unlink()
    (made.directory / "half").touch()
    assert products.installed(product, cache) is None
    assert products.install(product, cache).current
    assert not (made.directory / "half").exists()
    (made.directory / MARK).write_text("[]")
    assert products.installed(product, cache) is None


def test_nothing_is_downloaded_where_that_is_forbidden(cache, monkeypatch):
    monkeypatch.setenv("TSIM_OFFLINE", "1")
    failed = ran("install", "chroma")
    assert "TSIM_OFFLINE forbids downloads" in str(failed.exception)


def test_one_process_at_a_time_changes_environments(cache):
    product = products.find_product("example")
    held = import_module("scaleqa.products.environment")._held
    with held(cache), pytest.raises(DataError, match="another process is installing"):
        products.install(product, cache)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is no declaration"),
        ('title = "x"', "summary"),
        ('title = "x"\nsummary = "y"\nrequirements = ["a>=1"]', "'a>=1' is not pinned"),
        ('title = "x"\nsummary = "y"\nmods = []', "mods"),
    ],
    ids=["no TOML", "incomplete", "loose", "unknown"],
)
def test_a_wrong_declaration_says_what_is_wrong(text, message, tmp_path):
    (tmp_path / "x.toml").write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        read_product(tmp_path / "x.toml")


def test_products_come_after_methods_and_before_controls():
    names = ["full_context", "mem0:budget=5", "oracle", "raptor", "tsim"]
    assert ordered(names) == ["tsim", "raptor", "mem0:budget=5", "full_context", "oracle"]


def test_modes_are_those_that_are_declared(cache):
    with pytest.raises(DataError, match="langchain has no mode 'magic'; there are ensemble"):
        open_system("langchain:mode=magic", Tools(embedder=WordEmbedder()))


def ready(name):
    """A real product that is installed; the test is skipped if it is not."""
    if not os.environ.get("TSIM_PRODUCTS"):
        pytest.skip("TSIM_PRODUCTS is not set")
    product = products.find_product(name)
    found = products.installed(product, environment.cache_dir())
    if not (found and found.current):
        pytest.skip(f"it is not installed: scaleqa products install {name}")
    return product


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_a_real_product_finds_turns(name):
    product = ready(name)
    for mode in [one for one in product.modes if one not in product.needs_model] or ("",):
        spec = f"{name}:budget=200{mode and f',mode={mode}'}"
        system = open_system(spec, Tools(embedder=WordEmbedder()))
        assert system.hello.version == product.version
        system.ingest(THREAD[:30])
        system.ingest(THREAD[30:60])
        result = system.retrieve(ASKED)
        assert result.shown <= {*range(60)}
        assert {0, 1, 42, 43} & result.shown
        system.close()


def mentioning(directory):
    """The processes that have a directory in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(directory).encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


@pytest.mark.slow
def test_the_database_of_a_product_ends_with_it_however_it_ends():
    ready("hindsight")
    for how in ("part", "end"):
        system = open_system("hindsight", Tools(embedder=WordEmbedder()))
        assert mentioning(system._data)
        getattr(system._child, how)()
        for _ in range(100):
            if not mentioning(system._data):
                break
            time.sleep(0.1)
        assert not mentioning(system._data)
        system.close()
        assert not system._data.exists()
