"""What holds for the repository as a whole."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import scaleqa.cli.app
import tsim
import tsim.cli.app

ROOT = Path(__file__).parents[1]
PUBLIC = [
    "tsim",
    "tsim.migrate",
    "tsim.client",
    "tsim.embed",
    "tsim.presets",
    "tsim.store",
    "tsim.testing",
    "tsim.toolkit",
    "scaleqa",
]


def commands(app) -> list[tuple[str, object]]:
    def walk(name, command):
        if hasattr(command, "commands"):
            return [c for n, sub in command.commands.items() for c in walk(f"{name} {n}", sub)]
        return [(name.strip(), command)]

    return walk("", typer.main.get_command(app))


ALL = [
    (f"{program} {name}", command)
    for program, app in (("tsim", tsim.cli.app.app), ("scaleqa", scaleqa.cli.app.app))
    for name, command in commands(app)
]


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_every_command_has_an_example_and_json(name, command):
    assert f"Example: {name}" in command.help
    assert "--json" in {option for p in command.params for option in p.opts}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_exist_and_are_named_once(module):
    loaded = importlib.import_module(module)
    assert len(loaded.__all__) == len(set(loaded.__all__))
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def test_readme_is_short_and_names_both_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) < 150
    assert "make quickstart" in text
    assert "make test" in text


def test_changelog_opens_with_unreleased_and_knows_the_version():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == "Unreleased"
    assert tsim.__version__ in headings or headings == ["Unreleased"]


def test_architecture_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = [
        path
        for package in ("tsim", "scaleqa")
        for path in sorted((ROOT / "src" / package).iterdir())
        if not path.name.startswith("__") and path.suffix in ("", ".py")
    ]
    missing = [path.name for path in rooms if path.name not in text]
    assert missing == []


def test_importing_brings_neither_torch_nor_a_model_server():
    code = (
        "import sys, tsim.embed, scaleqa, tsim.cli.app, scaleqa.cli.app;"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'chromadb'} & set(sys.modules);"
        "sys.exit(' '.join(heavy) or None)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_nothing_that_is_kept_is_ignored():
    """Wheels leave out what git ignores."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == ""


def test_every_pinned_constraint_is_exact():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) > 20
    assert all(re.fullmatch(r"[\w.-]+==[\w.+-]+( ; .+)?", pin) for pin in pins)
