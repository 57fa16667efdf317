"""`scaleqa systems` and `scaleqa backends`."""

import json

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.systems import system_names, systems


def listed(*arguments):
    ran = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "80"}, catch_exceptions=False)
    return ran.stdout


def test_systems_are_listed_within_eighty_columns():
    for arguments in ("systems",), ("systems", "tuned_hybrid"), ("backends",), ("backends", "gguf"):
        assert max(map(len, listed(*arguments).splitlines())) <= 80
    assert all(name in listed("systems") for name in system_names())
    found = {one["name"]: one for one in json.loads(listed("systems", "--json"))}
    assert [*found] == [one.name for one in systems()]
    assert found["fixed_window"]["budget"] == "k=TOKENS/160"
    assert found["oracle"]["sees"] == "evidence"
    one = json.loads(listed("systems", "fixed_window", "--json"))
    assert one["options"][0] == {
        "name": "size", "type": "int", "default": 128, "bounds": "at least 0",
        "meaning": "Tokens at which a window is full.",
    }  # fmt: skip
    with pytest.raises(DataError, match=r"did you mean fixed_window\?"):
        listed("systems", "fixd_window")
